//! The drop-in: its exports, and what it does with programs that are not made for it.

mod clients;
mod exports;
mod fuzz;
mod harness;
mod observed;

use std::process::ExitCode;

use libtest_mimic::Arguments;

/// The clients nap for a good part of their time: more than the cores of a small machine.
const TRIALS_AT_ONCE: usize = 4;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(end) = fuzz::campaign(&words) {
        return end;
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(arguments.test_threads.unwrap_or(TRIALS_AT_ONCE).min(TRIALS_AT_ONCE));
    let modules = [exports::trials, fuzz::trials, observed::trials, clients::trials];
    let trials = modules.into_iter().flat_map(|trials| trials()).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
