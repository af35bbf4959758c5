//! Linker arguments that let the library stand between a program and its driver.

fn main() {
    // Lookups return this library's functions, even where the program exports functions of the same names.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    // Programs keep pointers to our functions, and threads of ours run in them: dlclose must not unmap the library.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // No soname: a library that calls itself libcuda.so.1 would satisfy the program's need for the real one.
    println!("cargo:rerun-if-changed=build.rs");
}
