//! `header`: compares the committed `overtake.h` with the Rust sources of the C library.

use std::path::Path;
use std::process::Command;

use pages::Mode;

use crate::Outcome;
use crate::codegen::{difference, read, succeed};
use crate::wheels::Scratch;

/// The path of the committed header.
const HEADER: &str = "crates/capi/include/overtake.h";

/// Generates the header, and writes or compares.
pub fn run(root: &Path, mode: Mode) -> Outcome {
    let scratch = Scratch::new()?;
    let file = scratch.path().join("overtake.h");
    generate(root, &file)?;
    let (path, fresh) = (root.join(HEADER), read(&file)?);
    match (mode, std::fs::read_to_string(&path).unwrap_or_default()) {
        (_, committed) if committed == fresh => Ok(format!("{HEADER} is up to date\n")),
        (Mode::Check, committed) => Err(difference(HEADER, "the Rust source", "header", &committed, &fresh)),
        (Mode::Write, _) => {
            std::fs::write(&path, fresh).map_err(|error| format!("{}: {error}\n", path.display()))?;
            Ok(format!("{HEADER} is written\n"))
        }
    }
}

/// Runs this program once more with cbindgen built in, so that other chores need not build it.
fn generate(root: &Path, file: &Path) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).args(["run", "--quiet", "--package", "overtake-xtask", "--features", "header", "--"]);
    succeed(command.arg("generate-header").arg(file))
}

/// The part that needs cbindgen.
#[cfg(feature = "header")]
pub mod generator {
    use std::path::Path;

    use crate::Outcome;

    /// In the order of the header. Other files of the crate export no function.
    const SOURCES: [&str; 31] = [
        "exports.rs",
        "codes.rs",
        "../../shim/src/statistics.rs",
        "copies.rs",
        "queue.rs",
        "tasks/patience.rs",
        "tasks/callback.rs",
        "tasks/dispatcher.rs",
        "tasks/set.rs",
        "tasks/submit.rs",
        "tasks/task.rs",
        "tasks/ends.rs",
        "tasks/lane.rs",
        "tasks/template.rs",
        "tasks/interpreter.rs",
        "tasks/answer.rs",
        "tasks/picture.rs",
        "arrays/store.rs",
        "arrays/array.rs",
        "arrays/access.rs",
        "arrays/kernel.rs",
        "arrays/uses.rs",
        "arrays/computation.rs",
        "arrays/capsule.rs",
        "pipelines/admission.rs",
        "pipelines/options.rs",
        "pipelines/pipeline.rs",
        "pipelines/end.rs",
        "pipelines/frame.rs",
        "pipelines/work.rs",
        "closing.rs",
    ];

    /// Writes the header to `file`.
    pub fn run(root: &Path, file: &Path) -> Outcome {
        let crate_folder = root.join("crates/capi");
        let config = cbindgen::Config::from_file(crate_folder.join("cbindgen.toml"))?;
        let mut builder = cbindgen::Builder::new().with_config(config);
        for source in SOURCES {
            builder = builder.with_src(crate_folder.join("src").join(source));
        }
        let mut text = Vec::new();
        builder.generate().map_err(|error| format!("cbindgen: {error}\n"))?.write(&mut text);
        let text = String::from_utf8(text).map_err(|error| format!("cbindgen: {error}\n"))?;
        std::fs::write(file, for_c(&text)).map_err(|error| format!("{}: {error}\n", file.display()))?;
        Ok(String::new())
    }

    /// Rust's safety section lists the demands on C callers, and a negative number needs brackets.
    fn for_c(text: &str) -> String {
        let text = text.replace(" * # Safety\n", " * Demands:\n");
        text.lines().map(|line| bracketed(line) + "\n").collect()
    }

    /// `#define A -1` so that `B A` is not a subtraction.
    fn bracketed(line: &str) -> String {
        match line.rsplit_once(' ') {
            Some((name, value)) if name.starts_with("#define ") && value.starts_with('-') => {
                format!("{name} ({value})")
            }
            _ => line.to_owned(),
        }
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn headings_become_prose_and_negative_numbers_are_safe() {
            let text = super::for_c(" * # Safety\n * `a` points at an int.\n#define A -1\n#define B 1");
            assert_eq!(text, " * Demands:\n * `a` points at an int.\n#define A (-1)\n#define B 1\n");
        }
    }
}
