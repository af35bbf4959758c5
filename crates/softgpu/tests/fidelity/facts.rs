//! The measured rows, as data.

use serde::Deserialize;

/// All rows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// The permitted deviation of a figure, as a share of it.
    pub tolerance: f64,
    pub row: Vec<Row>,
    pub map: Vec<Map>,
    pub hang: Vec<Hang>,
}

/// A row with figures.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub id: String,
    pub sequence: String,
    #[serde(default)]
    pub method: String,
    #[serde(default)]
    pub chunk_kib: u64,
    /// The size of the urgent copy; 64 KiB if it is absent.
    pub urgent_kib: Option<u64>,
    #[serde(default)]
    pub priority: bool,
    #[serde(default)]
    pub direction: Direction,
    #[serde(default)]
    pub count: u64,
    #[serde(default)]
    pub sleep_us: u64,
    #[serde(default)]
    pub waits: u64,
    #[serde(default)]
    pub device_word: bool,
    pub p50_us: Option<f64>,
    /// The highest of several measurements, while `p50_us` is the lowest. The model may be anywhere between.
    pub p50_us_max: Option<f64>,
    pub bulk_gbps: Option<f64>,
}

/// The direction of the copies.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    #[default]
    H2d,
    D2h,
    Kernel,
}

/// A row of the queue map.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Map {
    pub id: String,
    #[serde(default)]
    pub direction: Direction,
    pub order: Vec<usize>,
    #[serde(default)]
    pub gap_us: u64,
    pub connections: Option<u32>,
    pub blocked: Vec<usize>,
}

/// A row of the deadlock table.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hang {
    pub id: String,
    pub design: String,
    pub streams: usize,
    pub threads: u32,
    pub connections: Option<u32>,
    pub copy_connections: Option<u32>,
    pub hangs: bool,
}

pub fn read() -> Facts {
    toml::from_str(include_str!("../../facts.toml")).expect("facts.toml is as this file describes it")
}
