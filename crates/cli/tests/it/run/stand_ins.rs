//! Stand-ins for the drop-in and for programs, and the start of `overtake run` with them.
#![allow(unsafe_code)] // a child undoes inherited settings before it starts the command

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::Folder;

/// Variables of the tests' environment that would change the results.
const CLEARED: [&str; 7] = [
    "LD_PRELOAD",
    "OVERTAKE",
    "OVERTAKE_LIBCUDA",
    "OVERTAKE_OBSERVE",
    "OVERTAKE_PRELOAD_LIBRARY",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_MAX_COPY_CONNECTIONS",
];

/// A C file, compiled.
pub fn compile(folder: &Folder, name: &str, text: &str, flags: &[&str]) -> PathBuf {
    let (source, built) = (folder.path().join(format!("{name}.c")), folder.path().join(name));
    std::fs::write(&source, text).unwrap();
    let output = Command::new("gcc").args(["-o"]).arg(&built).arg(&source).args(flags).output().expect("gcc");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    built
}

/// A library that the loader accepts in all three ways, with a function that returns its name.
pub fn library(folder: &Folder, name: &str) -> PathBuf {
    let text = format!(
        "const char *whose(void) {{ return \"{name}\"; }}\nunsigned int la_version(unsigned int v) {{ return v; }}\n"
    );
    let flags = ["-shared", "-fPIC"];
    compile(folder, name, &text, &flags)
}

/// Has no signal ignored. A shell has its background jobs ignore interrupts, and `nohup` hang-ups; no shell can trap a
/// signal that was ignored when it started.
fn ignore_nothing() -> std::io::Result<()> {
    for signal in (1..libc::SIGRTMIN()).filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal)) {
        // SAFETY: the default action of a signal is no function.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    Ok(())
}

/// The command `overtake run` with this library and these arguments.
pub fn command(folder: &Folder, library: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_overtake"));
    for name in CLEARED {
        command.env_remove(name);
    }
    command.current_dir(folder.path()).arg("run").arg("--library").arg(library).args(arguments);
    command.envs(environment.iter().copied()).stdin(Stdio::null());
    // SAFETY: it makes system calls only, and allocates nothing.
    unsafe { command.pre_exec(ignore_nothing) };
    command
}

/// Runs it to its end.
pub fn run(folder: &Folder, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    command(folder, &library(folder, "dropin.so"), arguments, environment).output().unwrap()
}
