//! A plan as text for Graphviz.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use graph::Location;
use priority::Priority;

use super::program::Program;
use super::step::Plan;

/// A node of the picture: a computation, or a section with all in it.
struct Item {
    key: String,
    label: String,
    colour: u32,
    /// None of a section with computations in several places.
    at: Option<Location>,
    /// The section that is drawn around it.
    within: Option<usize>,
}

impl Plan {
    /// The plan in the language of Graphviz's `dot`: a box for each device, a colour for each stream, transfers at the
    /// edges into the computation that they are for. Sections are boxes up to so many in each other; one that is deeper
    /// is a node with all that is in it.
    #[must_use]
    pub fn dot(&self, program: &Program, depth: usize) -> String {
        let mut text =
            format!("digraph {:?} {{\n  node [shape=box, style=filled, colorscheme=set312];\n", program.name);
        let items = self.items(program, depth);
        let mut places: Vec<Location> = self.steps.iter().map(|step| step.at).collect();
        places.sort_unstable();
        places.dedup();
        for place in places {
            let title = if place == Location::Host { "host".to_owned() } else { format!("device {place}") };
            let _ = writeln!(text, "  subgraph \"cluster {place}\" {{\n    label={title:?};");
            let here: Vec<&Item> = items.iter().filter(|item| item.at == Some(place)).collect();
            draw(&mut text, program, &here, &place.to_string(), None, "    ");
            text += "  }\n";
        }
        let elsewhere: Vec<&Item> = items.iter().filter(|item| item.at.is_none()).collect();
        draw(&mut text, program, &elsewhere, "several", None, "  ");
        self.draw_edges(&mut text, program, depth);
        text + "}\n"
    }

    /// The node that a computation is in: its own, or that of a section.
    fn key(program: &Program, number: usize, depth: usize) -> (String, Option<usize>) {
        let section = program.sections_around(number).get(depth).copied();
        (section.map_or(number.to_string(), |section| format!("s{section}")), section)
    }

    fn items(&self, program: &Program, depth: usize) -> Vec<Item> {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut items = Vec::new();
        for (number, step) in self.steps.iter().enumerate().filter(|(_, step)| !step.is_skipped) {
            let (key, group) = Plan::key(program, number, depth);
            if let Some(section) = group {
                groups.entry(section).or_default().push(number);
                continue;
            }
            let colour = step.stream.map_or(9, |stream| stream % 12 + 1);
            let (label, within) = (self.label(program, number), program.computations[number].section);
            items.push(Item { key, label, colour, at: Some(step.at), within });
        }
        items.extend(groups.into_iter().map(|(section, members)| self.group(program, section, &members)));
        items
    }

    /// A section as one node: how many computations it has, the highest priority, and the bytes of all transfers.
    fn group(&self, program: &Program, section: usize, members: &[usize]) -> Item {
        let mut label = format!("{}\n{} computations", program.sections[section].name, members.len());
        let (priority, bytes) = self.together(members);
        if let Some(priority) = priority {
            let _ = write!(label, "\npriority {priority}");
        }
        if bytes > 0 {
            let _ = write!(label, "\n{bytes} bytes transferred");
        }
        let steps = || members.iter().map(|number| &self.steps[*number]);
        let at = steps().next().map(|step| step.at).filter(|at| steps().all(|step| step.at == *at));
        Item { key: format!("s{section}"), label, colour: 9, at, within: program.sections[section].parent }
    }

    /// The highest priority of some computations, if it is not the lowest, and the bytes of all their transfers.
    #[must_use]
    pub fn together(&self, members: &[usize]) -> (Option<Priority>, u64) {
        let steps = || members.iter().map(|number| &self.steps[*number]);
        let priority = steps().map(|step| step.priority).max().filter(|priority| *priority > Priority::LOWEST);
        (priority, steps().flat_map(|step| &step.transfers).map(super::step::Moved::bytes).sum())
    }

    fn draw_edges(&self, text: &mut String, program: &Program, depth: usize) {
        let mut drawn = BTreeSet::new();
        for (number, step) in self.steps.iter().enumerate() {
            for parent in &step.parents {
                let [(from, first), (to, then)] = [*parent, number].map(|number| Plan::key(program, number, depth));
                let is_plain = first.is_some() || then.is_some() || self.steps[*parent].stream == step.stream;
                let style = if is_plain { "" } else { " [style=dashed]" };
                if from != to && drawn.insert((from.clone(), to.clone())) {
                    let _ = writeln!(text, "  {from} -> {to}{style};");
                }
            }
        }
    }

    /// The priority of a computation in words, if it is not the lowest.
    #[must_use]
    pub fn priority(&self, program: &Program, number: usize) -> Option<String> {
        let (own, priority) = (program.computations[number].priority, self.steps[number].priority);
        let inherited = if priority > own { " inherited" } else { "" };
        (priority > Priority::LOWEST).then(|| format!("priority {priority}{inherited}"))
    }

    /// The number, the label, the stream and the transfers of a computation, a line each.
    fn label(&self, program: &Program, number: usize) -> String {
        let (step, computation) = (&self.steps[number], &program.computations[number]);
        let name = if computation.label.is_empty() { program.arguments(number) } else { computation.label.clone() };
        let mut label = format!("{number}: {name}");
        if let Some(stream) = step.stream {
            let _ = write!(label, "\nstream {stream}");
        }
        if let Some(priority) = self.priority(program, number) {
            let _ = write!(label, "\n{priority}");
        }
        for moved in &step.transfers {
            let array = &program.arrays[moved.array].name;
            let _ = write!(label, "\n{array}: {} -> {}, {} bytes", moved.from, moved.to, moved.bytes());
        }
        label
    }
}

/// Draws the nodes that stand directly in a section, or in none, and then the sections in it.
fn draw(text: &mut String, program: &Program, items: &[&Item], place: &str, within: Option<usize>, indent: &str) {
    for Item { key, label, colour, .. } in items.iter().filter(|item| item.within == within) {
        let _ = writeln!(text, "{indent}{key} [label={label:?}, fillcolor={colour}];");
    }
    let is_in = |section: usize, inner: Option<usize>| {
        std::iter::successors(inner, |inner| program.sections[*inner].parent).any(|inner| inner == section)
    };
    for (number, section) in program.sections.iter().enumerate().filter(|(_, section)| section.parent == within) {
        if items.iter().any(|item| is_in(number, item.within)) {
            let _ = writeln!(text, "{indent}subgraph \"cluster {place} s{number}\" {{");
            let _ = writeln!(text, "{indent}  label={:?};", section.name);
            draw(text, program, items, place, Some(number), &format!("{indent}  "));
            let _ = writeln!(text, "{indent}}}");
        }
    }
}
