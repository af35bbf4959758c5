//! The documentation as a site: the pages that `docs/SUMMARY.md` lists, built with mdBook, with no link that leads
//! nowhere, and no table that is wider than its page. The pages stay where they are and are read there as well; the
//! site has copies.

mod links;
mod sources;
mod widths;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::codegen::read;

const SUMMARY: &str = "docs/SUMMARY.md";
/// The settings of mdBook, and what they name, with their names in the site.
const SETTINGS: [(&str, &str); 2] = [("docs/book.toml", "book.toml"), ("docs/site.css", "site.css")];
/// `default-features` of it are a server and a watcher, with half of its dependencies.
const INSTALL: &str = "cargo install mdbook --locked --no-default-features --features search";

/// Builds the site in `target/site`, and says where it is. Without mdBook only its sources are made and checked.
pub fn run(root: &Path) -> Outcome {
    let folder = root.join("target/site");
    let _absent = std::fs::remove_dir_all(&folder);
    let summary = read(&root.join(SUMMARY))?;
    let pages = sources::write(root, &summary, &folder.join("src"))?;
    for (file, name) in SETTINGS {
        std::fs::copy(root.join(file), folder.join(name)).map_err(|error| format!("{file}: {error}\n"))?;
    }
    let Some(mdbook) = on_path("mdbook") else {
        return Ok(format!("skipped: {pages} pages are in {}, but mdbook is not here: {INSTALL}\n", folder.display()));
    };
    let built = Command::new(&mdbook).arg("build").arg(&folder).output();
    let built = built.map_err(|error| format!("{}: {error}\n", mdbook.display()))?;
    let said = String::from_utf8_lossy(&built.stderr);
    if !built.status.success() || said.contains("WARN") || said.contains("ERROR") {
        return Err(format!("mdbook build:\n{said}"));
    }
    let html = folder.join("html");
    let dead = links::dead(&html)?;
    if !dead.is_empty() {
        return Err(format!("links of the site that lead nowhere:\n{}", dead.concat()));
    }
    let place = html.join("index.html").display().to_string();
    match widths::wide(&html, &links::pages(&html)?)? {
        None => Ok(format!("{pages} pages: {place} (without a browser their tables were not measured)\n")),
        Some(wide) if wide.is_empty() => Ok(format!("{pages} pages: {place}\n")),
        Some(wide) => Err(format!("tables that are wider than their page:\n{}", wide.concat())),
    }
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}
