//! The number of instructions of a submission, counted by callgrind. `cargo bench --bench submit -- instructions`
//! prints them; it needs valgrind.

use std::process::ExitCode;

use testkit::callgrind;

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
        let counts = DIRECTIONS.map(|(_, direction)| {
            let count = callgrind::count("counted_copies", &["counted", name, direction]);
            count.map(|count| count / u64::from(COPIES))
        });
        let [Ok(to_device), Ok(to_host)] = counts else {
            eprintln!("{}", counts.into_iter().find_map(Result::err).unwrap_or_default());
            return ExitCode::FAILURE;
        };
        print_row(name, [to_device, to_host]);
    }
    ExitCode::SUCCESS
}
