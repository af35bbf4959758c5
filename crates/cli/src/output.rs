//! Files and standard output.

use std::io::{self, Write};
use std::path::Path;

use crate::failure::{Failure, Result};

/// Writes a file.
pub fn write_file(path: &Path, contents: &str) -> Result<()> {
    std::fs::write(path, contents).map_err(|error| Failure::File(path.to_owned(), error))
}

/// Prints to standard output. A reader that has gone away (`| head`) is no error.
pub fn print(text: &str) -> Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Output(error)),
        _ => Ok(()),
    }
}
