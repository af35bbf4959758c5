//! Linker arguments: the soname of the library, that it is never unmapped, and that its sections are its own.

fn main() {
    // Programs ask for this name at run time. The number changes when an old program can no longer use a new library.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libovertake.so.0");
    // Threads of the layer run in this library: dlclose must not unmap it.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // The names for the ends of a section (`tasks/src/task/ahead.rs`) are no exports.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,start-stop-visibility=hidden");
    println!("cargo:rerun-if-changed=build.rs");
}
