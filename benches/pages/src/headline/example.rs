//! Invented runs for tests.

use std::collections::BTreeMap;

use report::{BenchRow, Header, PRODUCT, ProgramRow};
use serde_json::{Map, Value, json};

use crate::stored::Stored;

/// A stored run with these rows.
pub fn run(question: &str, device: &str, rows: Vec<Value>) -> Stored {
    let header = Header {
        version: "0.1.0".into(),
        commit: "0123456789ab".into(),
        product: PRODUCT,
        command: "made up".into(),
        device: "X".into(),
        driver: "13.0".into(),
        driver_release: Some("580.1".into()),
        backend: "cuda".into(),
        environment: BTreeMap::new(),
    };
    let file = format!("reports/{question}/{device}/a.json");
    Stored { file, question: question.into(), device: device.into(), header, rows, rest: Map::new() }
}

/// A bench of one row.
pub fn bench(question: &str, device: &str, method: &str, p50_us: f64) -> Stored {
    let row = BenchRow {
        method: method.into(),
        direction: "h2d".into(),
        high_bytes: 64 << 10,
        samples: 300,
        p50_us: Some(p50_us),
        max_us: Some(10.0 * p50_us),
        idle_p50_us: Some(10.0),
        bulk_gbps: Some(49.0),
        raw_gbps: Some(50.0),
        ..BenchRow::default()
    };
    run(question, device, vec![json!(row)])
}

/// A program beside bulk on a side stream: medians of native idle, idle, native loaded and loaded copies.
pub fn contended(p50_us: [f64; 4]) -> Stored {
    let lines = [("native", "idle"), ("overtake", "idle"), ("native", "loaded"), ("overtake", "loaded")];
    let row = |((mode, phase), p50_us): ((&str, &str), f64)| {
        let row = ProgramRow {
            case: "H2D side".into(),
            mode: mode.into(),
            phase: phase.into(),
            samples: 600,
            p50_us: Some(p50_us),
            max_us: Some(2.0 * p50_us),
            ..ProgramRow::default()
        };
        json!(row)
    };
    run("contended", "h100", lines.into_iter().zip(p50_us).map(row).collect())
}
