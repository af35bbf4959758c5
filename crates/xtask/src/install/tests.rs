//! Installs into a folder of the test, and removes the files again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{run, uninstall};
use crate::wheels::Scratch;

/// A folder with a built library, and one to install into.
struct Place {
    _scratch: Scratch,
    built: PathBuf,
    stage: PathBuf,
}

impl Place {
    fn new() -> Place {
        let scratch = Scratch::new().unwrap();
        let (built, stage) = (scratch.path().join("built"), scratch.path().join("stage"));
        std::fs::create_dir_all(built.join("deps")).unwrap();
        Place { _scratch: scratch, built, stage }
    }

    /// A library with debug information that holds this text.
    fn build(&self, name: &str, text: &str) {
        let source = self.built.join("source.c");
        std::fs::write(&source, format!("const char *text(void) {{ return \"{text}\"; }}\n")).unwrap();
        let mut gcc = Command::new("gcc");
        gcc.args(["-shared", "-g", "-o"]).arg(self.built.join("deps").join(name)).arg(source);
        assert!(gcc.status().expect("gcc starts").success());
    }

    fn install(&self, more: &[&str]) -> String {
        let (stage, built) = (self.stage.to_str().unwrap(), self.built.to_str().unwrap());
        run(&crate::root(), &[&["--prefix", "/usr", "--destdir", stage, "--from", built], more].concat()).unwrap()
    }

    fn uninstall(&self) -> Result<String, String> {
        uninstall(&["--prefix", "/usr", "--destdir", self.stage.to_str().unwrap()])
    }

    fn installed(&self, below: &str) -> PathBuf {
        self.stage.join("usr").join(below)
    }

    /// All files and folders in it.
    fn everything(&self) -> BTreeSet<PathBuf> {
        let (mut found, mut open) = (BTreeSet::new(), vec![self.stage.clone()]);
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                if entry.file_type().unwrap().is_dir() {
                    open.push(entry.path());
                }
                found.insert(entry.path().strip_prefix(&self.stage).unwrap().to_owned());
            }
        }
        found
    }
}

fn holds(file: &Path, text: &str) -> bool {
    let bytes = std::fs::read(file).unwrap();
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn headers_that_pages_include_are_installed() {
    let place = Place::new();
    place.build("libovertake_c.so", "any");
    place.install(&[]);
    let pages = std::fs::read_dir(crate::root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = pages.chain(["README.md", "crates/capi/README.md"].map(|page| crate::root().join(page)));
    let mut headers = BTreeSet::new();
    for page in pages.filter(|page| page.extension().is_some_and(|extension| extension == "md")) {
        let text = std::fs::read_to_string(page).unwrap();
        let included = text.lines().filter_map(|line| line.trim().strip_prefix("#include "));
        let named = included.filter_map(|rest| rest.split(['<', '>', '"']).nth(1).map(str::to_owned));
        headers.extend(named.filter(|name| name.starts_with("overtake")));
    }
    assert!(headers.contains("overtake.h") && headers.contains("overtake_pipeline.cuh"), "{headers:?}");
    let absent: Vec<_> = headers.iter().filter(|name| !place.installed("include").join(name).exists()).collect();
    assert!(absent.is_empty(), "{absent:?}");
}

#[test]
fn built_files_are_stripped_and_absent_ones_are_named() {
    let place = Place::new();
    place.build("libovertake_c.so", "first");
    assert!(holds(&place.built.join("deps/libovertake_c.so"), ".debug_info"), "the test needs something to strip");
    let report = place.install(&[]);
    assert!(report.contains("left out") && report.contains("libovertake_preload.so"), "{report}");
    let library = place.installed("lib/libovertake.so");
    assert!(holds(&library, "first"), "through both links");
    assert!(!holds(&library, ".debug_") && !holds(&library, ".symtab"));
    let description = std::fs::read_to_string(place.installed("lib/pkgconfig/overtake.pc")).unwrap();
    assert!(description.starts_with("prefix=/usr\n") && !description.contains('@'), "{description}");
}

/// A script stands for the command.
#[test]
fn the_command_writes_man_pages_and_completions() {
    let place = Place::new();
    let command = place.built.join("overtake");
    let write = |text: &str| {
        // Another process writes it: a file that a child of another test still has open does not start.
        let mut shell = Command::new("sh");
        shell.args(["-c", "printf %s \"$1\" >\"$0\" && chmod +x \"$0\""]).arg(&command).arg(text);
        assert!(shell.status().unwrap().success());
    };
    let page = "share/man/man1/overtake.1";
    write(&format!("#!/bin/sh\n[ \"$1\" = manual ] && mkdir -p $2/share/man/man1 && echo page >$2/{page}\n"));
    let files = super::manual::files(&command).unwrap().unwrap();
    assert_eq!(files, [(PathBuf::from(page), b"page\n".to_vec())]);
    write("#!/bin/sh\necho no >&2\nexit 1\n");
    assert!(super::manual::files(&command).unwrap_err().ends_with("manual: no\n"));
    write("#!/bin/sh\n");
    assert!(super::manual::files(&command).unwrap_err().ends_with("it wrote nothing\n"));
    write("\u{7f}ELF of another machine");
    assert_eq!(super::manual::files(&command), Ok(None));
}

#[test]
fn installing_anew_leaves_open_files_as_they_are() {
    let place = Place::new();
    place.build("libovertake_c.so", "first");
    place.install(&[]);
    let library = place.installed("lib/libovertake.so");
    let mut old = std::fs::File::open(&library).unwrap();
    place.build("libovertake_c.so", "second");
    place.install(&[]);
    assert!(holds(&library, "second") && !holds(&library, "first"));
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut old, &mut bytes).unwrap();
    assert!(bytes.windows(5).any(|window| window == b"first"));
}

#[test]
fn the_folder_of_libraries_is_written_into_files() {
    let place = Place::new();
    place.build("libovertake_c.so", "first");
    let report = place.install(&["--libdir", "lib/x86_64-linux-gnu"]);
    assert!(!report.contains("note:"), "{report}");
    let folder = place.installed("lib/x86_64-linux-gnu");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    for name in ["overtake", "overtake-soft"] {
        let text = read(&format!("pkgconfig/{name}.pc"));
        assert!(text.contains("\nlibdir=${exec_prefix}/lib/x86_64-linux-gnu\n"), "{text}");
    }
    let config = read("cmake/Overtake/OvertakeConfig.cmake");
    assert!(config.contains("\"${_overtake_libdir}/../..\" ABSOLUTE") && !config.contains('@'), "{config}");
    let strays: Vec<_> = std::fs::read_dir(place.installed("lib")).unwrap().flatten().map(|e| e.path()).collect();
    assert_eq!(strays, [folder]);
    let elsewhere = place.install(&["--libdir", "elsewhere"]);
    assert!(elsewhere.contains("note: `overtake run` does not look for the drop-in in elsewhere"), "{elsewhere}");
}

#[test]
fn another_folder_of_libraries_takes_the_place_of_the_first() {
    let place = Place::new();
    place.build("libovertake_c.so", "first");
    place.install(&[]);
    let report = place.install(&["--libdir", "lib64"]);
    let gone = format!("removed {}", place.installed("lib/pkgconfig/overtake.pc").display());
    assert!(report.contains(&gone), "{report}");
    assert!(!place.installed("lib").exists() && place.installed("lib64/libovertake.so").exists());
    place.uninstall().unwrap();
    assert_eq!(place.everything(), BTreeSet::new());
}

#[test]
fn uninstalling_removes_the_installed_files_and_no_others() {
    let place = Place::new();
    place.build("libovertake_c.so", "first");
    let foreign = place.installed("lib/pkgconfig/other.pc");
    std::fs::create_dir_all(foreign.parent().unwrap()).unwrap();
    std::fs::create_dir_all(place.installed("bin")).unwrap();
    std::fs::write(&foreign, "theirs").unwrap();
    let before = place.everything();
    place.install(&[]);
    // A later file keeps its folder, which `install` made.
    let later = place.installed("lib/overtake/theirs");
    std::fs::write(&later, "theirs").unwrap();
    let report = place.uninstall().unwrap();
    assert!(report.contains("include/overtake.h\n"), "{report}");
    let kept = ["usr/lib/overtake", "usr/lib/overtake/theirs"].map(PathBuf::from);
    assert_eq!(place.everything(), before.into_iter().chain(kept).collect());
    let again = place.uninstall().unwrap_err();
    assert!(again.contains("nothing was removed") && again.contains("--destdir"), "{again}");
}

#[test]
fn an_installation_that_fails_can_be_removed() {
    let place = Place::new();
    place.build("libovertake_c.so", "first");
    place.install(&[]);
    std::fs::write(place.built.join("deps/libovertake_preload.so"), "no library").unwrap();
    let (stage, built) = (place.stage.to_str().unwrap(), place.built.to_str().unwrap());
    let words = ["--prefix", "/usr", "--destdir", stage, "--from", built, "--libdir", "lib64"];
    let failure = run(&crate::root(), &words).unwrap_err();
    assert!(failure.starts_with("strip: "), "{failure}");
    place.uninstall().unwrap();
    assert_eq!(place.everything(), BTreeSet::new());
}

#[test]
fn both_chores_explain_themselves() {
    for chore in [run(&crate::root(), &["--help"]), uninstall(&["--help"])] {
        let text = chore.unwrap();
        for word in ["--prefix", "--libdir", "--destdir", "--from", "--help", "uninstall", "soft/libcuda.so.1"] {
            assert!(text.contains(word), "{word}");
        }
    }
    assert!(uninstall(&["--prefix", "/usr", "--from", "built"]).unwrap_err().contains("does not know --from"));
}
