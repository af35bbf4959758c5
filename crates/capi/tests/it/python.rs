//! The Python package by its own tests: without the library, with it, and beside a stand-in for the drop-in.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Failed, Trial};
use testkit::pages;

use crate::common;

/// Random programs in a run of all tests, and in one of the runner.
const PROGRAMS: usize = 10;

/// Runs the cases of `tests/python/test_overtake.py` whose class has this name.
fn cases(class: &str, prepare: impl FnOnce(&mut Command)) -> Result<(), Failed> {
    cases_of("test_overtake.py", class, prepare)
}

/// Runs the cases of a file of `tests/python` whose class has this name.
fn cases_of(file: &str, class: &str, prepare: impl FnOnce(&mut Command)) -> Result<(), Failed> {
    let tests = common::here().join("tests/python").join(file);
    let mut python = common::program("python3".as_ref());
    python.arg("-B").arg(&tests).arg(class).env("PYTHONPATH", common::here().join("python"));
    prepare(&mut python);
    common::run(&mut python).map(drop).map_err(Failed::from)
}

fn without_the_library_everything_is_a_no_op_that_says_so_once() -> Result<(), Failed> {
    cases("WithoutLibrary", |python| {
        python.env("OVERTAKE_LIBRARY", "libovertake_that_is_not_there.so");
    })
}

fn with_the_library_on_the_software_gpu() -> Result<(), Failed> {
    let folder = common::folder("python");
    cases("WithLibrary", |python| on_the_software_gpu(python, &folder))
}

/// Programs find the library and the soft driver.
fn on_the_software_gpu(python: &mut Command, folder: &Path) {
    let (driver, library) = (common::driver(folder), common::library(folder));
    let path = std::env::join_paths([library, driver]).expect("no colon in a folder of cargo's");
    python.env("LD_LIBRARY_PATH", path);
}

fn tasks() -> Result<(), Failed> {
    let folder = common::folder("python_tasks");
    cases_of("test_tasks.py", "Tasks", |python| on_the_software_gpu(python, &folder))?;
    cases_of("test_tasks.py", "WithoutLibrary", |python| {
        python.env("OVERTAKE_LIBRARY", "libovertake_that_is_not_there.so");
    })
}

fn futures() -> Result<(), Failed> {
    let folder = common::folder("python_futures");
    cases_of("test_futures.py", "Futures", |python| on_the_software_gpu(python, &folder))
}

fn pipelines() -> Result<(), Failed> {
    let folder = common::folder("python_pipelines");
    cases_of("test_pipelines.py", "Pipelines", |python| on_the_software_gpu(python, &folder))
}

/// The stub against the modules, and the modules against their order.
fn types() -> Result<(), Failed> {
    cases_of("test_types.py", "Types", |_| ())
}

fn templates() -> Result<(), Failed> {
    let folder = common::folder("python_templates");
    cases_of("test_templates.py", "Templates", |python| {
        on_the_software_gpu(python.env("KERNELS_PTX", kernels()), &folder);
    })
}

fn kernels() -> PathBuf {
    common::here().join("../workloads/src/workloads.ptx")
}

fn arguments() -> Result<(), Failed> {
    let folder = common::folder("python_arguments");
    cases_of("test_arguments.py", "Arguments", |python| {
        on_the_software_gpu(python.env("KERNELS_PTX", kernels()), &folder);
    })
}

fn interrupts() -> Result<(), Failed> {
    let folder = common::folder("python_interrupts");
    cases_of("test_interrupts.py", "Interrupts", |python| {
        on_the_software_gpu(python.env("KERNELS_PTX", kernels()), &folder);
    })
}

/// `STORM_PROGRAMS` is their number.
fn random() -> Result<(), Failed> {
    let programs = std::env::var("STORM_PROGRAMS").map_or(Ok(PROGRAMS), |text| text.parse::<usize>())?;
    let folder = common::folder("python_random");
    for first in (0..programs).step_by(PROGRAMS) {
        let mut python = common::program("python3".as_ref());
        python.arg("-B").arg(common::here().join("tests/python/run_random.py"));
        python.args([first, PROGRAMS].map(|number| number.to_string()));
        on_the_software_gpu(python.env("PYTHONPATH", common::here().join("python")), &folder);
        common::run(python.env("KERNELS_PTX", kernels()))?;
    }
    Ok(())
}

fn arrays() -> Result<(), Failed> {
    let folder = common::folder("python_arrays");
    cases_of("test_arrays.py", "Arrays", |python| {
        on_the_software_gpu(python.env("KERNELS_PTX", kernels()).env("OVERTAKE_SOFT_DEVICES", "2"), &folder);
    })
}

/// The example that needs no other library, in a context that this makes.
fn example_with_arrays() -> Result<(), Failed> {
    let folder = common::folder("python_example_with_arrays");
    std::fs::copy(kernels(), folder.join("kernels.ptx"))?;
    let mut python = common::program("python3".as_ref());
    python.arg("-B").arg(common::here().join("../../examples/python/arrays.py")).current_dir(&folder);
    let paths = ["python", "tests/python"].map(|path| common::here().join(path));
    python.env("PYTHONPATH", std::env::join_paths(paths)?);
    on_the_software_gpu(&mut python, &folder);
    match common::run(&mut python)?.as_str() {
        "2 arrays went to the device, 1 came back\n" => Ok(()),
        said => Err(format!("it says {said:?}").into()),
    }
}

fn without_a_driver_the_library_names_it() -> Result<(), Failed> {
    let library = common::library(&common::folder("python_without_driver"));
    cases("WithoutDriver", |python| {
        python.env("OVERTAKE_LIBRARY", library.join("libovertake.so.0"));
    })
}

fn the_driver_that_a_variable_names_opens_devices() -> Result<(), Failed> {
    let folder = common::folder("python_named_driver");
    let (driver, library) = (common::driver(&folder), common::library(&folder));
    cases("NamedDriver", |python| {
        python.env("OVERTAKE_LIBRARY", library.join("libovertake.so.0"));
        python.env("OVERTAKE_LIBCUDA", driver.join("libcuda.so.1"));
    })
}

/// Runs the lines in Python of a page, with streams and tensors of the test's own. The page starts them under
/// `overtake run`, which prepares more than this; the copies of `on_device` go through the library itself.
fn lines_of(page: &'static str, name: &str) -> Result<(), Failed> {
    let folder = common::folder(name);
    let (driver, library) = (common::driver(&folder), common::library(&folder));
    let page = std::fs::read_to_string(common::here().join(page))?;
    std::fs::write(folder.join("page.py"), pages::block(&page, "py", "overtake_gpu"))?;
    let mut python = common::program("python3".as_ref());
    python.arg("-B").arg(common::here().join("tests/python/run_page.py")).arg(folder.join("page.py"));
    python.env("PYTHONPATH", common::here().join("python"));
    python.env("LD_LIBRARY_PATH", std::env::join_paths([library, driver])?);
    let said = common::run(&mut python)?;
    match said.lines().last() {
        Some("1 copy of priority 5") => Ok(()),
        _ => Err(format!("not one copy, an urgent one: {said}").into()),
    }
}

pub fn trials() -> Vec<Trial> {
    let trial = |name, body: fn() -> Result<(), Failed>| common::trial("python", name, &["python3"], body);
    vec![
        trial("without_the_library", without_the_library_everything_is_a_no_op_that_says_so_once),
        trial("with_the_library_on_the_software_gpu", with_the_library_on_the_software_gpu),
        trial("without_a_driver", without_a_driver_the_library_names_it),
        trial("named_driver", the_driver_that_a_variable_names_opens_devices),
        trial("tasks", tasks),
        trial("futures", futures),
        trial("arrays", arrays),
        trial("arguments", arguments),
        trial("interrupts", interrupts),
        trial("pipelines", pipelines),
        trial("random", random),
        trial("templates", templates),
        trial("types", types),
        trial("example_with_arrays", example_with_arrays),
        trial("lines_of_the_readme", || lines_of("../../README.md", "python_readme")),
        trial("lines_of_the_page", || lines_of("README.md", "python_page")),
    ]
}
