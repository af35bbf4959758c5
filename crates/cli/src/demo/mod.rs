//! `overtake demo`: how long a small urgent copy waits behind bulk copies, measured here, and drawn.

mod cases;
mod present;

use crate::args::{Arguments, DemoArguments};
use crate::bench::runner::Pace;
use crate::bench::stage::{Stage, write_json};
use crate::failure::Result;
use crate::output;

/// An urgent copy: what a token, a page of a key-value cache or a small message weighs.
const URGENT_BYTES: u64 = 64 << 10;
/// A bulk request: a layer of weights.
const BULK_BYTES: u64 = 256 << 20;
/// Scenarios take turns this often: opening overtake anew for every turn is part of the wait.
const ROUNDS: u32 = 2;

/// Runs the command.
pub fn run(arguments: &Arguments, demo: &DemoArguments) -> Result<()> {
    let stage = Stage::set(arguments, demo.device, &[], &[URGENT_BYTES, BULK_BYTES])?;
    let cases = cases::cases(&stage, (URGENT_BYTES, BULK_BYTES))?;
    let pace = Pace { rounds: ROUNDS, ..Pace::of(demo.seconds) };
    let (run, notes) = stage.run(&cases, pace)?;
    let figure = present::figure(&run);
    output::write_file(&demo.svg, &figure.to_svg())?;
    if let Some(path) = &demo.html {
        output::write_file(path, &present::page(&run).to_html())?;
    }
    if write_json(demo.json.as_ref(), &run)? {
        return Ok(());
    }
    let written = [Some(&demo.svg), demo.html.as_ref(), demo.json.as_ref()];
    output::print(&present::text(&run, &figure, &notes, written.into_iter().flatten()))
}
