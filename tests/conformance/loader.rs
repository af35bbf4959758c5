//! Runs the suite again on the software GPU's own `libcuda.so.1`: in a child process, through the loader.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::failure::{Failure, Outcome};

/// The variable that makes a missing library a failure.
pub const REQUIRED_VARIABLE: &str = "OVERTAKE_REQUIRE_LOADER_ARM";
const LIBRARY: &str = "libcuda.so";
const CURE: &str = "build it with the same profile: cargo build -p overtake-softgpu-libcuda";

/// The software GPU's library beside this executable; the newest, if there are several.
pub fn library() -> Option<PathBuf> {
    let executable = std::env::current_exe().ok()?;
    let modified = |path: &PathBuf| path.metadata().and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let folders = executable.ancestors().skip(1).take(2);
    folders.map(|folder| folder.join(LIBRARY)).filter(|path| path.is_file()).max_by_key(modified)
}

/// Whether a missing library is a failure.
pub fn is_required() -> bool {
    std::env::var(REQUIRED_VARIABLE).is_ok_and(|value| value == "1")
}

/// Runs all checks in a child process that loads the library.
pub fn through_the_loader() -> Outcome {
    let Some(library) = library() else {
        return Err(Failure::new(format_args!("there is no {LIBRARY} beside this executable; {CURE}")));
    };
    let output = child(&library)?.output().map_err(|error| Failure::new(format_args!("the child: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let out: Vec<&str> = out.lines().filter(|line| !line.ends_with("... ok")).collect();
    Err(Failure::new(format_args!("the child ended with {}:\n{}\n{err}", output.status, out.join("\n"))))
}

fn child(library: &Path) -> Result<Command, Failure> {
    let executable = std::env::current_exe().map_err(|error| Failure::new(format_args!("this executable: {error}")))?;
    let mut child = Command::new(executable);
    child.arg("--color=never").env("OVERTAKE_BACKEND", "cuda").env("OVERTAKE_LIBCUDA", library);
    child.env("OVERTAKE_SOFT_DEVICES", "2");
    for variable in ["CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_DEVICE_MAX_COPY_CONNECTIONS", "OVERTAKE_SOFT_FAULTS"] {
        child.env_remove(variable);
    }
    Ok(child)
}
