//! What the demo measures: in both directions, idle, behind bulk, and behind bulk with CUDA's own stream priorities.

use std::sync::Arc;

use channels::Direction;
use channels::probe::{HOST_DIRECTIONS, Rig, STREAM_PRIORITY_DEFAULT};
use hal::{PriorityRange, Result};
use report::{BenchRow, Distribution, Summary};

use crate::bench::{Load, Measured, Method, Native, Scenario};

/// The urgent copy on an idle device.
pub const IDLE: &str = "idle";
/// The bulk without urgent copies.
pub const RAW: &str = "bulk alone";
/// The urgent copy behind bulk, equal stream priorities.
pub const EQUAL: &str = "native";
/// The urgent copy behind bulk, highest against lowest stream priority.
pub const PRIORITIES: &str = "native, stream priorities";

/// A scenario, and where it goes in the table.
pub struct Case {
    /// What runs.
    pub scenario: Scenario,
    /// Which way.
    pub direction: Direction,
    /// One of the names above.
    pub method: &'static str,
}

/// All cases of all directions, in the order of the table.
pub fn cases(rig: &Arc<Rig>, bytes: (u64, u64), range: PriorityRange) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for direction in HOST_DIRECTIONS {
        let equal = (STREAM_PRIORITY_DEFAULT, STREAM_PRIORITY_DEFAULT);
        let native: Arc<dyn Method> = Arc::new(Native::new(rig, direction, equal, bytes)?);
        let apart = (range.greatest, range.least);
        let priorities: Arc<dyn Method> = Arc::new(Native::new(rig, direction, apart, bytes)?);
        // Copies behind bulk take a thousand times longer: more time, or there are too few samples for a p99.
        let plan = [
            (IDLE, Load::Urgent, &native, 1),
            (RAW, Load::Bulk, &native, 1),
            (EQUAL, Load::Both, &native, 4),
            (PRIORITIES, Load::Both, &priorities, 4),
        ];
        for (method, load, by, weight) in plan {
            let name = format!("{}: {method}", direction.name());
            let scenario = Scenario { name, load, method: Arc::clone(by), weight };
            cases.push(Case { scenario, direction, method });
        }
    }
    Ok(cases)
}

/// The rows of the cases, each with the references of its direction.
pub fn rows(cases: &[Case], measured: &[Measured]) -> Vec<BenchRow> {
    let all = || cases.iter().zip(measured);
    let of = |direction: Direction, load: Load| {
        all().find(|(case, _)| case.direction == direction && case.scenario.load == load).map(|(_, measured)| measured)
    };
    let row = |(case, measured): (&Case, &Measured)| {
        let idle = of(case.direction, Load::Urgent).and_then(latency);
        let raw = of(case.direction, Load::Bulk).and_then(|measured| measured.bulk.gbps());
        row(case, measured, idle, raw)
    };
    all().map(row).collect()
}

fn latency(measured: &Measured) -> Option<Summary> {
    Distribution::new(measured.urgent.latency_ns.clone()).map(|latency| latency.summary())
}

fn row(case: &Case, measured: &Measured, idle: Option<Summary>, raw_gbps: Option<f64>) -> BenchRow {
    let Scenario { load, method, .. } = &case.scenario;
    let mut row = BenchRow {
        method: case.method.to_owned(),
        transport: "engine".to_owned(),
        emulation: "none".to_owned(),
        direction: case.direction.name().to_owned(),
        high_bytes: if *load == Load::Bulk { 0 } else { method.urgent_bytes() },
        bulk_bytes: if *load == Load::Urgent { 0 } else { method.bulk_bytes() },
        bulk_gbps: measured.bulk.gbps(),
        raw_gbps,
        ..BenchRow::default()
    };
    if let Some(latency) = Distribution::new(measured.urgent.latency_ns.clone()) {
        row = row.with_latency(latency.summary());
        row.latencies_us = latency.sorted_ns().iter().map(|ns| *ns as f64 / 1e3).collect();
    }
    if let Some(idle) = idle {
        row = row.with_idle(idle);
    }
    let enqueue = Distribution::new(measured.urgent.enqueue_ns.clone());
    row.enqueue_p50_us = enqueue.map(|enqueue| enqueue.summary().p50_us);
    row
}
