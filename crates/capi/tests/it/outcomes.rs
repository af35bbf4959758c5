//! The programs of `examples/outcomes` on the software GPU: waits in vain, failures, cancelled tasks, full dispatchers
//! and ends that leave, in Rust, C, C++ and Python. All four print the same lines, with the words of their errors.

#[path = "../../../../examples/outcomes/arrays.rs"]
mod arrays;
#[path = "../../../../examples/outcomes/pipeline.rs"]
mod pipeline;
#[path = "../../../../examples/outcomes/tasks.rs"]
mod tasks;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Failed, Trial};

use crate::common;

const STRICT: [&str; 5] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g"];

/// The program in Rust that this process is to be.
const PROGRAM: &str = "OVERTAKE_TEST_OUTCOMES";
const PROGRAMS: [&str; 3] = ["tasks", "arrays", "pipeline"];

fn source(program: &str, extension: &str) -> PathBuf {
    common::here().join("../../examples/outcomes").join(program).with_extension(extension)
}

/// The driver and the C library.
fn libraries(folder: &Path) -> OsString {
    let folders = [common::driver(folder), common::library(folder)];
    std::env::join_paths(folders).expect("no colon in a folder of cargo's")
}

fn rust(program: &str, _: &Path) -> Result<String, Failed> {
    let mut command = common::program(&std::env::current_exe()?);
    Ok(common::run(command.env(PROGRAM, program).env("OVERTAKE_BACKEND", "soft"))?)
}

fn compiled(compiler: &str, standard: &str, source: &Path, folder: &Path) -> Result<String, Failed> {
    let (driver, library, binary) = (common::driver(folder), common::library(folder), folder.join("program"));
    let mut command = Command::new(compiler);
    command.arg(standard).args(STRICT).arg("-I").arg(common::here().join("include")).arg("-I").arg(&driver);
    command.arg(source).arg("-o").arg(&binary).arg("-L").arg(library).arg("-L").arg(driver);
    common::succeed(command.args(["-pthread", "-lovertake", "-lcuda"]))?;
    Ok(common::run(common::program(&binary).env("LD_LIBRARY_PATH", libraries(folder)))?)
}

fn c(program: &str, folder: &Path) -> Result<String, Failed> {
    compiled("gcc", "-std=c11", &source(program, "c"), folder)
}

fn cpp(program: &str, folder: &Path) -> Result<String, Failed> {
    compiled("g++", "-std=c++17", &source(program, "cpp"), folder)
}

/// A function that raises is told of with the class of its exception, as Python does; nothing else differs.
fn python(program: &str, folder: &Path) -> Result<String, Failed> {
    let mut command = common::program("python3".as_ref());
    command.arg("-B").arg(source(program, "py")).env("PYTHONPATH", common::here().join("python"));
    let said = common::run(command.env("LD_LIBRARY_PATH", libraries(folder)))?;
    match said.contains(" failed: ValueError: the ") {
        true => Ok(said.replace(" failed: ValueError: the ", " failed: the ")),
        false => Err(format!("it names no class: {said}").into()),
    }
}

/// The programs and the types of the package by `mypy --strict`.
fn types() -> Result<(), Failed> {
    let mut mypy = Command::new("mypy");
    mypy.args(["--strict", "--cache-dir", "/dev/null"]).env("MYPYPATH", common::here().join("python"));
    mypy.args(PROGRAMS.map(|program| source(program, "py")))
        .arg(common::here().join("python/overtake_gpu/__init__.pyi"));
    let output = mypy.output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stdout).into_owned().into()),
    }
}

type Run = fn(&str, &Path) -> Result<String, Failed>;

fn says_the_lines(language: &str, program: &str, run: Run) -> Result<(), Failed> {
    let expected = std::fs::read_to_string(source(program, "txt"))?;
    let said = run(program, &common::folder(&format!("outcomes_{language}_{program}")))?;
    if said == expected { Ok(()) } else { Err(format!("it says\n{said}and not\n{expected}").into()) }
}

/// Whether this process was to be a program in Rust, and has been.
pub fn was_a_program() -> bool {
    let Ok(program) = std::env::var(PROGRAM) else { return false };
    let main = match program.as_str() {
        "tasks" => tasks::main,
        "arrays" => arrays::main,
        _ => pipeline::main,
    };
    main().unwrap_or_else(|error| panic!("{program}: {error}"));
    true
}

pub fn trials() -> Vec<Trial> {
    let languages: [(&'static str, &'static [&'static str], Run); 4] =
        [("rust", &[], rust), ("c", &["gcc"], c), ("cpp", &["g++"], cpp), ("python", &["python3"], python)];
    let of = |program: &'static str| {
        let trial = move |(language, needed, run): (&'static str, &'static [&'static str], Run)| {
            let body = move || says_the_lines(language, program, run);
            common::trial("outcomes", &format!("{program}_in_{language}"), needed, body)
        };
        languages.map(trial)
    };
    let mut trials: Vec<Trial> = PROGRAMS.into_iter().flat_map(of).collect();
    trials.push(common::trial("outcomes", "types_of_python", &["mypy"], types));
    trials
}
