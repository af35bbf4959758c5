//! The parts that `strip` removes from each kind of built file.

use std::path::Path;
use std::process::Command;

/// A kind of built file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    Program,
    Library,
    Archive,
}

impl FileKind {
    /// Removes the parts that neither the loader nor a linker needs.
    pub fn strip(self, file: &Path) -> Result<(), String> {
        let flags: &[&str] = match self {
            FileKind::Program => &["--strip-all"],
            FileKind::Library => &["--strip-unneeded"],
            // A C linker has no use for the bitcode of Rust's standard library.
            FileKind::Archive => &["--strip-debug", "--remove-section=.llvmbc", "--remove-section=.llvmcmd"],
        };
        let output = Command::new("strip").args(flags).arg(file).output();
        let output = output.map_err(|error| format!("strip does not start ({error}): install binutils\n"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("strip: {}\n", String::from_utf8_lossy(&output.stderr).trim_end())),
        }
    }

    /// The permissions of an installed file.
    pub fn mode(self) -> u32 {
        match self {
            FileKind::Program | FileKind::Library => 0o755,
            FileKind::Archive => 0o644,
        }
    }
}
