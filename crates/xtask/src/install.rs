//! `install`: what was built, to where compilers, the loader, Python and people look for it.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::codegen::{read, succeed};

/// Everything of the workspace has one version.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The number in the library's soname.
const SO_VERSION: &str = "0";

/// What cargo leaves behind, and where it goes below the prefix.
const BUILT: [(&str, &str, u32); 4] = [
    ("libovertake_c.so", concat!("lib/libovertake.so.", env!("CARGO_PKG_VERSION")), 0o755),
    ("libovertake_c.a", "lib/libovertake.a", 0o644),
    ("libovertake_preload.so", "lib/libovertake_preload.so", 0o755),
    ("overtake", "bin/overtake", 0o755),
];

/// Files of the repository; in those that end in `.in` words between `@` are replaced.
const FILES: [(&str, &str); 8] = [
    ("crates/capi/include/overtake.h", "include/overtake.h"),
    ("crates/capi/include/overtake.hpp", "include/overtake.hpp"),
    ("crates/capi/templates/overtake.pc.in", "lib/pkgconfig/overtake.pc"),
    ("crates/capi/templates/OvertakeConfig.cmake.in", "lib/cmake/Overtake/OvertakeConfig.cmake"),
    ("crates/capi/templates/OvertakeConfigVersion.cmake.in", "lib/cmake/Overtake/OvertakeConfigVersion.cmake"),
    ("crates/capi/python/overtake.py", "lib/overtake/python/overtake.py"),
    ("LICENSE-APACHE", "share/doc/overtake/LICENSE-APACHE"),
    ("LICENSE-MIT", "share/doc/overtake/LICENSE-MIT"),
];

/// The names that programs ask for at run time and at link time.
const LINKS: [(&str, &str); 2] = [
    (concat!("libovertake.so.", env!("CARGO_PKG_VERSION")), "lib/libovertake.so.0"),
    ("libovertake.so.0", "lib/libovertake.so"),
];

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    prefix: PathBuf,
    destdir: Option<PathBuf>,
    from: Option<PathBuf>,
}

impl Request {
    fn parse(words: &[&str]) -> Result<Request, String> {
        let (mut prefix, mut destdir, mut from) = (None, None, None);
        for pair in words.chunks(2) {
            let slot = match pair[0] {
                "--prefix" => &mut prefix,
                "--destdir" => &mut destdir,
                "--from" => &mut from,
                other => return Err(format!("install does not know {other}; see --help\n")),
            };
            let value = pair.get(1).filter(|value| !value.is_empty());
            *slot = Some(PathBuf::from(value.ok_or_else(|| format!("{} needs a folder\n", pair[0]))?));
        }
        let prefix = prefix.ok_or_else(|| "install needs --prefix FOLDER, such as /usr/local\n".to_owned())?;
        match prefix.is_absolute() {
            true => Ok(Request { prefix, destdir, from }),
            false => Err("--prefix is written into files, so it must begin with /\n".to_owned()),
        }
    }

    /// Where a file goes, with the destination in front of the prefix.
    fn place(&self, below: &str) -> PathBuf {
        match &self.destdir {
            Some(destdir) => destdir.join(self.prefix.strip_prefix("/").unwrap_or(&self.prefix)).join(below),
            None => self.prefix.join(below),
        }
    }
}

/// Builds unless it is told where the built files are, and installs.
pub fn run(root: &Path, words: &[&str]) -> Outcome {
    let request = Request::parse(words)?;
    let built = match &request.from {
        Some(folder) => folder.clone(),
        None => build(root)?,
    };
    let mut report = String::new();
    for (name, below, mode) in BUILT {
        match find(&built, name) {
            Some(file) => {
                let bytes = std::fs::read(&file).map_err(|error| failed(&file, &error))?;
                report += &put(&request.place(below), &bytes, mode)?;
            }
            None if request.from.is_some() => report += &format!("left out: {} has no {name}\n", built.display()),
            None => return Err(format!("{} has no {name}\n", built.display())),
        }
    }
    for (source, below) in FILES {
        let text = filled(source, read(&root.join(source))?, &request.prefix);
        report += &put(&request.place(below), text.as_bytes(), 0o644)?;
    }
    for (target, below) in LINKS {
        report += &put_link(&request.place(below), Path::new(target))?;
    }
    Ok(report)
}

fn build(root: &Path) -> Result<PathBuf, String> {
    let cargo = || {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(root);
        command
    };
    let packages = ["-p", "overtake-capi", "-p", "overtake-preload", "-p", "overtake-cli"];
    succeed(cargo().args(["build", "--release"]).args(packages))?;
    let output = cargo().args(["metadata", "--format-version", "1", "--no-deps"]).output();
    let output = output.map_err(|error| format!("cargo does not start: {error}\n"))?;
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}\n"))?;
    let target = metadata["target_directory"].as_str().ok_or("cargo metadata names no target directory\n")?;
    Ok(Path::new(target).join("release"))
}

/// A built file: cargo leaves what was asked for in the folder itself, and what was built for tests in `deps`.
fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    [folder.join(name), folder.join("deps").join(name)].into_iter().find(|file| file.is_file())
}

/// The text of a file; of a template, with its words filled in.
fn filled(source: &str, text: String, prefix: &Path) -> String {
    if !source.ends_with(".in") {
        return text;
    }
    let major_minor = VERSION.rsplit_once('.').map_or(VERSION, |(major_minor, _)| major_minor);
    text.replace("@PREFIX@", &prefix.display().to_string())
        .replace("@VERSION@", VERSION)
        .replace("@SOVERSION@", SO_VERSION)
        .replace("@MAJOR_MINOR@", major_minor)
}

/// Writes a file beside its place and then renames it: programs that have the old one open keep it.
fn put(place: &Path, bytes: &[u8], mode: u32) -> Result<String, String> {
    let fresh = beside(place)?;
    std::fs::write(&fresh, bytes).map_err(|error| failed(&fresh, &error))?;
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(&fresh, permissions).map_err(|error| failed(&fresh, &error))?;
    into_place(&fresh, place)
}

fn put_link(place: &Path, target: &Path) -> Result<String, String> {
    let fresh = beside(place)?;
    symlink(target, &fresh).map_err(|error| failed(&fresh, &error))?;
    into_place(&fresh, place)
}

/// A name beside the place that nothing has.
fn beside(place: &Path) -> Result<PathBuf, String> {
    let folder = place.parent().ok_or_else(|| format!("{} has no folder\n", place.display()))?;
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let fresh = folder.join(format!(".{name}.{}", std::process::id()));
    let _absent = std::fs::remove_file(&fresh);
    Ok(fresh)
}

fn into_place(fresh: &Path, place: &Path) -> Result<String, String> {
    std::fs::rename(fresh, place).map_err(|error| failed(place, &error))?;
    Ok(format!("{}\n", place.display()))
}

fn failed(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}\n", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wheels::Scratch;

    #[test]
    fn options_are_folders_and_the_prefix_is_absolute() {
        let request = Request::parse(&["--prefix", "/opt/overtake", "--destdir", "stage"]).unwrap();
        assert_eq!(request.place("lib/a"), Path::new("stage/opt/overtake/lib/a"));
        let plain = Request::parse(&["--prefix", "/opt/overtake"]).unwrap();
        assert_eq!(plain.place("lib/a"), Path::new("/opt/overtake/lib/a"));
        for (words, complaint) in [
            (&["--prefix", "opt"][..], "begin with /"),
            (&[][..], "needs --prefix"),
            (&["--prefix"][..], "needs a folder"),
            (&["--into", "/opt"][..], "does not know --into"),
        ] {
            assert!(Request::parse(words).unwrap_err().contains(complaint), "{words:?}");
        }
    }

    #[test]
    fn what_is_built_is_installed_and_what_is_not_is_named() {
        let scratch = Scratch::new().unwrap();
        let (built, stage) = (scratch.path().join("built"), scratch.path().join("stage"));
        std::fs::create_dir_all(built.join("deps")).unwrap();
        std::fs::write(built.join("deps/libovertake_c.so"), "first").unwrap();
        let words = ["--prefix", "/usr", "--destdir", stage.to_str().unwrap(), "--from", built.to_str().unwrap()];
        let report = run(&crate::root(), &words).unwrap();
        assert!(report.contains("left out") && report.contains("libovertake_preload.so"), "{report}");
        let library = stage.join("usr/lib/libovertake.so");
        assert_eq!(std::fs::read(&library).unwrap(), b"first", "through both links");
        let description = std::fs::read_to_string(stage.join("usr/lib/pkgconfig/overtake.pc")).unwrap();
        assert!(description.starts_with("prefix=/usr\n") && !description.contains('@'), "{description}");
        // Again, over what is there: whoever has the old library open keeps it.
        let mut old = std::fs::File::open(&library).unwrap();
        std::fs::write(built.join("deps/libovertake_c.so"), "second").unwrap();
        run(&crate::root(), &words).unwrap();
        assert_eq!(std::fs::read(&library).unwrap(), b"second");
        let mut text = String::new();
        std::io::Read::read_to_string(&mut old, &mut text).unwrap();
        assert_eq!(text, "first");
    }
}
