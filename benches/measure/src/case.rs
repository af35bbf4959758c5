//! Cases: scenarios with a place in the table, and their rows.

use std::sync::Arc;

use crate::rig::STREAM_PRIORITY_DEFAULT;
use hal::Result;
use overtake::Options;
use priority::Direction;
use report::{BenchRow, Distribution, Summary};

use super::catalogue::{IDLE, Label, MethodName, OTHER_ENGINE, RAW, Workshop};
use super::flow::Cargo;
use super::method::Method;
use super::native::{Cut, Native};
use super::runner::{Load, Measured, Scenario};
use super::urgent::STARVED;

/// The words that count urgent copies and bulk requests.
pub const URGENT_WORD: usize = 1;
/// The word that counts bulk requests.
pub const BULK_WORD: usize = 2;

/// A scenario, and the parts of its row that are not measured.
pub struct Case {
    /// The method's name in notes.
    pub name: String,
    pub scenario: Scenario,
    pub label: Label,
    pub direction: Direction,
    /// Sizes of the urgent copy and of the bulk request.
    pub bytes: (u64, u64),
    /// The setting that distinguishes it from other cases of the same method.
    pub setting: Option<String>,
    /// The size of chunks that the bench itself cuts.
    pub chunk_bytes: Option<u64>,
}

/// Sizes and lanes of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    pub direction: Direction,
    /// Bytes of an urgent copy, and the lane it uses.
    pub urgent: (u64, usize),
    /// Bytes of a bulk request, and the lane it uses.
    pub bulk: (u64, usize),
}

impl Sizes {
    /// The cargo of the urgent copies and that of the bulk.
    #[must_use]
    pub fn cargo(self) -> (Cargo, Cargo) {
        let of = |(bytes, lane), word| Cargo { direction: self.direction, lane, bytes, word };
        (of(self.urgent, URGENT_WORD), of(self.bulk, BULK_WORD))
    }

    /// A case of these sizes.
    #[must_use]
    pub fn case(self, label: Label, load: Load, method: &Arc<dyn Method>, weight: u32) -> Case {
        let name = format!("{}: {}", self.direction.name(), label.method);
        Case {
            name: label.method.to_owned(),
            scenario: Scenario { name, load, method: Arc::clone(method), weight },
            label,
            direction: self.direction,
            bytes: (self.urgent.0, self.bulk.0),
            setting: None,
            chunk_bytes: None,
        }
    }

    /// The idle reference: the urgent copy of two plain streams.
    pub fn idle(self, shop: &Workshop) -> Result<Case> {
        let native = MethodName::Native.make(shop, &shop.options, self.cargo())?;
        Ok(self.case(Label::plain(IDLE), Load::Urgent, &native, 2))
    }

    /// The raw reference: the bulk requests of two plain streams.
    pub fn raw(self, shop: &Workshop) -> Result<Case> {
        let native = MethodName::Native.make(shop, &shop.options, self.cargo())?;
        Ok(self.case(Label::plain(RAW), Load::Bulk, &native, 2))
    }

    /// The reference for a busy host: the urgent copy of a plain stream while bulk goes the other way.
    pub fn other_engine(self, shop: &Workshop) -> Result<Case> {
        let (urgent, bulk) = self.cargo();
        let direction = match bulk.direction {
            Direction::HostToDevice => Direction::DeviceToHost,
            _ => Direction::HostToDevice,
        };
        let priorities = (STREAM_PRIORITY_DEFAULT, STREAM_PRIORITY_DEFAULT);
        let native = Native::new(&shop.ground, priorities, (urgent, Cargo { direction, ..bulk }), Cut::Whole)?;
        let method: Arc<dyn Method> = Arc::new(native);
        Ok(self.case(Label::plain(OTHER_ENGINE), Load::Both, &method, 2))
    }

    /// A method under a load. `setting` names its options in the table.
    pub fn method(
        self,
        shop: &Workshop,
        name: MethodName,
        load: Load,
        options: &Options,
        setting: Option<String>,
    ) -> Result<Case> {
        let method = name.make(shop, options, self.cargo())?;
        // Copies behind bulk take a thousand times longer. They get more time, so that there are enough samples for a
        // p99.
        let mut case = self.case(name.label(), load, &method, if name.is_slow() { 4 } else { 2 });
        if let Some(setting) = &setting {
            case.scenario.name = format!("{} ({setting})", case.scenario.name);
        }
        case.chunk_bytes = name.own_chunk_bytes(options);
        Ok(Case { setting, ..case })
    }
}

/// The rows of the cases, each with the references of its direction and sizes. Cases that could not be measured here
/// have none.
pub fn rows(cases: &[Case], measured: &[Measured], burst: u32) -> Vec<BenchRow> {
    let all = || cases.iter().zip(measured).filter(|(_, measured)| measured.unavailable.is_none());
    let idle = |of: &Case| {
        let is_its =
            |case: &Case| case.label.method == IDLE && case.direction == of.direction && case.bytes.0 == of.bytes.0;
        all().find(|(case, _)| is_its(case)).and_then(|(_, measured)| latency(measured))
    };
    let raw = |of: &Case| {
        // Bulk that goes the other way has its reference in the rows of the other direction.
        if of.label.method == OTHER_ENGINE {
            return None;
        }
        let is_its =
            |case: &Case| case.label.method == RAW && case.direction == of.direction && case.bytes.1 == of.bytes.1;
        all().find(|(case, _)| is_its(case)).and_then(|(_, measured)| measured.bulk.gbps())
    };
    let row = |(case, measured): (&Case, &Measured)| {
        let burst = (burst > 1 && case.scenario.load != Load::Bulk).then_some(burst);
        BenchRow { burst, ..row(case, measured, idle(case), raw(case)) }
    };
    all().map(row).collect()
}

/// The cases that could not be measured, with reasons; each method once.
pub fn notes(cases: &[Case], measured: &[Measured]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for (case, measured) in cases.iter().zip(measured) {
        if let Some(reason) = &measured.unavailable {
            notes.push(format!("{} is left out: {reason}", case.name));
        }
        if measured.tally.stood_down {
            notes.push(format!("{} stood down to plain copies: its row mixes both", case.scenario.name));
        }
        if measured.urgent.starved > 0 {
            let (starved, all, ms) = (measured.urgent.starved, measured.urgent.latency_ns.len(), STARVED.0 / 1_000_000);
            notes.push(format!(
                "{}: {starved} of {all} urgent copies were not complete after {ms} ms; bulk paused to let them go",
                case.scenario.name
            ));
        }
        let strays: u64 = measured.tally.fallbacks.values().sum();
        if strays > 0 {
            let reasons: Vec<&str> = measured.tally.fallbacks.keys().map(String::as_str).collect();
            notes.push(format!("{}: {strays} copies went natively ({})", case.scenario.name, reasons.join(", ")));
        }
    }
    notes.dedup();
    notes.sort();
    notes.dedup();
    notes
}

fn latency(measured: &Measured) -> Option<Summary> {
    Distribution::new(measured.urgent.latency_ns.clone()).map(|latency| latency.summary())
}

fn row(case: &Case, measured: &Measured, idle: Option<Summary>, raw_gbps: Option<f64>) -> BenchRow {
    let load = case.scenario.load;
    let chunk_bytes = case.chunk_bytes.or(measured.tally.chunk_bytes());
    let mut row = BenchRow {
        method: case.label.method.to_owned(),
        transport: case.label.transport.to_owned(),
        urgent_transport: case.label.urgent_transport.map(str::to_owned),
        emulation: case.label.emulation.to_owned(),
        direction: case.direction.name().to_owned(),
        high_bytes: if load == Load::Bulk { 0 } else { case.bytes.0 },
        bulk_bytes: if load == Load::Urgent { 0 } else { case.bytes.1 },
        chunk_bytes: chunk_bytes.filter(|size| load != Load::Urgent && *size < case.bytes.1),
        bulk_gbps: measured.bulk.gbps(),
        raw_gbps,
        rescues: measured.tally.rescues,
        starved: measured.urgent.starved,
        fallbacks: measured.tally.fallbacks.clone(),
        setting: case.setting.clone(),
        ..BenchRow::default()
    };
    fill_latency(&mut row, &measured.urgent.latency_ns, &measured.urgent.enqueue_ns);
    idle.map(|idle| row.clone().with_idle(idle)).unwrap_or(row)
}

/// Puts latencies and the enqueue share into a row.
pub fn fill_latency(row: &mut BenchRow, latency_ns: &[u64], enqueue_ns: &[u64]) {
    if let Some(latency) = Distribution::new(latency_ns.to_vec()) {
        *row = std::mem::take(row).with_latency(latency.summary());
        row.latencies_ns = latency.sorted_ns().to_vec();
    }
    row.enqueue_p50_us = Distribution::new(enqueue_ns.to_vec()).map(|enqueue| enqueue.summary().p50_us);
}
