//! A plan as a figure: a row for the host and each stream, a box for each computation, a frame for each section.

use graph::Location;
use report::figure::{PlanFigure, Tone, Work};
use report::format;

use super::present::Report;

/// The colours of devices, in turn.
const TONES: [Tone; 6] = [Tone::Blue, Tone::Green, Tone::Violet, Tone::Orange, Tone::Teal, Tone::Pink];

/// Computations that are one box: a single one, or those of a section that follow each other in a lane.
struct Item {
    /// By number, in their order.
    members: Vec<usize>,
    /// The section that they are drawn as, by number.
    section: Option<usize>,
}

/// The figure of a plan, with frames for sections up to so many in each other. Accesses of the host that are no node
/// are left out.
pub fn of(report: &Report<'_>, depth: usize) -> PlanFigure {
    let steps = &report.plan.steps;
    let is_drawn = |number: &usize| !steps[*number].is_skipped;
    let has_host = (0..steps.len()).filter(is_drawn).any(|number| steps[number].stream.is_none());
    let of_stream = |(stream, device): (usize, &u8)| format!("device {device}, stream {stream}");
    let streams = report.plan.streams.iter().enumerate().map(of_stream);
    let lanes = has_host.then(|| "host".to_owned()).into_iter().chain(streams).collect();
    let (items, item_of) = items(report, depth);
    let work = |(index, item): (usize, &Item)| {
        let first = item.members[0];
        let step = &steps[first];
        // A parent is no skipped one, and stands in this item or in one before it.
        let parents = item.members.iter().flat_map(|number| &steps[*number].parents).filter_map(|it| item_of[*it]);
        let mut parents: Vec<usize> = parents.filter(|parent| *parent != index).collect();
        parents.sort_unstable();
        parents.dedup();
        let mut sections = report.program.sections_around(first);
        sections.truncate(depth);
        Work {
            lane: step.stream.map_or(0, |stream| stream as usize + usize::from(has_host)),
            label: label(report, item),
            notes: notes(report, item),
            parents,
            sections,
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
        sections: report.program.sections.iter().map(|section| section.name.clone()).collect(),
        works: items.iter().enumerate().map(work).collect(),
    }
}

/// The boxes in their order, and the box of each computation that is drawn.
///
/// A computation joins the last box of its lane if that is of the same deep section, and if all others that it comes
/// after stand before that box. So the boxes have an order, as their computations have.
fn items(report: &Report<'_>, depth: usize) -> (Vec<Item>, Vec<Option<usize>>) {
    let steps = &report.plan.steps;
    let mut items: Vec<Item> = Vec::new();
    let mut item_of: Vec<Option<usize>> = vec![None; steps.len()];
    for (number, step) in steps.iter().enumerate().filter(|(_, step)| !step.is_skipped) {
        let section = report.program.sections_around(number).get(depth).copied();
        let last = items.iter().rposition(|item| steps[item.members[0]].stream == step.stream);
        let joined = last.filter(|last| {
            let is_before = |parent: &usize| item_of[*parent] == Some(*last) || *parent < items[*last].members[0];
            section.is_some() && items[*last].section == section && step.parents.iter().all(is_before)
        });
        let at = joined.unwrap_or(items.len());
        if joined.is_none() {
            items.push(Item { members: Vec::new(), section });
        }
        items[at].members.push(number);
        item_of[number] = Some(at);
    }
    (items, item_of)
}

fn label(report: &Report<'_>, item: &Item) -> String {
    if let (Some(section), [_, _, ..]) = (item.section, &item.members[..]) {
        return format!("{}: {} computations", report.program.sections[section].name, item.members.len());
    }
    let number = item.members[0];
    let label = &report.program.computations[number].label;
    let name = if label.is_empty() { report.program.arguments(number) } else { label.clone() };
    format!("{number}: {name}")
}

/// The priority, and the transfers before the computation; of several the highest one, and the bytes of all transfers.
fn notes(report: &Report<'_>, item: &Item) -> Vec<String> {
    let [number] = item.members[..] else {
        let (priority, bytes) = report.plan.together(&item.members);
        let priority = priority.map(|priority| format!("priority {priority}"));
        return priority.into_iter().chain((bytes > 0).then(|| format::size(bytes) + " transferred")).collect();
    };
    let priority = report.plan.priority(report.program, number);
    let transfers = report.plan.steps[number].transfers.iter().map(|moved| {
        let array = &report.program.arrays[moved.array].name;
        format!("{array}: {} to {}, {}", moved.from, moved.to, format::size(moved.bytes()))
    });
    priority.into_iter().chain(transfers).collect()
}
