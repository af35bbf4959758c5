//! The programs of a package's tests, which are run with each change.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::scratch::Tree;

/// A program that takes more time of the processor, in seconds, or more memory, in KiB, does not end.
const SECONDS_MAX: u32 = 5;
const MEMORY_MAX_KIB: u32 = 1 << 20;

/// Cases of random tests that do not say how many.
const CASES: &str = "64";

/// The programs, the quickest first.
pub struct Programs {
    programs: Vec<PathBuf>,
    /// The names of the tests that are run; all if there are none.
    tests: Vec<String>,
    folder: PathBuf,
}

impl Programs {
    /// Those that a build with these arguments has made, by its messages. Runs each without a change.
    pub fn of(tree: &Tree, messages: &str, arguments: &[&str]) -> Result<Programs, String> {
        let (mut built, mut folder) = (Vec::new(), tree.folder());
        for line in messages.lines() {
            let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
            let Some(program) = message["executable"].as_str() else { continue };
            let manifest = PathBuf::from(message["manifest_path"].as_str().unwrap_or_default());
            folder = manifest.parent().map_or(folder, ToOwned::to_owned);
            built.push(PathBuf::from(program));
        }
        let mut timed: Vec<(Duration, PathBuf)> = Vec::new();
        let names = arguments.iter().skip_while(|argument| **argument != "--").skip(1);
        let all = Programs { programs: Vec::new(), tests: names.map(ToString::to_string).collect(), folder };
        for program in built {
            // With this number none is made.
            let (begin, fails) = (Instant::now(), all.fails(&program, usize::MAX)?);
            if fails {
                return Err(format!("{} fails without a change\n", program.display()));
            }
            timed.push((begin.elapsed(), program));
        }
        timed.sort();
        Ok(Programs { programs: timed.into_iter().map(|(_, program)| program).collect(), ..all })
    }

    /// Whether one of them fails with the change.
    pub fn find(&self, mutant: usize) -> Result<bool, String> {
        for program in &self.programs {
            if self.fails(program, mutant)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn fails(&self, program: &PathBuf, mutant: usize) -> Result<bool, String> {
        let limits = format!("ulimit -c 0 -t {SECONDS_MAX} -v {MEMORY_MAX_KIB}; exec \"$0\" --quiet \"$@\"");
        let mut command = Command::new("bash");
        command
            .arg("-c")
            .arg(limits)
            .arg(program)
            .args(&self.tests)
            .current_dir(&self.folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.env("MUTANT", mutant.to_string());
        command.env("PROPTEST_CASES", CASES).env("PROPTEST_FAILURE_PERSISTENCE", "off");
        let status = command.env("RUST_TEST_THREADS", "2").status().map_err(|error| format!("bash: {error}\n"))?;
        Ok(!status.success())
    }
}
