//! `overtake demo`: how long a small urgent copy waits behind bulk copies, measured here, and drawn.

mod cases;
mod names;
mod present;

use console::Globals;
use console::failure::Result;
use console::output;
use measure::runner::Pace;
use measure::stage::{Stage, write_json};
use report::format;

use crate::args::DemoArguments;

/// An urgent copy: the size of a token, a page of a key-value cache or a small message.
const URGENT_BYTES: u64 = 64 << 10;
/// A bulk request: a layer of weights.
const BULK_BYTES: u64 = 256 << 20;
/// Scenarios take turns this often: opening overtake anew for every turn is part of the wait.
const ROUNDS: u32 = 2;
/// Seconds that a case takes in each round before anything is measured, on a GPU.
const OPENING_S: f64 = 0.1;
/// Seconds for which the copies behind bulk that is always queued wait, in both directions and each round.
const QUEUED_S: f64 = 2.7;
/// Seconds that a second of the software GPU's time takes.
const SOFT_SHARE: f64 = 0.5;

/// Runs the command.
pub fn run(globals: &Globals, demo: &DemoArguments) -> Result<()> {
    let stage = Stage::set(globals, demo.device, &[], &[URGENT_BYTES, BULK_BYTES])?;
    let cases = cases::cases(&stage, (URGENT_BYTES, BULK_BYTES))?;
    let pace = Pace { rounds: ROUNDS, ..Pace::of(demo.seconds) };
    if !globals.quiet {
        output::say(plan(cases.len(), demo.seconds, stage.is_virtual()));
    }
    let (run, notes) = stage.run(&cases, pace)?;
    let figure = present::figure(&run);
    output::write_file(&demo.svg, &figure.to_svg())?;
    if let Some(path) = &demo.html {
        output::write_file(path, &present::page(&run).to_html())?;
    }
    if write_json(demo.json.as_ref(), &run)? {
        return Ok(());
    }
    let others = [("page", demo.html.as_ref()), ("numbers", demo.json.as_ref())];
    let others = others.into_iter().filter_map(|(what, path)| Some((what, path?)));
    output::print(&present::text(&run, &figure, &notes, others.chain([("picture", &demo.svg)])))
}

/// The announcement of the command's work, and of its duration.
fn plan(cases: usize, seconds: f64, is_virtual: bool) -> String {
    let (urgent, bulk) = (format::size(URGENT_BYTES), format::size(BULK_BYTES));
    let slices = cases as f64 * f64::from(ROUNDS);
    let seconds = seconds + f64::from(ROUNDS) * QUEUED_S;
    let time = if is_virtual {
        format!("{seconds:.0} s of the software GPU's time, about {:.0} s of yours", (seconds * SOFT_SHARE).ceil())
    } else {
        format!("about {:.0} s", (seconds + slices * OPENING_S).ceil())
    };
    format!(
        "How long does a copy of {urgent} take while copies of {bulk} keep the same copy engine busy?\n\
         {cases} cases take turns in {ROUNDS} rounds: {time}."
    )
}
