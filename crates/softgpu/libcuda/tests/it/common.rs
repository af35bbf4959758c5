//! Installs the library as programs find it: in a folder of its own, under both of its names.

use std::path::{Path, PathBuf};

/// A folder under the target directory for the test of this name only.
pub fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("create {}: {error}", folder.display()));
    folder
}

/// The library that cargo built for this test; it lies beside the test itself.
fn built_library() -> PathBuf {
    let test = std::env::current_exe().expect("the path of the running test");
    let library = test.parent().expect("a file has a folder").join("libcuda.so");
    assert!(library.exists(), "{} is missing: cargo build -p overtake-softgpu-libcuda", library.display());
    library
}

/// Puts links to the library into `folder`: `libcuda.so` for the linker, `libcuda.so.1` for the loader.
pub fn install_library(folder: &Path) {
    let library = built_library();
    for name in ["libcuda.so", "libcuda.so.1"] {
        let link = folder.join(name);
        let _absent = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&library, &link).unwrap_or_else(|error| panic!("link {}: {error}", link.display()));
    }
}
