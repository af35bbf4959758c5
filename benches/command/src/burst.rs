//! `bench burst`: many urgent copies back to back, timed together.

use console::Globals;
use console::failure::Result;
use measure::catalogue::MethodName;
use measure::present::{latency_figure, latency_text, subtitle, table};
use measure::runner::{Load, Pace};
use measure::stage::{Shown, Stage, finish, methods_or};

use super::args::BurstArguments;

/// Runs the command.
pub fn run(globals: &Globals, burst: &BurstArguments) -> Result<()> {
    let common = &burst.common;
    let stage = Stage::set(globals, common.device, &common.options, &[burst.high_bytes, burst.bulk_bytes])?;
    let options = stage.shop.options.clone();
    let mut cases = Vec::new();
    for direction in common.direction.directions() {
        let sizes = Stage::sizes(direction, burst.high_bytes, burst.bulk_bytes);
        cases.push(sizes.idle(&stage.shop)?);
        cases.push(sizes.raw(&stage.shop)?);
        for method in methods_or(common, &MethodName::FIXED) {
            cases.push(sizes.method(&stage.shop, method, Load::Both, &options, None)?);
        }
    }
    let pace = Pace { burst: burst.burst, ..Pace::of(common.seconds) };
    let (run, notes) = stage.run(&cases, pace)?;
    let title = "How long a burst of urgent copies takes behind saturating bulk";
    let shown = Shown {
        title: "burst".into(),
        summary: format!("{} copies in a burst; {}", burst.burst, subtitle(&run)),
        table: table(&run),
        picture: Some(latency_text(&run, title)),
        svg: Some(latency_figure(&run, title).to_svg()),
        notes,
    };
    finish(&common.output, &run, &shown)
}
