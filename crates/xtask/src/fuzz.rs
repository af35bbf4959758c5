//! `fuzz`: runs many random programs under the drop-in. The test of that name does the work, and cargo builds its
//! needs.

use std::path::Path;
use std::process::Command;

use crate::Outcome;

/// The number of programs by default.
const PROGRAMS: &str = "1000";

/// Runs them; the test prints its findings.
pub fn run(root: &Path, options: &[&str]) -> Outcome {
    let status = command(root, options).status().map_err(|error| format!("cargo does not start: {error}\n"))?;
    if status.success() { Ok(String::new()) } else { Err(format!("the random programs: {status}\n")) }
}

fn command(root: &Path, options: &[&str]) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root).args(["test", "--quiet", "-p", "overtake-preload", "--test", "it", "--"]);
    if !options.contains(&"--programs") {
        cargo.args(["--programs", PROGRAMS]);
    }
    cargo.args(options);
    cargo
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(options: &[&str]) -> Vec<String> {
        let words = command(Path::new("."), options);
        words.get_args().skip(7).map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn how_many_programs_is_always_said() {
        assert_eq!(words(&["--jobs", "2"]), ["--programs", PROGRAMS, "--jobs", "2"]);
        assert_eq!(words(&["--programs", "7"]), ["--programs", "7"]);
    }
}
