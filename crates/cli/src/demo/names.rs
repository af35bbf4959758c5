//! The names of the demo's cases, in the table, in the picture, on the page and beside the bar.

use measure::case::Case;
use measure::catalogue::{IDLE, RAW};
use measure::present::direction_title;
use measure::runner::Scenario;

/// The reader's name of a method; its own where it is not one of the demo's.
pub fn name(method: &str) -> &str {
    match method {
        IDLE => "idle device",
        RAW => "bulk alone",
        "native+priority" => "behind bulk, stream priorities",
        "native+queue" => "the same, bulk always queued",
        "kernel/hold" => "overtake, bulk by kernel",
        "express" => "overtake, urgent by kernel",
        "engine/hold" => "overtake, bulk in chunks",
        other => other,
    }
}

/// The same case, under the reader's name.
pub fn named(case: Case) -> Case {
    let (direction, name) = (direction_title(case.direction.name()), name(case.label.method).to_owned());
    let scenario = Scenario { name: format!("{direction}: {name}"), ..case.scenario };
    Case { name, scenario, ..case }
}
