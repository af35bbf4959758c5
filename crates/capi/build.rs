//! Linker arguments: the soname of the library, and that it is never unmapped.

fn main() {
    // Programs ask for this name at run time. The number changes when an old program can no longer use a new library.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libovertake.so.0");
    // Threads of the layer run in this library: dlclose must not unmap it.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rerun-if-changed=build.rs");
}
