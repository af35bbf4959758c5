//! The list of the installed files below a prefix, used to remove them again.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::failed;
use super::request::is_plain;

/// The place of the list below the prefix, for every folder of libraries.
pub const PLACE: &str = "share/overtake/installed.txt";

const HEAD: &str = "# What `cargo xtask install` put here; `cargo xtask uninstall` removes it.\n";

/// Paths below the prefix. The list itself is not on it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    pub files: BTreeSet<PathBuf>,
    /// Folders that did not exist before; the empty path is the prefix itself.
    pub folders: BTreeSet<PathBuf>,
}

impl Receipt {
    /// The list of the last installation, if there is one.
    pub fn read(top: &Path) -> Result<Option<Receipt>, String> {
        let place = top.join(PLACE);
        match std::fs::read_to_string(&place) {
            Ok(text) => Receipt::parse(&text).map(Some).map_err(|why| format!("{}: {why}\n", place.display())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&place, &error)),
        }
    }

    fn parse(text: &str) -> Result<Receipt, String> {
        let mut receipt = Receipt::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (list, path) = match line.split_once(' ') {
                Some(("folder", ".")) => (&mut receipt.folders, ""),
                // No file outside the prefix is removed, even if the list names it.
                Some((_, path)) if !is_plain(Path::new(path)) => {
                    return Err(format!("`{path}` does not lie below the prefix"));
                }
                Some(("file", path)) => (&mut receipt.files, path),
                Some(("folder", path)) => (&mut receipt.folders, path),
                _ => return Err(format!("`{line}` is neither a file nor a folder")),
            };
            list.insert(path.into());
        }
        Ok(receipt)
    }

    /// The list in its written form.
    pub fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for file in &self.files {
            let _infallible = writeln!(text, "file {}", file.display());
        }
        for folder in &self.folders {
            let name = if folder == Path::new("") { Path::new(".") } else { folder };
            let _infallible = writeln!(text, "folder {}", name.display());
        }
        text
    }

    /// Removes the files of the list that are not in `kept`. Returns a line for each.
    pub fn remove_files(&self, top: &Path, kept: &BTreeSet<PathBuf>) -> Result<String, String> {
        let mut report = String::new();
        for file in self.files.difference(kept) {
            let file = top.join(file);
            match std::fs::remove_file(&file) {
                Ok(()) => report += &format!("removed {}\n", file.display()),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(report + &failed(&file, &error)),
            }
        }
        Ok(report)
    }

    /// Removes the folders of the list that are empty. Returns the others.
    pub fn remove_folders(&self, top: &Path) -> Result<BTreeSet<PathBuf>, String> {
        let mut kept = BTreeSet::new();
        // A folder comes after the folders inside it.
        for folder in self.folders.iter().rev() {
            let path = top.join(folder);
            match std::fs::remove_dir(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => _ = kept.insert(folder.clone()),
                Err(error) => return Err(failed(&path, &error)),
            }
        }
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> BTreeSet<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn a_receipt_is_read_as_it_was_written() {
        let receipt = Receipt { files: paths(&["lib/a b", "bin/c"]), folders: paths(&["", "lib", "bin"]) };
        assert_eq!(Receipt::parse(&receipt.text()), Ok(receipt));
    }

    #[test]
    fn a_receipt_names_nothing_outside_the_prefix() {
        for line in ["file /etc/passwd", "file ../a", "file lib/../../a", "folder /", "folder ..", "link a", "file "] {
            let read = Receipt::parse(&format!("{HEAD}{line}\n"));
            assert!(read.is_err(), "{line}: {read:?}");
        }
    }
}
