//! `install`: puts the built files where compilers, the loader, Python and users look for them. `uninstall` takes them
//! away, and `wheel` packs them for pip.

mod glibc;
mod manual;
mod python;
mod receipt;
mod request;
mod strip;
mod tree;
pub mod wheel;
mod zig;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use self::receipt::Receipt;
use self::request::{Request, USAGE};
use self::strip::FileKind;
use self::tree::Tree;
use crate::Outcome;
use crate::codegen::{read, succeed};

/// All crates of the workspace have one version.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The number in the library's soname.
const SO_VERSION: &str = "0";

/// The built files, and their places below the prefix; `lib/` stands for the folder of libraries.
const BUILT: [(&str, &str, FileKind); 5] = [
    ("libovertake_c.so", concat!("lib/libovertake.so.", env!("CARGO_PKG_VERSION")), FileKind::Library),
    ("libovertake_c.a", "lib/libovertake.a", FileKind::Archive),
    ("libovertake_preload.so", "lib/libovertake_preload.so", FileKind::Library),
    ("libcuda.so", "lib/overtake/soft/libcuda.so.1", FileKind::Library),
    ("overtake", "bin/overtake", FileKind::Program),
];

/// Files of the repository; in those that end in `.in` words between `@` are replaced.
const FILES: [(&str, &str); 14] = [
    ("crates/capi/include/overtake.h", "include/overtake.h"),
    ("crates/capi/include/overtake.hpp", "include/overtake.hpp"),
    ("crates/capi/include/overtake_arrays.hpp", "include/overtake_arrays.hpp"),
    ("crates/capi/include/overtake_templates.hpp", "include/overtake_templates.hpp"),
    ("crates/capi/include/overtake_pipelines.hpp", "include/overtake_pipelines.hpp"),
    ("crates/feed/src/overtake_pipeline.cuh", "include/overtake_pipeline.cuh"),
    ("crates/profile/src/overtake_profile.cuh", "include/overtake_profile.cuh"),
    ("tests/c/cuda_mini.h", "lib/overtake/soft/include/cuda.h"),
    ("crates/capi/templates/overtake.pc.in", "lib/pkgconfig/overtake.pc"),
    ("crates/capi/templates/overtake-soft.pc.in", "lib/pkgconfig/overtake-soft.pc"),
    ("crates/capi/templates/OvertakeConfig.cmake.in", "lib/cmake/Overtake/OvertakeConfig.cmake"),
    ("crates/capi/templates/OvertakeConfigVersion.cmake.in", "lib/cmake/Overtake/OvertakeConfigVersion.cmake"),
    ("LICENSE-APACHE", "share/doc/overtake/LICENSE-APACHE"),
    ("LICENSE-MIT", "share/doc/overtake/LICENSE-MIT"),
];

/// The names that programs ask for at run time and at link time.
const LINKS: [(&str, &str); 3] = [
    (concat!("libovertake.so.", env!("CARGO_PKG_VERSION")), "lib/libovertake.so.0"),
    ("libovertake.so.0", "lib/libovertake.so"),
    ("libcuda.so.1", "lib/overtake/soft/libcuda.so"),
];

/// The folders where `overtake run` looks for the drop-in, beside the folder of the command.
const SEARCHED: [&str; 3] = ["lib", "lib64", "lib/x86_64-linux-gnu"];

/// Builds, unless the built files are given, and installs.
pub fn run(root: &Path, words: &[&str]) -> Outcome {
    if words.contains(&"--help") {
        return Ok(USAGE.to_owned());
    }
    let request = Request::parse("install", &["--prefix", "--libdir", "--destdir", "--from"], words)?;
    let built = match &request.from {
        Some(folder) => folder.clone(),
        None => build(root)?,
    };
    let mut tree = Tree::open(request.top())?;
    let filled = fill(&mut tree, root, &built, &request);
    tree.finish(filled)
}

/// Puts every file in its place.
fn fill(tree: &mut Tree, root: &Path, built: &Path, request: &Request) -> Result<(), String> {
    for (name, below, kind) in BUILT {
        match find(built, name) {
            Some(file) => {
                let bytes = std::fs::read(&file).map_err(|error| failed(&file, &error))?;
                tree.put(&request.below(below), &bytes, Some(kind))?;
            }
            None if request.from.is_some() => tree.say(&format!("left out: {} has no {name}", built.display())),
            None => return Err(format!("{} has no {name}\n", built.display())),
        }
    }
    if let Some(command) = find(built, "overtake") {
        match manual::files(&command)? {
            Some(files) => files.iter().try_for_each(|(below, bytes)| tree.put(below, bytes, None))?,
            None => tree.say(&format!("left out: man pages and completions: {} does not run here", command.display())),
        }
    }
    for (source, below) in FILES {
        let text = filled(source, read(&root.join(source))?, request);
        tree.put(&request.below(below), text.as_bytes(), None)?;
    }
    for (name, bytes) in python::sources(root)? {
        tree.put(&request.below("lib/overtake/python").join(python::PACKAGE).join(name), &bytes, None)?;
    }
    for (target, below) in LINKS {
        tree.link(&request.below(below), Path::new(target))?;
    }
    if !SEARCHED.iter().any(|folder| request.libdir == Path::new(folder)) {
        tree.say(&format!(
            "note: `overtake run` does not look for the drop-in in {}: name it with --library FILE or \
             OVERTAKE_PRELOAD_LIBRARY",
            request.libdir.display()
        ));
    }
    Ok(())
}

/// Removes the files that the last `install` put below the prefix, and the folders that it made if they are empty.
pub fn uninstall(words: &[&str]) -> Outcome {
    if words.contains(&"--help") {
        return Ok(USAGE.to_owned());
    }
    let top = Request::parse("uninstall", &["--prefix", "--destdir"], words)?.top();
    let Some(receipt) = Receipt::read(&top)? else {
        return Err(format!(
            "{} is not there, so nothing was removed: give the --prefix and --destdir that `install` had\n",
            top.join(receipt::PLACE).display()
        ));
    };
    let mut report = receipt.remove_files(&top, &BTreeSet::new())?;
    // The list goes last: if a file cannot be removed, the next try still knows of it.
    let list = Receipt { files: BTreeSet::from([receipt::PLACE.into()]), ..Receipt::default() };
    report += &list.remove_files(&top, &BTreeSet::new())?;
    receipt.remove_folders(&top)?;
    Ok(report)
}

fn build(root: &Path) -> Result<PathBuf, String> {
    let packages = ["overtake-capi", "overtake-softgpu-libcuda", "overtake-cli"];
    succeed(cargo(root).args(["build", "--release"]).args(packages.map(|package| format!("--package={package}"))))?;
    succeed(cargo(root).arg("drop-in"))?;
    Ok(target_folder(root)?.join("release"))
}

/// Where cargo puts what it builds.
fn target_folder(root: &Path) -> Result<PathBuf, String> {
    let output = cargo(root).args(["metadata", "--format-version", "1", "--no-deps"]).output();
    let output = output.map_err(|error| format!("cargo does not start: {error}\n"))?;
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}\n"))?;
    let target = metadata["target_directory"].as_str().ok_or("cargo metadata names no target directory\n")?;
    Ok(PathBuf::from(target))
}

fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// A built file. Cargo leaves requested targets in the folder itself, and those built for tests in `deps`.
fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    [folder.join(name), folder.join("deps").join(name)].into_iter().find(|file| file.is_file())
}

/// The text of a file. In a template its words are filled in.
fn filled(source: &str, text: String, request: &Request) -> String {
    if !source.ends_with(".in") {
        return text;
    }
    let major_minor = VERSION.rsplit_once('.').map_or(VERSION, |(major_minor, _)| major_minor);
    let up = vec![".."; request.libdir.components().count()].join("/");
    text.replace("@PREFIX@", &request.prefix.display().to_string())
        .replace("@LIBDIR@", &request.libdir.display().to_string())
        .replace("@UP@", &up)
        .replace("@VERSION@", VERSION)
        .replace("@SOVERSION@", SO_VERSION)
        .replace("@MAJOR_MINOR@", major_minor)
}

fn failed(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}\n", path.display())
}

#[cfg(test)]
mod tests;
