//! `bench bandwidth`: bulk alone, by transport, direction and size.

use console::Globals;
use console::failure::Result;
use measure::catalogue::MethodName;
use measure::present::{subtitle, table};
use measure::runner::{Load, Pace};
use measure::stage::{Shown, Stage, finish, methods_or};

use super::args::BandwidthArguments;

/// One method for each way of bulk, with its semaphores armed.
const METHODS: [MethodName; 5] = [
    MethodName::Chunks,
    MethodName::EngineHold,
    MethodName::EngineBracket,
    MethodName::EngineAtomics,
    MethodName::KernelHold,
];
/// The urgent stream exists, so that bulk is armed. It gets only its first copy.
const URGENT_BYTES: u64 = 64 << 10;

/// Runs the command.
pub fn run(globals: &Globals, bandwidth: &BandwidthArguments) -> Result<()> {
    let common = &bandwidth.common;
    let largest = bandwidth.bulk_bytes.iter().copied().max().unwrap_or(1);
    let stage = Stage::set(globals, common.device, &common.options, &[URGENT_BYTES, largest])?;
    let options = stage.shop.options.clone();
    let mut cases = Vec::new();
    for direction in common.direction.directions() {
        for &bytes in &bandwidth.bulk_bytes {
            let sizes = Stage::sizes(direction, URGENT_BYTES, bytes);
            cases.push(sizes.raw(&stage.shop)?);
            for method in methods_or(common, &METHODS) {
                let mut case = sizes.method(&stage.shop, method, Load::Bulk, &options, None)?;
                case.scenario.weight = 2; // none of these is slow
                cases.push(case);
            }
        }
    }
    let (run, notes) = stage.run(&cases, Pace::of(common.seconds))?;
    let summary = format!("bulk alone, armed, nothing urgent; {}", subtitle(&run));
    let shown = Shown { title: "bandwidth".into(), summary, table: table(&run), picture: None, svg: None, notes };
    finish(&common.output, &run, &shown)
}
