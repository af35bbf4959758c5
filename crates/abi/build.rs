//! Regenerates the CUDA types under the feature `bindgen`; does nothing otherwise.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "bindgen")]
    regenerate::run();
}

#[cfg(feature = "bindgen")]
mod regenerate {
    use std::path::PathBuf;

    include!("bindings.rs");

    /// The folder of `cuda.h`, as the environment names it.
    fn include_folder() -> PathBuf {
        let named = std::env::var_os("OVERTAKE_CUDA_INCLUDE").map(PathBuf::from);
        let home = || std::env::var_os("CUDA_HOME").map(|home| PathBuf::from(home).join("include"));
        let folder = named.or_else(home).unwrap_or_else(|| PathBuf::from("/usr/local/cuda/include"));
        assert!(
            folder.join("cuda.h").is_file(),
            "no cuda.h in {}: set OVERTAKE_CUDA_INCLUDE to its folder, or build without the feature bindgen",
            folder.display()
        );
        folder
    }

    pub fn run() {
        println!("cargo::rerun-if-changed=bindings.rs");
        println!("cargo::rerun-if-env-changed=OVERTAKE_CUDA_INCLUDE");
        println!("cargo::rerun-if-env-changed=CUDA_HOME");
        let target = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("generated.rs");
        let bindings = bindings(&include_folder(), &[]).generate().expect("bindgen could not read cuda.h");
        bindings.write_to_file(target).expect("OUT_DIR is not writable");
    }
}
