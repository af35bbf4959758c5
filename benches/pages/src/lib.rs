//! The pages of `reports/`: stored runs, their figures in every Markdown page, and their pictures.
//!
//! | module | part |
//! |---|---|
//! | `stored`, `archive` | the runs, which lie packed, an archive for each question |
//! | `store` | `cargo xtask store-run`: puts new runs there |
//! | `headline` | `cargo xtask headline`: figures and pictures of the stored runs |
//! | `agreement` | the distance of the software GPU from a device |
//! | `machine` | paths of one machine, which no run may have |
#![deny(clippy::print_stderr, clippy::print_stdout)] // the chore that calls prints what it returns
#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons

pub mod agreement;
pub mod archive;
pub mod headline;
pub mod machine;
pub mod store;
pub mod stored;

use std::io;
use std::path::Path;

/// A stored run, or a page, is not larger.
const TEXT_BYTES_MAX: u64 = 64 << 20;

fn read_text(path: &Path) -> io::Result<String> {
    let bytes = os::file::read(path, TEXT_BYTES_MAX)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// The result of a chore: the text to print, as a success or as a failure.
pub type Outcome = Result<String, String>;

/// Whether pages are written, or compared with what would be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They are written.
    Write,
    /// Differences are listed.
    Check,
}
