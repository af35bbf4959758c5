//! Shows a plan as text and as JSON.

use graph::Location;
use overtake_plan::dag::{Moved, Plan, Program, Step};
use report::{Column, Table};
use serde::Serialize;

/// A plan, with the program and the choices that it is of.
pub struct Report<'a> {
    pub program: &'a Program,
    pub policies: Vec<&'static str>,
    pub devices: u8,
    pub plan: &'a Plan,
}

#[derive(Serialize)]
pub struct Json<'a> {
    version: &'static str,
    name: &'a str,
    policies: &'a [&'static str],
    devices: u8,
    computations: Vec<JsonStep<'a>>,
    totals: JsonTotals,
}

#[derive(Serialize)]
struct JsonStep<'a> {
    number: usize,
    line: usize,
    label: &'a str,
    uses: String,
    /// `null` for the host.
    device: Option<u8>,
    /// `null` for the host.
    stream: Option<u32>,
    parents: &'a [usize],
    joins: u32,
    priority: u8,
    is_priority_inherited: bool,
    is_skipped: bool,
    transfers: Vec<JsonMoved<'a>>,
}

#[derive(Serialize)]
struct JsonMoved<'a> {
    array: &'a str,
    first: u64,
    bytes: u64,
    /// `null` for the host.
    from: Option<u8>,
    to: Option<u8>,
}

#[derive(Serialize)]
struct JsonTotals {
    nodes: usize,
    edges: usize,
    frontier: usize,
    streams: usize,
    joins: u32,
    to_devices_bytes: u64,
    to_host_bytes: u64,
    between_devices_bytes: u64,
    computations_by_device: Vec<usize>,
}

fn device(location: Location) -> Option<u8> {
    match location {
        Location::Host => None,
        Location::Device(device) => Some(device),
    }
}

impl Report<'_> {
    pub fn json(&self) -> Json<'_> {
        let moved = |moved: &Moved| JsonMoved {
            array: &self.program.arrays[moved.array].name,
            first: moved.range.start,
            bytes: moved.bytes(),
            from: device(moved.from),
            to: device(moved.to),
        };
        let step = |(number, step): (usize, &'_ Step)| JsonStep {
            number,
            line: self.program.computations[number].line,
            label: &self.program.computations[number].label,
            uses: self.program.arguments(number),
            device: device(step.at),
            stream: step.stream,
            parents: &self.plan.steps[number].parents,
            joins: step.joins,
            priority: step.priority.get(),
            is_priority_inherited: step.priority > self.program.computations[number].priority,
            is_skipped: step.is_skipped,
            transfers: step.transfers.iter().map(moved).collect(),
        };
        let totals = self.plan.totals;
        Json {
            version: overtake::VERSION,
            name: &self.program.name,
            policies: &self.policies,
            devices: self.devices,
            computations: self.plan.steps.iter().enumerate().map(step).collect(),
            totals: JsonTotals {
                nodes: totals.nodes,
                edges: totals.edges,
                frontier: totals.frontier,
                streams: totals.streams,
                joins: totals.joins,
                to_devices_bytes: totals.to_devices_bytes,
                to_host_bytes: totals.to_host_bytes,
                between_devices_bytes: totals.between_devices_bytes,
                computations_by_device: self.by_device(),
            },
        }
    }

    fn by_device(&self) -> Vec<usize> {
        let on = |number| self.plan.steps.iter().filter(move |step| step.at == Location::Device(number)).count();
        (0..self.devices).map(on).collect()
    }

    pub fn text(&self) -> String {
        let mut table = Table::new(vec![
            Column::numbers("no."),
            Column::words("computation"),
            Column::words("device"),
            Column::words("stream"),
            Column::words("after"),
            Column::words("transfers (bytes)"),
        ]);
        for (number, step) in self.plan.steps.iter().enumerate() {
            let label = &self.program.computations[number].label;
            let parents: Vec<String> = step.parents.iter().map(usize::to_string).collect();
            let transfers: Vec<String> = step.transfers.iter().map(|moved| self.moved(moved)).collect();
            table.push([
                number.to_string(),
                format!("{label}{}", self.program.arguments(number)),
                step.at.to_string(),
                step.stream.map_or_else(String::new, |stream| stream.to_string()),
                if step.is_skipped { "nothing: no node".to_owned() } else { parents.join(" ") },
                transfers.join(", "),
            ]);
        }
        let name = if self.program.name.is_empty() { "the program" } else { &self.program.name };
        let by_device: Vec<String> = self.by_device().iter().map(usize::to_string).collect();
        let totals = self.plan.totals;
        format!(
            "{name}; devices: {}; policies: {}\n\n{table}\n\
             nodes {}, edges {}, frontier at the end {}; streams {}, joins {}\n\
             computations by device: {}\n\
             bytes: host to devices {}, devices to host {}, between devices {}\n",
            self.devices,
            self.policies.join(", "),
            totals.nodes,
            totals.edges,
            totals.frontier,
            totals.streams,
            totals.joins,
            by_device.join(" "),
            totals.to_devices_bytes,
            totals.to_host_bytes,
            totals.between_devices_bytes
        )
    }

    fn moved(&self, moved: &Moved) -> String {
        let array = &self.program.arrays[moved.array];
        let range = if moved.range == (0..array.bytes) {
            String::new()
        } else {
            format!("[{}..{}]", moved.range.start, moved.range.end)
        };
        format!("{}{range} {} -> {} {}", array.name, moved.from, moved.to, moved.bytes())
    }
}
