//! Helpers of the command's tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that is removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("overtake-cli-{}-{count}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn overtake(folder: &Folder, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_overtake"));
    command.current_dir(folder.path()).args(arguments);
    for name in ["OVERTAKE_BACKEND", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_DEVICE_MAX_COPY_CONNECTIONS"] {
        command.env_remove(name);
    }
    command.envs(environment.iter().copied()).output().unwrap()
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

pub fn succeed(folder: &Folder, arguments: &[&str], environment: &[(&str, &str)]) -> (String, String) {
    let output = overtake(folder, arguments, environment);
    let (out, err) = (text(&output.stdout).to_owned(), text(&output.stderr).to_owned());
    assert!(output.status.success(), "{arguments:?}: {:?}\n{out}\n{err}", output.status);
    (out, err)
}
