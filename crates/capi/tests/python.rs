//! `overtake.py` by its own tests: without the library, with it, and beside a stand-in for the drop-in.

mod common;

use std::process::Command;

/// Runs the cases of `tests/python/test_overtake.py` whose class has this name.
fn cases(class: &str, prepare: impl FnOnce(&mut Command)) {
    let tests = common::here().join("tests/python/test_overtake.py");
    let mut python = common::program("python3".as_ref());
    python.arg("-B").arg(&tests).arg(class).env("PYTHONPATH", common::here().join("python"));
    prepare(&mut python);
    if let Err(why) = common::run(&mut python) {
        panic!("{why}");
    }
}

#[test]
fn without_the_library_everything_is_a_no_op_that_says_so_once() {
    cases("WithoutLibrary", |python| {
        python.env("OVERTAKE_LIBRARY", "libovertake_that_is_not_there.so");
    });
}

#[test]
fn with_the_library_on_the_software_gpu() {
    let folder = common::folder("python");
    let (driver, library) = (common::driver(&folder), common::library(&folder));
    cases("WithLibrary", |python| {
        let path = std::env::join_paths([library, driver]).expect("no colon in a folder of cargo's");
        python.env("LD_LIBRARY_PATH", path);
    });
}

#[test]
fn messages_reach_a_function() {
    let folder = common::folder("python_messages");
    let (driver, library) = (common::driver(&folder), common::library(&folder));
    cases("WithMessages", |python| {
        let path = std::env::join_paths([library, driver]).expect("no colon in a folder of cargo's");
        python.env("LD_LIBRARY_PATH", path).env("OVERTAKE_TRANSPORT", "teleport");
    });
}

#[test]
fn without_a_driver_the_library_says_what_is_missing() {
    let library = common::library(&common::folder("python_without_driver"));
    cases("WithoutDriver", |python| {
        python.env("OVERTAKE_LIBRARY", library.join("libovertake.so.0"));
    });
}
