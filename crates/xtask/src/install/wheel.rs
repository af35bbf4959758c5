//! `wheel`: the Python package with the command and the libraries, as one file that pip installs.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::glibc::{self, Version};
use super::strip::FileKind;
use super::{VERSION, failed, find, manual, python, target_folder, zig};
use crate::Outcome;
use crate::codegen::{read, succeed};
use crate::wheels::Scratch;

/// The output of `cargo xtask wheel --help`.
const USAGE: &str = "\
Builds everything for release, and packs the Python package `overtake_gpu` with it as a wheel.

Usage: cargo xtask wheel [--from FOLDER] [--to FOLDER]

Options:
  --from FOLDER  takes libraries and command from this folder and builds nothing
  --to FOLDER    where the wheel goes: target/wheel if not given
  --help         this text

The files are linked by Zig for glibc 2.28, so that the wheel suits every Linux from 2018 on; pip fetches Zig. Without
it this machine's linker is used. The name of the wheel tells the glibc that its files need, in either case.
";

/// The built files, and their places in the package. They are those of an installation, so that the command finds the
/// drop-in.
const BUILT: [(&str, &str, FileKind); 4] = [
    ("overtake", "bin/overtake", FileKind::Program),
    ("libovertake_c.so", "lib/libovertake.so.0", FileKind::Library),
    ("libovertake_preload.so", "lib/libovertake_preload.so", FileKind::Library),
    ("libcuda.so", "lib/overtake/soft/libcuda.so.1", FileKind::Library),
];

const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];
/// The page that PyPI shows.
const PAGE: &str = "docs/python.md";
/// The program that packs the files.
const PACK: &str = include_str!("pack.py");

/// Builds, unless the built files are given, and packs.
pub fn run(root: &Path, words: &[&str]) -> Outcome {
    if words.contains(&"--help") {
        return Ok(USAGE.to_owned());
    }
    let (mut from, mut to) = (None, None);
    for pair in words.chunks(2) {
        let slot = match pair[0] {
            "--from" => &mut from,
            "--to" => &mut to,
            other => return Err(format!("wheel does not know {other}; see `cargo xtask wheel --help`\n")),
        };
        *slot = Some(PathBuf::from(pair.get(1).ok_or_else(|| format!("{} needs a folder\n", pair[0]))?));
    }
    let target = target_folder(root)?.join("wheel");
    let (built, mut report) = match from {
        Some(folder) => (folder, String::new()),
        None => build(root, &target)?,
    };
    let to = to.unwrap_or(target);
    std::fs::create_dir_all(&to).map_err(|error| failed(&to, &error))?;
    let scratch = Scratch::new()?;
    let glibc = fill(root, &built, scratch.path())?;
    let tag = format!("py3-none-manylinux_{}_{}_x86_64", glibc.0, glibc.1);
    describe(root, &scratch.path().join(format!("{}-{VERSION}.dist-info", python::PACKAGE)), &tag)?;
    let wheel = to.join(format!("{}-{VERSION}-{tag}.whl", python::PACKAGE));
    succeed(Command::new("python3").args(["-c", PACK]).arg(scratch.path()).arg(&wheel))?;
    report += &format!("{}\n", wheel.display());
    Ok(report)
}

/// Builds for release with a linker for an old glibc. Returns the folder of the files, and a note if there is none.
fn build(root: &Path, target: &Path) -> Result<(PathBuf, String), String> {
    let linker = zig::linker(&target.join("zig"));
    let home = std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")));
    let home = home.map_err(|_| "neither CARGO_HOME nor HOME is set\n".to_owned())?;
    let cargo = || {
        let mut command = super::cargo(root);
        command.env("CARGO_TARGET_DIR", target).env("CARGO_PROFILE_RELEASE_DEBUG", "0");
        // Messages of panics name files, which are those of no machine.
        let flags = format!("--remap-path-prefix={home}=cargo --remap-path-prefix={}=overtake", root.display());
        command.env("RUSTFLAGS", flags);
        if let Ok(linker) = &linker {
            command.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER", linker);
        }
        command
    };
    let packages = ["overtake-capi", "overtake-softgpu-libcuda", "overtake-cli"];
    succeed(cargo().args(["build", "--release"]).args(packages.map(|package| format!("--package={package}"))))?;
    succeed(cargo().arg("drop-in"))?;
    let note =
        linker.err().map(|why| format!("note: linked for this machine's glibc, because Zig is missing: {why}\n"));
    Ok((target.join("release"), note.unwrap_or_default()))
}

/// Puts the package's files below `folder`. Returns the glibc that they need.
fn fill(root: &Path, built: &Path, folder: &Path) -> Result<Version, String> {
    let package = folder.join(python::PACKAGE);
    for (name, bytes) in python::sources(root)? {
        put(&package.join(name), &bytes, 0o644)?;
    }
    let mut newest = (2, 0);
    for (name, below, kind) in BUILT {
        let source = find(built, name).ok_or_else(|| format!("{} has no {name}\n", built.display()))?;
        let file = package.join(below);
        put(&file, &std::fs::read(&source).map_err(|error| failed(&source, &error))?, kind.mode())?;
        kind.strip(&file)?;
        newest = newest.max(glibc::needed_by(&file)?);
    }
    // pip puts these below the environment's own folder, where man finds them by the command's path.
    let data = folder.join(format!("{}-{VERSION}.data/data", python::PACKAGE));
    let command = find(built, "overtake").expect("it is one of those above");
    for (below, bytes) in manual::files(&command)?.ok_or("the command does not run here, and writes no man pages\n")? {
        put(&data.join(below), &bytes, 0o644)?;
    }
    Ok(newest)
}

/// Writes what tells pip and people about the package.
fn describe(root: &Path, folder: &Path, tag: &str) -> Result<(), String> {
    let licences: String = LICENCES.iter().map(|name| format!("License-File: {name}\n")).collect();
    let metadata = format!(
        "Metadata-Version: 2.4\nName: overtake-gpu\nVersion: {VERSION}\n\
         Summary: Priorities for GPU memory copies, tasks, arrays and pipelines\n\
         License-Expression: {}\n{licences}Project-URL: Source, {}\nRequires-Python: >=3.9\n\
         Classifier: Operating System :: POSIX :: Linux\nClassifier: Environment :: GPU :: NVIDIA CUDA\n\
         Classifier: Typing :: Typed\nDescription-Content-Type: text/markdown\n\n{}",
        env!("CARGO_PKG_LICENSE"),
        env!("CARGO_PKG_REPOSITORY"),
        read(&root.join(PAGE))?
    );
    let wheel = format!("Wheel-Version: 1.0\nGenerator: overtake-xtask\nRoot-Is-Purelib: false\nTag: {tag}\n");
    let commands = format!("[console_scripts]\novertake = {}.__main__:main\n", python::PACKAGE);
    for (name, text) in [("METADATA", metadata), ("WHEEL", wheel), ("entry_points.txt", commands)] {
        put(&folder.join(name), text.as_bytes(), 0o644)?;
    }
    for name in LICENCES {
        put(&folder.join("licenses").join(name), read(&root.join(name))?.as_bytes(), 0o644)?;
    }
    Ok(())
}

fn put(path: &Path, bytes: &[u8], mode: u32) -> Result<(), String> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    }
    std::fs::write(path, bytes).map_err(|error| failed(path, &error))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(|error| failed(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A command that writes one man page.
    const STAND_IN: &str = "#include <stdio.h>\n#include <unistd.h>\n\
        int main(int count, char **words) {\n\
        if (count != 3 || chdir(words[2]) != 0) return 1;\n\
        return fputs(words[1], fopen(\"overtake.1\", \"w\")) < 0;\n}\n";

    /// Files that stand for the built ones, and a folder for wheels. None where there is no Python, which packs.
    fn place() -> Option<(Scratch, PathBuf, PathBuf)> {
        if Command::new("python3").arg("--version").output().is_err() {
            eprintln!("left out: there is no python3");
            return None;
        }
        let scratch = Scratch::new().unwrap();
        let (built, to) = (scratch.path().join("built"), scratch.path().join("wheels"));
        std::fs::create_dir_all(&built).unwrap();
        let source = built.join("source.c");
        std::fs::write(&source, STAND_IN).unwrap();
        for (name, _, kind) in BUILT {
            let mut gcc = Command::new("gcc");
            gcc.arg("-g").args((kind == FileKind::Library).then_some("-shared"));
            assert!(gcc.arg("-o").arg(built.join(name)).arg(&source).status().expect("gcc starts").success());
        }
        Some((scratch, built, to))
    }

    fn pack(built: &Path, to: &Path) -> Result<PathBuf, String> {
        let words = ["--from", built.to_str().unwrap(), "--to", to.to_str().unwrap()];
        Ok(PathBuf::from(run(&crate::root(), &words)?.trim_end()))
    }

    /// What Python says of a wheel.
    fn python(program: &str, wheel: &Path) -> String {
        let output = Command::new("python3").args(["-c", program]).arg(wheel).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn the_same_files_make_the_same_wheel() {
        let Some((_scratch, built, to)) = place() else { return };
        let first = pack(&built, &to).unwrap();
        let second = pack(&built, &to.join("again")).unwrap();
        assert_eq!(std::fs::read(&first).unwrap(), std::fs::read(second).unwrap());
        let name = first.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with(&format!("overtake_gpu-{VERSION}-py3-none-manylinux_2_")), "{name}");
    }

    #[test]
    fn the_list_of_a_wheel_is_true_and_programs_stay_programs() {
        let Some((_scratch, built, to)) = place() else { return };
        let check = "import sys, zipfile, hashlib, base64\n\
            wheel = zipfile.ZipFile(sys.argv[1])\n\
            names = wheel.namelist()\n\
            lines = wheel.read(names[-1]).decode().splitlines()\n\
            assert lines.pop() == names[-1] + ',,', names[-1]\n\
            assert [line.split(',')[0] for line in lines] == names[:-1]\n\
            for line in lines:\n\
            \x20   name, digest, size = line.split(',')\n\
            \x20   data = wheel.read(name)\n\
            \x20   found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')\n\
            \x20   assert (digest, int(size)) == ('sha256=' + found, len(data)), name\n\
            print(*[name for name in names if wheel.getinfo(name).external_attr >> 16 & 0o100], *names)\n";
        let said = python(check, &pack(&built, &to).unwrap());
        let programs: Vec<&str> = said.split_whitespace().take(BUILT.len()).collect();
        assert_eq!(programs, BUILT.map(|(_, below, _)| format!("overtake_gpu/{below}")));
        for name in ["__init__.py", "__init__.pyi", "__main__.py", "py.typed", "_lib.py"] {
            assert!(said.contains(&format!(" overtake_gpu/{name}")), "{name}: {said}");
        }
        for name in ["METADATA", "WHEEL", "entry_points.txt", "licenses/LICENSE-MIT", "licenses/LICENSE-APACHE"] {
            assert!(said.contains(&format!(".dist-info/{name}")), "{name}: {said}");
        }
        assert!(said.contains(".data/data/overtake.1"), "{said}");
        assert!(!said.contains("__pycache__"), "{said}");
    }

    #[test]
    fn a_wheel_without_one_of_its_files_is_refused() {
        let Some((_scratch, built, to)) = place() else { return };
        std::fs::remove_file(built.join("libcuda.so")).unwrap();
        let why = pack(&built, &to).unwrap_err();
        assert!(why.contains("has no libcuda.so"), "{why}");
        assert!(run(&crate::root(), &["--prefix", "/usr"]).unwrap_err().contains("does not know --prefix"));
        assert!(run(&crate::root(), &["--help"]).unwrap().contains("--from FOLDER"));
    }
}
