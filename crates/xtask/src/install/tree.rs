//! The files below a prefix while they are installed.

use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::failed;
use super::receipt::{self, Receipt};
use super::strip::FileKind;
use crate::Outcome;

/// The files below the prefix, and a report of the changes to them.
pub struct Tree {
    top: PathBuf,
    before: Receipt,
    now: Receipt,
    report: String,
}

impl Tree {
    /// The tree below `top`, with the files of the last installation.
    pub fn open(top: PathBuf) -> Result<Tree, String> {
        let before = Receipt::read(&top)?.unwrap_or_default();
        Ok(Tree { top, before, now: Receipt::default(), report: String::new() })
    }

    /// Adds a line to the report.
    pub fn say(&mut self, line: &str) {
        self.report += line;
        self.report.push('\n');
    }

    /// Writes a file beside its place, strips it there, and then renames it. Programs that have the old file open
    /// keep it.
    pub fn put(&mut self, below: &Path, bytes: &[u8], kind: Option<FileKind>) -> Result<(), String> {
        let fresh = self.beside(below)?;
        std::fs::write(&fresh, bytes).map_err(|error| failed(&fresh, &error))?;
        if let Some(Err(why)) = kind.map(|kind| kind.strip(&fresh)) {
            let _unused = std::fs::remove_file(&fresh);
            return Err(why);
        }
        let permissions = std::fs::Permissions::from_mode(kind.map_or(0o644, FileKind::mode));
        std::fs::set_permissions(&fresh, permissions).map_err(|error| failed(&fresh, &error))?;
        self.put_in_place(&fresh, below)
    }

    /// Makes a link in the same way.
    pub fn link(&mut self, below: &Path, target: &Path) -> Result<(), String> {
        let fresh = self.beside(below)?;
        symlink(target, &fresh).map_err(|error| failed(&fresh, &error))?;
        self.put_in_place(&fresh, below)
    }

    /// Writes the list of the installed files. After a success, files of the last installation that are not in this
    /// one are removed. Otherwise they stay on the list, so that `uninstall` still finds them.
    pub fn finish(mut self, filled: Result<(), String>) -> Outcome {
        match filled {
            Ok(()) => self.report += &self.before.remove_files(&self.top, &self.now.files)?,
            Err(_) => self.now.files.extend(std::mem::take(&mut self.before.files)),
        }
        self.now.folders.extend(self.before.remove_folders(&self.top)?);
        let fresh = self.beside(Path::new(receipt::PLACE))?;
        let place = self.top.join(receipt::PLACE);
        std::fs::write(&fresh, self.now.text()).map_err(|error| failed(&fresh, &error))?;
        std::fs::rename(&fresh, &place).map_err(|error| failed(&place, &error))?;
        filled.map(|()| self.report)
    }

    /// A free name beside the place of a file.
    fn beside(&mut self, below: &Path) -> Result<PathBuf, String> {
        let folder = below.parent().unwrap_or(Path::new(""));
        self.make(folder)?;
        let name = below.file_name().unwrap_or_default().to_string_lossy();
        let fresh = self.top.join(folder).join(format!(".{name}.{}", std::process::id()));
        let _absent = std::fs::remove_file(&fresh);
        Ok(fresh)
    }

    /// Makes a folder, and remembers which folders on the way did not exist.
    fn make(&mut self, folder: &Path) -> Result<(), String> {
        let absent: BTreeSet<PathBuf> =
            folder.ancestors().filter(|folder| !self.top.join(folder).exists()).map(Path::to_owned).collect();
        let path = self.top.join(folder);
        std::fs::create_dir_all(&path).map_err(|error| failed(&path, &error))?;
        self.now.folders.extend(absent);
        Ok(())
    }

    fn put_in_place(&mut self, fresh: &Path, below: &Path) -> Result<(), String> {
        let place = self.top.join(below);
        std::fs::rename(fresh, &place).map_err(|error| failed(&place, &error))?;
        self.now.files.insert(below.to_owned());
        self.say(&place.display().to_string());
        Ok(())
    }
}
