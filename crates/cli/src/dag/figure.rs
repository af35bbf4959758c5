//! A plan as a figure: a row for the host and for each stream, a box for each computation.

use graph::Location;
use report::figure::{PlanFigure, Tone, Work};
use report::format;

use super::present::Report;

/// The colours of devices, in turn.
const TONES: [Tone; 6] = [Tone::Blue, Tone::Green, Tone::Violet, Tone::Orange, Tone::Teal, Tone::Pink];

/// The figure of a plan. Accesses of the host that are no node are left out.
pub fn of(report: &Report<'_>) -> PlanFigure {
    let steps = &report.plan.steps;
    let is_drawn = |number: &usize| !steps[*number].is_skipped;
    let drawn: Vec<usize> = (0..steps.len()).filter(is_drawn).collect();
    let has_host = drawn.iter().any(|number| steps[*number].stream.is_none());
    let of_stream = |(stream, device): (usize, &u8)| format!("device {device}, stream {stream}");
    let streams = report.plan.streams.iter().enumerate().map(of_stream);
    let lanes = has_host.then(|| "host".to_owned()).into_iter().chain(streams).collect();
    let work = |number: &usize| {
        let step = &steps[*number];
        // A parent is no skipped one, and stands before the computation.
        let place = |parent: &usize| drawn.binary_search(parent).ok();
        Work {
            lane: step.stream.map_or(0, |stream| stream as usize + usize::from(has_host)),
            label: label(report, *number),
            notes: notes(report, *number),
            parents: step.parents.iter().filter_map(place).collect(),
            tone: match step.at {
                Location::Host => Tone::Grey,
                Location::Device(device) => TONES[usize::from(device) % TONES.len()],
            },
        }
    };
    let name = if report.program.name.is_empty() { "the program" } else { &report.program.name };
    PlanFigure {
        title: format!("The plan of {name}"),
        subtitle: format!("devices: {}; policies: {}", report.devices, report.policies.join(", ")),
        lanes,
        works: drawn.iter().map(work).collect(),
    }
}

fn label(report: &Report<'_>, number: usize) -> String {
    let label = &report.program.computations[number].label;
    let name = if label.is_empty() { report.program.arguments(number) } else { label.clone() };
    format!("{number}: {name}")
}

/// The priority, and the transfers before the computation.
fn notes(report: &Report<'_>, number: usize) -> Vec<String> {
    let priority = report.plan.priority(report.program, number);
    let transfers = report.plan.steps[number].transfers.iter().map(|moved| {
        let array = &report.program.arrays[moved.array].name;
        format!("{array}: {} to {}, {}", moved.from, moved.to, format::size(moved.bytes()))
    });
    priority.into_iter().chain(transfers).collect()
}
