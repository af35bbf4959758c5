//! A copy of the tree for experiments, kept between runs so that little has to be built again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::codegen::read;

/// The copy, and its build products.
pub struct Tree {
    top: PathBuf,
}

impl Tree {
    /// Updates the copy of that name to the files that git tracks or would add. Equal files are not touched, because
    /// cargo compares their times.
    pub fn of(root: &Path, name: &str) -> Result<Tree, String> {
        let tree = Tree { top: root.join("target").join(name) };
        let names = names(root)?;
        for name in &names {
            // Links, and tracked files that have been deleted, are not needed by the builds of tests.
            let Ok(content) = std::fs::read(root.join(name)) else { continue };
            let copy = tree.folder().join(name);
            if std::fs::read(&copy).is_ok_and(|there| there == content) {
                continue;
            }
            let folder = copy.parent().expect("a file of the tree has a folder");
            std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}\n", folder.display()))?;
            std::fs::write(&copy, content).map_err(|error| format!("{}: {error}\n", copy.display()))?;
        }
        tree.forget_others(&names)?;
        Ok(tree)
    }

    /// Removes files that the last run copied and git no longer has.
    fn forget_others(&self, names: &BTreeSet<String>) -> Result<(), String> {
        let known = self.top.join("files");
        for gone in std::fs::read_to_string(&known).unwrap_or_default().lines().filter(|name| !names.contains(*name)) {
            let _absent = std::fs::remove_file(self.folder().join(gone));
        }
        let list: String = names.iter().map(|name| format!("{name}\n")).collect();
        std::fs::write(&known, list).map_err(|error| format!("{}: {error}\n", known.display()))
    }

    pub fn folder(&self) -> PathBuf {
        self.top.join("tree")
    }

    /// The folder of its build products.
    pub fn build(&self) -> PathBuf {
        self.top.join("build")
    }

    /// The output of the last command.
    pub fn log(&self) -> PathBuf {
        self.top.join("log")
    }

    /// The text of a file.
    pub fn read(&self, name: &str) -> Result<String, String> {
        read(&self.folder().join(name))
    }

    /// Replaces the text of a file.
    pub fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.folder().join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}\n", path.display()))
    }
}

/// The files that git knows or would add, without the stored runs.
pub fn names(root: &Path) -> Result<BTreeSet<String>, String> {
    let output = Command::new("git")
        .current_dir(root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output()
        .map_err(|error| format!("git does not start: {error}\n"))?;
    let names = String::from_utf8_lossy(&output.stdout);
    // Stored runs are large, and no test reads them.
    let is_data = |name: &str| name.starts_with("reports/") && !name.ends_with(".md") && !name.ends_with(".toml");
    let wanted = names.split('\0').filter(|name| !name.is_empty() && !is_data(name));
    Ok(wanted.map(str::to_owned).collect())
}
