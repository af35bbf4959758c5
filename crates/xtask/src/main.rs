//! Chores of the repository: `cargo xtask --help`.
#![deny(unsafe_code)]

mod arrows;
mod campaign;
mod codegen;
mod columns;
mod fuzz;
#[cfg(feature = "codegen")]
mod generate;
mod header;
mod install;
mod items;
mod mentions;
mod planted;
mod ptx;
mod rules;
mod scratch;
mod site;
mod tidy;
mod wheels;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use pages::{Mode, Outcome, agreement, headline, store};

const USAGE: &str = "\
Chores of the repository.

Usage: cargo xtask <chore>

Chores:
  agreement DEVICE  print the distance of the software GPU's stored runs from those of a device
  arrows            print the circles between files of the stack, and dependencies of crates that run up
  campaign [--draw N [--seed N]]
                    leave out each statement and condition of the stack, and exchange each comparison and sum, one at a
                    time or as many as are drawn by lot, and run the tests that reach it; goes on where the last run
                    ended (takes hours).
                    reports/mutants/campaign.toml has the reasons of changes that need no test
  codegen           write crates/abi/src/generated.rs and prototypes.rs from cuda.h of CUDA 13.0
                    (fetched with pip into a temporary folder, together with libclang)
  codegen --check   compare instead of writing: 1 if they differ, 0 with `skipped: …` if pip cannot fetch
  header            write crates/capi/include/overtake.h from the Rust source of the C library
  header --check    compare instead of writing: 1 if they differ
  headline          write the figures of all Markdown pages and the pictures of reports/ from the stored runs
  headline --check  compare instead of writing: 1 if they differ; names the runs of older products
  install --prefix FOLDER [--libdir FOLDER] [--destdir FOLDER] [--from FOLDER]
                    build everything for release and install it: libraries, headers, pkg-config and CMake files,
                    the Python package, the drop-in, the software GPU and the command (`cargo xtask install --help`)
  uninstall --prefix FOLDER [--destdir FOLDER]
                    remove the files that `install` put there, and no others
  wheel [--from FOLDER] [--to FOLDER]
                    build everything for release and pack it as a wheel, which pip installs: the Python package, the
                    command, the drop-in, the C library and the software GPU (`cargo xtask wheel --help`)
  planted [NAME...] plant the changes of reports/mutants/planted.toml in a copy of the tree, one at a time, and run the
                    test that has to fail with each (takes a while)
  planted --check   check that each of them can still be planted, and that planted.md equals the list
  planted --table   write planted.md
  ptx               have the ptxas of CUDA 12.1 (fetched with pip) translate every PTX text of the tree: 1 if it refuses
                    one, 0 with `skipped: …` if pip cannot fetch
  site              build the documentation's site from the pages that docs/SUMMARY.md lists, with mdBook, and check its
                    links, and the width of its tables where there is a Chromium; `skipped: …` without mdBook
  store-run FILE... [--question NAME] [--device NAME] [--like RUN.json] [--product N] [--command TEXT]
                    store the output of `overtake bench --json` or of a script of benches/gpu as a run in the archive of
                    its question (reports/QUESTION/raw.tar.gz), and fill the pages anew; a text needs --question, and
                    --like with a run of the same build and machine; a trace of kernels needs both, and --command;
                    --product for a build from before its number was raised
  fuzz [--programs N] [--first SEED] [--each N] [--jobs N] [--json] [-- arguments of the program]
                    run random driver programs natively and in three deployments, on the software GPU; a program that
                    differs is made small and printed with the command that runs it again
                    (crates/preload/tests/c/fuzz)
  tidy              check more than rustfmt and clippy do: length of functions, files and lines, banned words, the
                    places of unsafe code, the version of PTX, paths of one machine, paths, links and items of the
                    source that lead nowhere, words of the glossary that are no name in the source, walks with more
                    files than they state, rules and facts that no page has, arrows (as `arrows` does), and the
                    origin of every stored run
  --help            this text
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(text) => {
            eprint!("{text}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Outcome {
    match words {
        ["--help" | "-h" | "help"] => Ok(USAGE.to_owned()),
        ["codegen"] => codegen::run(&root(), Mode::Write),
        ["codegen", "--check"] => codegen::run(&root(), Mode::Check),
        #[cfg(feature = "codegen")]
        ["generate", include, folder] => generate::run(Path::new(include), Path::new(folder)),
        ["header"] => header::run(&root(), Mode::Write),
        ["header", "--check"] => header::run(&root(), Mode::Check),
        #[cfg(feature = "header")]
        ["generate-header", file] => header::generator::run(&root(), Path::new(file)),
        ["install", options @ ..] => install::run(&root(), options),
        ["uninstall", options @ ..] => install::uninstall(options),
        ["wheel", options @ ..] => install::wheel::run(&root(), options),
        #[cfg(feature = "campaign")]
        ["leave-out", folder] => campaign::leave_out(&root(), Path::new(folder)),
        ["campaign", words @ ..] => campaign::run(&root(), words),
        ["planted", names @ ..] => planted::run(&root(), names),
        ["arrows"] => arrows::run(&root()),
        ["agreement", device] => agreement::run(&root(), device),
        ["headline"] => headline::run(&root(), Mode::Write),
        ["headline", "--check"] => headline::run(&root(), Mode::Check),
        ["ptx"] => ptx::run(&root()),
        ["site"] => site::run(&root()),
        ["store-run", words @ ..] => store::run(&root(), words),
        ["fuzz", options @ ..] => fuzz::run(&root(), options),
        ["tidy"] => tidy::run(&root()),
        [] => Err(USAGE.to_owned()),
        _ => Err(format!("unknown chore: {}\n\n{USAGE}", words.join(" "))),
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("the crate lies two folders below the root").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_chore_and_others_are_refused() {
        let help = run(&["--help"]).unwrap();
        for chore in [
            "codegen --check",
            "header --check",
            "install --prefix",
            "uninstall --prefix",
            "wheel [--from",
            "tidy",
            "agreement DEVICE",
            "\n  arrows",
            "headline --check",
            "store-run FILE",
            "planted --check",
            "\n  ptx",
            "campaign [--draw",
        ] {
            assert!(help.contains(chore), "{chore}");
        }
        assert!(run(&["polish"]).unwrap_err().starts_with("unknown chore: polish"));
        assert!(run(&[]).is_err());
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("crates/xtask/Cargo.toml").is_file());
    }
}
