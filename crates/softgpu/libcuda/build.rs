//! Linker arguments that make the dynamic linker take the library for NVIDIA's.

fn main() {
    // Programs that were linked with -lcuda ask for this name at run time.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    // The addresses that cuGetProcAddress hands out are this library's own, even beside a preloaded library of the
    // same names.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    // The device runs on a thread of this library, so dlclose must not unmap it.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rerun-if-changed=build.rs");
}
