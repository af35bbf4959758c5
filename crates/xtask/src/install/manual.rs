//! Man pages and completions. The built command writes them, because it alone knows its options.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::failed;
use crate::wheels::Scratch;

/// `ENOEXEC`, for which the standard library has no name.
const EXEC_FORMAT: i32 = 8;

/// A place below the prefix, and the content of the file there.
type File = (PathBuf, Vec<u8>);

/// The files by their places below the prefix, with their contents. None where the command was built for another
/// machine than this one, and does not start.
pub fn files(command: &Path) -> Result<Option<Vec<File>>, String> {
    let scratch = Scratch::new()?;
    let output = match Command::new(command).arg("manual").arg(scratch.path()).output() {
        // It is no program of this machine, or its loader is not here.
        Err(error) if error.raw_os_error() == Some(EXEC_FORMAT) || error.kind() == ErrorKind::NotFound => {
            return Ok(None);
        }
        other => other.map_err(|error| failed(command, &error))?,
    };
    if !output.status.success() {
        return Err(format!("{} manual: {}", command.display(), String::from_utf8_lossy(&output.stderr)));
    }
    let mut files = Vec::new();
    add(scratch.path(), Path::new(""), &mut files)?;
    files.sort();
    if files.is_empty() { Err(format!("{} manual: it wrote nothing\n", command.display())) } else { Ok(Some(files)) }
}

fn add(top: &Path, below: &Path, files: &mut Vec<File>) -> Result<(), String> {
    let folder = top.join(below);
    for entry in std::fs::read_dir(&folder).map_err(|error| failed(&folder, &error))? {
        let path = entry.map_err(|error| failed(&folder, &error))?.path();
        let name = below.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            add(top, &name, files)?;
        } else {
            files.push((name, std::fs::read(&path).map_err(|error| failed(&path, &error))?));
        }
    }
    Ok(())
}
