//! The libraries that cargo built for these tests, laid out as programs find them, and programs with a time limit.
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use libtest_mimic::{Failed, Trial};
use testkit::{needs, patience, spawn};

/// Variables that would change a program's result.
const VARIABLES: [&str; 12] = [
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_MAX_COPY_CONNECTIONS",
    "LD_AUDIT",
    "LD_PRELOAD",
    "OVERTAKE",
    "OVERTAKE_BACKEND",
    "OVERTAKE_CONFIG",
    "OVERTAKE_LIBCUDA",
    "OVERTAKE_LIBRARY",
    "OVERTAKE_SOFT_DEVICES",
    "OVERTAKE_SOFT_FAULTS",
    "OVERTAKE_SOFT_PRESET",
];

/// A trial of a module, which needs these programs.
pub fn trial(
    module: &str,
    name: &str,
    programs: &'static [&'static str],
    body: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    needs::trial(&format!("{module}::{name}"), programs, body)
}

/// The folder of the crate.
pub fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A folder under the target directory that belongs to the test of this name alone.
pub fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _absent = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("create {}: {error}", folder.display()));
    folder
}

/// Files that cargo built for this test lie beside the test itself.
pub fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the path of the running test");
    let file = test.parent().expect("a file has a folder").join(name);
    assert!(file.exists(), "{} is missing: cargo test -p overtake-capi builds it", file.display());
    file
}

/// A link to `file`.
pub fn link(file: &Path, link: &Path) {
    let _absent = std::fs::remove_file(link);
    std::os::unix::fs::symlink(file, link).unwrap_or_else(|error| panic!("link {}: {error}", link.display()));
}

/// A folder with the soft driver under both of its names, and a cuda.h that declares the functions that the programs
/// use.
pub fn driver(folder: &Path) -> PathBuf {
    let driver = folder.join("driver");
    std::fs::create_dir_all(&driver).expect("a folder for the driver");
    for name in ["libcuda.so", "libcuda.so.1"] {
        link(&built("libcuda.so"), &driver.join(name));
    }
    link(&here().join("../../tests/c/cuda_mini.h"), &driver.join("cuda.h"));
    driver
}

/// A folder with the C library under its installed names.
pub fn library(folder: &Path) -> PathBuf {
    let library = folder.join("library");
    std::fs::create_dir_all(&library).expect("a folder for the library");
    for name in ["libovertake.so", "libovertake.so.0"] {
        link(&built("libovertake_c.so"), &library.join(name));
    }
    link(&built("libovertake_c.a"), &library.join("libovertake.a"));
    library
}

/// Runs a command that needs no time limit. Its error output is the error.
pub fn succeed(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?} does not start: {error}"))?;
    judged(command, &output)
}

/// Runs a program without the variables that would change its result. Returns its output if it succeeds in time.
pub fn run(program: &mut Command) -> Result<String, String> {
    program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = spawn::spawn(program).map_err(|error| format!("{program:?} does not start: {error}"))?;
    judged(program, &wait(child)?)
}

/// A program without the variables of the shell that runs the tests.
pub fn program(path: &Path) -> Command {
    let mut command = Command::new(path);
    for name in VARIABLES {
        command.env_remove(name);
    }
    command
}

fn judged(command: &Command, output: &Output) -> Result<String, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(format!("{command:?}: {}\n{}{}", output.status, text(&output.stdout), text(&output.stderr))),
    }
}

/// Programs print little, so their output need not be read while they run.
fn wait(mut child: Child) -> Result<Output, String> {
    if patience::end_of(&mut child).map_err(|error| error.to_string())?.is_none() {
        let _ended = child.kill();
        return Err("it hangs".to_owned());
    }
    child.wait_with_output().map_err(|error| error.to_string())
}
