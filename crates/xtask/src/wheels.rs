//! Fetches the CUDA headers, libclang and others by pip, into a folder that is removed again.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// The wheel with `cuda.h` of CUDA 13.0.
const CUDA_WHEEL: &str = "nvidia-cuda-runtime==13.0.96";
/// The wheel with `libclang.so`.
const LIBCLANG_WHEEL: &str = "libclang==18.1.1";

/// A folder that is removed when it goes out of scope.
pub struct Scratch(PathBuf);

impl Scratch {
    /// A new folder among the system's temporary ones.
    pub fn new() -> Result<Scratch, String> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("overtake-codegen-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}\n", folder.display()))?;
        Ok(Scratch(folder))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("{} is left behind: {error}", self.0.display());
        }
    }
}

/// The unpacked wheels.
pub struct Wheels {
    /// The folder of `cuda.h`.
    pub include: PathBuf,
    /// The folder of `libclang.so`.
    pub libclang: PathBuf,
}

/// Fetches both wheels into `folder` and unpacks them. The error tells why they cannot be fetched.
pub fn fetch(folder: &Path) -> Result<Wheels, String> {
    let include = fetch_file(folder, &[CUDA_WHEEL, LIBCLANG_WHEEL], "cuda.h")?;
    Ok(Wheels { include, libclang: folder_of("libclang.so", &unpacked(folder))? })
}

/// Fetches wheels into `folder`, unpacks them, and returns the folder that holds a file of this name.
pub fn fetch_file(folder: &Path, wheels: &[&str], name: &str) -> Result<PathBuf, String> {
    let destination = folder.join("wheels");
    let mut pip = Command::new("python3");
    pip.args([
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--only-binary",
        ":all:",
    ]);
    run(pip.arg("--dest").arg(&destination).args(wheels))?;
    let unpacked = unpacked(folder);
    let entries = std::fs::read_dir(&destination).map_err(|error| format!("{}: {error}", destination.display()))?;
    for wheel in entries.flatten() {
        run(Command::new("python3").args(["-m", "zipfile", "-e"]).args([&wheel.path(), &unpacked]))?;
    }
    folder_of(name, &unpacked)
}

fn unpacked(folder: &Path) -> PathBuf {
    folder.join("unpacked")
}

fn folder_of(name: &str, unpacked: &Path) -> Result<PathBuf, String> {
    find_folder(unpacked, name).ok_or_else(|| format!("the wheels hold no {name}"))
}

/// Runs a program. The error holds the last line that it printed.
pub fn run(command: &mut Command) -> Result<Output, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program} does not start: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let last = words.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    Err(format!("{program} failed: {last}"))
}

/// The folder below `folder` that holds a file of this name.
pub fn find_folder(folder: &Path, name: &str) -> Option<PathBuf> {
    if folder.join(name).is_file() {
        return Some(folder.to_owned());
    }
    let entries = std::fs::read_dir(folder).ok()?;
    entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).find_map(|path| find_folder(&path, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_at_any_depth() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(find_folder(here, "wheels.rs"), Some(here.join("src")));
        assert_eq!(find_folder(here, "no such file"), None);
    }

    #[test]
    fn a_failing_program_gives_its_last_words() {
        let error = run(Command::new("sh").args(["-c", "echo first >&2; echo last >&2; exit 3"])).unwrap_err();
        assert_eq!(error, "sh failed: last");
    }
}
