//! The drop-in itself and the software GPU, as cargo has built them for this test.

use std::path::PathBuf;
use std::process::Output;

use super::stand_ins::command;
use crate::common::Folder;

/// A library that cargo has built for this test lies beside it.
fn built(name: &str) -> PathBuf {
    let library = std::env::current_exe().unwrap().parent().unwrap().join(name);
    assert!(library.exists(), "{} is missing", library.display());
    library
}

/// Puts the software GPU's library into the folder, under the driver's names.
pub fn put_driver(folder: &Folder) {
    for name in ["libcuda.so", "libcuda.so.1"] {
        std::os::unix::fs::symlink(built("libcuda.so"), folder.path().join(name)).unwrap();
    }
}

/// Runs `overtake run` with the drop-in, and a program that finds its driver by itself.
pub fn alone(folder: &Folder, arguments: &[&str]) -> Output {
    let mut command = command(folder, &built("libovertake_preload.so"), arguments, &[]);
    command.env_remove("LD_LIBRARY_PATH").output().unwrap()
}

/// Runs `overtake run` with both.
pub fn really(folder: &Folder, arguments: &[&str]) -> Output {
    really_with(folder, arguments, &[])
}

/// The same, with further variables.
pub fn really_with(folder: &Folder, arguments: &[&str], more: &[(&str, &str)]) -> Output {
    let place = folder.path().to_str().unwrap();
    let environment = [&[("LD_LIBRARY_PATH", place)], more].concat();
    command(folder, &built("libovertake_preload.so"), arguments, &environment).output().unwrap()
}
