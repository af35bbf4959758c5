//! The words after `cargo xtask install` and `cargo xtask uninstall`.

use std::path::{Component, Path, PathBuf};

/// The output of `cargo xtask install --help` and `cargo xtask uninstall --help`.
pub const USAGE: &str = "\
Builds everything for release and installs it, or takes away what was installed.

Usage: cargo xtask install   --prefix FOLDER [--libdir FOLDER] [--destdir FOLDER] [--from FOLDER]
       cargo xtask uninstall --prefix FOLDER [--destdir FOLDER]

Options:
  --prefix FOLDER   where programs, headers and libraries go, such as /usr/local; it is written into pkg-config files
  --libdir FOLDER   where libraries go below the prefix: lib if not given; lib64 or lib/x86_64-linux-gnu elsewhere
  --destdir FOLDER  goes in front of every path that is written to, and into no file: for those who make packages
  --from FOLDER     takes libraries and command from this folder and builds nothing; leaves out what is not there
  --help            this text

What is installed, with LIBDIR for PREFIX/lib:
  PREFIX/bin/overtake                     the command
  PREFIX/include/overtake.h, overtake.hpp the headers of the C library
  PREFIX/include/overtake_*.cuh           for kernels that feed on frames, and for times of their blocks
  LIBDIR/libovertake.so, libovertake.a    the C library
  LIBDIR/libovertake_preload.so           the drop-in
  LIBDIR/overtake/python/overtake_gpu/    the Python package, for PYTHONPATH=LIBDIR/overtake/python
  LIBDIR/overtake/soft/libcuda.so.1       the software GPU, for LD_LIBRARY_PATH; no loader looks there by itself
  LIBDIR/overtake/soft/include/cuda.h     what a program needs of the driver's header where CUDA is not installed
  LIBDIR/pkgconfig/overtake.pc            for programs that use the C library
  LIBDIR/pkgconfig/overtake-soft.pc       the same, linked with the software GPU
  LIBDIR/cmake/Overtake/                  find_package(Overtake)
  PREFIX/share/man/man1/                  a man page for each command
  PREFIX/share/bash-completion, zsh, fish completions of the command
  PREFIX/share/doc/overtake/              the licences
  PREFIX/share/overtake/installed.txt     the list of these files: `uninstall` removes them and no other

Programs and libraries are stripped (strip, of binutils). Installing anew replaces what was installed before.
";

/// The request on the command line.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    pub prefix: PathBuf,
    pub libdir: PathBuf,
    pub destdir: Option<PathBuf>,
    pub from: Option<PathBuf>,
}

impl Request {
    /// Reads the words; `chore` accepts only these options.
    pub fn parse(chore: &str, known: &[&str], words: &[&str]) -> Result<Request, String> {
        let (mut prefix, mut libdir, mut destdir, mut from) = (None, None, None, None);
        for pair in words.chunks(2) {
            let slot = match pair[0] {
                option if !known.contains(&option) => {
                    return Err(format!("{chore} does not know {option}; see `cargo xtask {chore} --help`\n"));
                }
                "--prefix" => &mut prefix,
                "--libdir" => &mut libdir,
                "--destdir" => &mut destdir,
                _ => &mut from,
            };
            let value = pair.get(1).filter(|value| !value.is_empty());
            *slot = Some(PathBuf::from(value.ok_or_else(|| format!("{} needs a folder\n", pair[0]))?));
        }
        let prefix = prefix.ok_or_else(|| format!("{chore} needs --prefix FOLDER, such as /usr/local\n"))?;
        if !prefix.is_absolute() {
            return Err("--prefix is written into files, so it must begin with /\n".to_owned());
        }
        let libdir = inside(&prefix, libdir.unwrap_or_else(|| PathBuf::from("lib")))?;
        Ok(Request { prefix, libdir, destdir, from })
    }

    /// The folder that stands for the prefix: the prefix itself, or its place below the destination.
    pub fn top(&self) -> PathBuf {
        match &self.destdir {
            Some(destdir) => destdir.join(self.prefix.strip_prefix("/").unwrap_or(&self.prefix)),
            None => self.prefix.clone(),
        }
    }

    /// The path of a file below the prefix. A name that begins with `lib/` stands for the folder of libraries.
    pub fn below(&self, name: &str) -> PathBuf {
        match name.strip_prefix("lib/") {
            Some(rest) => self.libdir.join(rest),
            None => PathBuf::from(name),
        }
    }
}

/// The folder of libraries, relative to the prefix.
fn inside(prefix: &Path, libdir: PathBuf) -> Result<PathBuf, String> {
    let relative = if libdir.is_absolute() { libdir.strip_prefix(prefix).ok() } else { Some(libdir.as_path()) };
    match relative {
        Some(relative) if is_plain(relative) => Ok(relative.components().collect()),
        _ => Err(format!("--libdir {}: name a folder below the prefix, such as lib64\n", libdir.display())),
    }
}

/// Whether a path stays below the folder that it is joined to, and fits on a line of a file.
pub fn is_plain(path: &Path) -> bool {
    let is_name = |part: Component<'_>| matches!(part, Component::Normal(_));
    let fits = path.to_str().is_some_and(|text| !text.is_empty() && !text.chars().any(char::is_control));
    fits && path.components().all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] = ["--prefix", "--libdir", "--destdir", "--from"];

    fn parse(words: &[&str]) -> Result<Request, String> {
        Request::parse("install", &KNOWN, words)
    }

    #[test]
    fn options_are_folders_and_the_prefix_is_absolute() {
        let staged = parse(&["--prefix", "/opt/overtake", "--destdir", "stage"]).unwrap();
        assert_eq!(staged.top(), Path::new("stage/opt/overtake"));
        assert_eq!(parse(&["--prefix", "/opt/overtake"]).unwrap().top(), Path::new("/opt/overtake"));
        for (words, complaint) in [
            (&["--prefix", "opt"][..], "begin with /"),
            (&[][..], "needs --prefix"),
            (&["--prefix"][..], "needs a folder"),
            (&["--into", "/opt"][..], "does not know --into"),
        ] {
            assert!(parse(words).unwrap_err().contains(complaint), "{words:?}");
        }
    }

    #[test]
    fn the_folder_of_libraries_lies_below_the_prefix() {
        let libdir = |folder: &str| parse(&["--prefix", "/opt/overtake", "--libdir", folder]);
        let below = |folder: &str| libdir(folder).unwrap().below("lib/pkgconfig/overtake.pc");
        assert_eq!(below("lib64"), Path::new("lib64/pkgconfig/overtake.pc"));
        assert_eq!(below("lib/x86_64-linux-gnu/"), Path::new("lib/x86_64-linux-gnu/pkgconfig/overtake.pc"));
        assert_eq!(below("/opt/overtake/lib64"), Path::new("lib64/pkgconfig/overtake.pc"));
        assert_eq!(libdir("lib64").unwrap().below("bin/overtake"), Path::new("bin/overtake"));
        for outside in ["..", "lib/../../lib", "/usr/lib64", "/opt/overtake", "lib\n64"] {
            assert!(libdir(outside).unwrap_err().contains("below the prefix"), "{outside}");
        }
    }

    #[test]
    fn the_help_names_every_option() {
        for option in KNOWN {
            assert!(USAGE.contains(&format!("\n  {option} FOLDER")), "{option}");
        }
    }
}
