//! The number of instructions of a submission, counted by callgrind. `cargo bench --bench submit -- instructions`
//! prints them; it needs valgrind.

use std::process::{Command, ExitCode};

use crate::ways::{Bench, DIRECTIONS, names, print_head, print_row};

const COPIES: u32 = 200;

/// callgrind counts the calls of the function of this name.
#[inline(never)]
fn counted_copies(bench: &Bench) {
    (0..COPIES).for_each(|_| bench.copy());
}

/// The part that runs under callgrind.
pub fn counted(name: &str, direction: &str) -> ExitCode {
    let direction = DIRECTIONS.iter().find(|(_, known)| *known == direction);
    let Some((direction, _)) = direction else { return ExitCode::FAILURE };
    counted_copies(&Bench::new(name, *direction));
    ExitCode::SUCCESS
}

/// Prints a row for each way and direction.
pub fn report() -> ExitCode {
    print_head("instructions of the calling thread for one copy, on a driver whose calls do nothing");
    for name in names() {
        let counts = DIRECTIONS.map(|(_, direction)| callgrind(name, direction));
        let [Ok(to_device), Ok(to_host)] = counts else {
            eprintln!("{}", counts.into_iter().find_map(Result::err).unwrap_or_default());
            return ExitCode::FAILURE;
        };
        print_row(name, [to_device, to_host]);
    }
    ExitCode::SUCCESS
}

fn callgrind(name: &str, direction: &str) -> Result<u64, String> {
    let this = std::env::current_exe().map_err(|error| format!("the path of this program is not known: {error}"))?;
    let output = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--fair-sched=try",
            "--toggle-collect=*counted_copies*",
            "--callgrind-out-file=/dev/null",
        ])
        .arg(this)
        .args(["counted", name, direction])
        .output()
        .map_err(|error| format!("valgrind does not run: {error}; install it"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let collected = text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse::<u64>().ok());
    collected.map(|count| count / u64::from(COPIES)).ok_or_else(|| format!("callgrind counted nothing:\n{text}"))
}
