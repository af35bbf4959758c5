//! `codegen`: compares the committed types with NVIDIA's header.

use std::path::Path;
use std::process::Command;

use pages::Mode;

use crate::Outcome;
use crate::wheels::{self, Scratch, Wheels};

/// The generated files in `crates/abi/src`.
pub const FILES: [&str; 2] = ["generated.rs", "prototypes.rs"];

/// Fetches, generates, and writes or compares.
pub fn run(root: &Path, mode: Mode) -> Outcome {
    let scratch = Scratch::new()?;
    let wheels = match wheels::fetch(scratch.path()) {
        Ok(wheels) => wheels,
        Err(why) if mode == Mode::Check => return Ok(format!("skipped: {why}\n")),
        Err(why) => return Err(format!("{why}\n")),
    };
    generate(root, &wheels, scratch.path())?;
    let committed = root.join("crates/abi/src");
    let mut report = String::new();
    for name in FILES {
        let fresh = read(&scratch.path().join(name))?;
        let path = committed.join(name);
        match (mode, std::fs::read_to_string(&path).ok()) {
            (_, Some(text)) if text == fresh => report += &format!("{name} is up to date\n"),
            (Mode::Check, text) => {
                let name = format!("crates/abi/src/{name}");
                return Err(difference(&name, "cuda.h", "codegen", &text.unwrap_or_default(), &fresh));
            }
            (Mode::Write, _) => {
                std::fs::write(&path, fresh).map_err(|error| format!("{}: {error}\n", path.display()))?;
                report += &format!("{name} is written\n");
            }
        }
    }
    Ok(report)
}

/// Runs this program once more with bindgen built in and libclang in reach, then rustfmt.
fn generate(root: &Path, wheels: &Wheels, folder: &Path) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).env("LIBCLANG_PATH", &wheels.libclang);
    command.args(["run", "--quiet", "--package", "overtake-xtask", "--features", "codegen", "--", "generate"]);
    succeed(command.arg(&wheels.include).arg(folder))?;
    for name in FILES {
        let mut rustfmt = Command::new("rustfmt");
        succeed(rustfmt.args(["--edition", "2024", "--config-path"]).args([root, &folder.join(name)]))?;
    }
    Ok(())
}

pub fn succeed(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program}: {status}\n")),
        Err(error) => Err(format!("{program} does not start: {error}\n")),
    }
}

pub fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}\n", path.display()))
}

/// The first difference between a committed file and the generated one, and the chore that writes the file.
pub fn difference(name: &str, source: &str, chore: &str, committed: &str, fresh: &str) -> String {
    let (mut old, mut new) = (committed.lines(), fresh.lines());
    let mut number = 0;
    loop {
        number += 1;
        match (old.next(), new.next()) {
            (Some(old), Some(new)) if old == new => {}
            (old, new) => {
                let show = |line: Option<&str>| line.unwrap_or("(the end)").to_owned();
                return format!(
                    "{name} differs from {source}, first at line {number}:\n- {}\n+ {}\n\
                     run `cargo xtask {chore}` and look at `git diff`\n",
                    show(old),
                    show(new)
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_names_file_line_and_cure() {
        let differing = |fresh| difference("generated.rs", "cuda.h", "codegen", "one\ntwo\n", fresh);
        let text = differing("one\nzwei\n");
        assert!(text.contains("generated.rs differs") && text.contains("line 2:\n- two\n+ zwei"), "{text}");
        assert!(text.contains("cargo xtask codegen"));
        assert!(differing("one\ntwo\nthree\n").contains("line 3:\n- (the end)\n+ three"));
    }
}
