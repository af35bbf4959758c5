//! The headline of a run: CUDA alone beside overtake, under the same conditions.

use serde::Serialize;
use serde_json::Number;

use super::cells::Cell;
use super::read::{Drawn, Stored};
use super::table::{Column, Grid};
use crate::views::{curve_name, direction_title, percent_of_raw};
use crate::{BenchRow, format};

/// One side of a headline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// The method, and the setting that tells it from others.
    pub method: String,
    /// Median of the urgent copies' latency.
    pub p50_us: f64,
    /// The 99th percentile, where there are enough samples.
    pub p99_us: Option<f64>,
    /// Bandwidth of bulk meanwhile, in percent of its bandwidth alone.
    pub bulk_percent: Option<f64>,
    /// Frames or tasks that missed their deadline.
    pub missed: Option<u64>,
}

/// The better of CUDA's own two ways beside the best of ours, by median.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Headline {
    /// Direction, sizes and the like, which both sides share.
    pub condition: String,
    /// CUDA alone.
    pub native: Side,
    /// overtake.
    pub ours: Side,
    /// The median of CUDA alone by ours: above 1, ours is shorter.
    pub ratio: f64,
}

/// CUDA's own ways beside bulk: equal streams, and the highest against the lowest priority.
const NATIVE: [&str; 2] = ["native", "native+priority"];
/// CUDA alone as well, in other forms: none of them is a headline.
const OTHERS: [&str; 4] = ["native again", "chunks", "chunks+dummy", "other engine"];

/// The properties that both sides share.
fn condition(row: &BenchRow) -> String {
    let size = |bytes: u64, what: &str| (bytes > 0).then(|| format!("{what}{}", format::size(bytes)));
    let words = [
        Some(direction_title(&row.direction).to_owned()),
        size(row.high_bytes, ""),
        row.burst.map(|burst| format!("bursts of {burst}")),
        row.priority.map(|priority| format!("priority {priority}")),
        size(row.bulk_bytes, "bulk "),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The headlines of a run, in the order of its rows.
#[must_use]
pub fn headlines(run: &Stored) -> Vec<Headline> {
    let rows = || run.drawn.iter().filter(|drawn| drawn.is_beside_bulk).map(|Drawn { row, .. }| row);
    let is_native = |row: &&BenchRow| NATIVE.contains(&row.method.as_str());
    let is_ours = |row: &&BenchRow| !is_native(row) && !OTHERS.contains(&row.method.as_str());
    let mut found: Vec<Headline> = Vec::new();
    for row in rows().filter(is_native) {
        let condition = condition(row);
        // A setting of the native row, such as the kind of memory, is a condition too. One that only our methods have
        // is theirs.
        let shares = |other: &&BenchRow| row.setting.is_none() || other.setting == row.setting;
        let is_same = |other: &&BenchRow| self::condition(other) == condition && shares(other);
        let is_pair = |other: &&BenchRow| self::condition(other) == condition && other.setting == row.setting;
        let name = match &row.setting {
            Some(setting) => format!("{condition}, {setting}"),
            None => condition.clone(),
        };
        if found.iter().any(|headline| headline.condition == name) {
            continue;
        }
        let native = best(rows().filter(is_native).filter(is_pair));
        let settled = |other: &&BenchRow| is_same(other) && !belongs_to_another(other, row, &condition, rows());
        if let (Some(native), Some(ours)) = (native, best(rows().filter(is_ours).filter(settled))) {
            found.push(Headline { condition: name, ratio: native.p50_us / ours.p50_us, native, ours });
        }
    }
    found
}

/// Whether a row of ours has the setting of another native row under the same condition.
fn belongs_to_another<'a>(
    ours: &BenchRow,
    native: &BenchRow,
    condition: &str,
    mut rows: impl Iterator<Item = &'a BenchRow>,
) -> bool {
    ours.setting != native.setting
        && rows.any(|row| {
            NATIVE.contains(&row.method.as_str()) && row.setting == ours.setting && self::condition(row) == condition
        })
}

fn best<'a>(rows: impl Iterator<Item = &'a BenchRow>) -> Option<Side> {
    let side = |row: &BenchRow| {
        Some(Side {
            method: curve_name(row),
            p50_us: row.p50_us.filter(|p50_us| *p50_us > 0.0)?,
            p99_us: row.p99_us,
            bulk_percent: percent_of_raw(row),
            missed: row.missed,
        })
    };
    rows.filter_map(side).min_by(|one, other| one.p50_us.total_cmp(&other.p50_us))
}

/// A line in words.
pub(super) fn words(headline: &Headline) -> String {
    let Headline { condition, native, ours, .. } = headline;
    let missed = |side: &Side| side.missed.map_or_else(String::new, |missed| format!(", {missed} missed"));
    let side = |side: &Side| format!("{} {}{}", side.method, format::span_us(side.p50_us), missed(side));
    format!("{condition}: {}, {}", side(ours), side(native))
}

const COLUMNS: [&str; 12] = [
    "run",
    "condition",
    "native",
    "native_p50_us",
    "native_p99_us",
    "ours",
    "ours_p50_us",
    "ours_p99_us",
    "native_by_ours",
    "ours_bulk_percent",
    "native_missed",
    "ours_missed",
];

/// The headlines of all runs as a table.
pub(super) fn grid(runs: &[(String, Vec<Headline>)]) -> Grid {
    let number = |value: Option<f64>| value.and_then(Number::from_f64).map(Cell::Number);
    let count = |value: Option<u64>| value.map(|value| Cell::Number(value.into()));
    let words = |text: &str| Some(Cell::Words(text.to_owned()));
    let row = |run: &str, Headline { condition, native, ours, ratio }: &Headline| {
        vec![
            words(run),
            words(condition),
            words(&native.method),
            number(Some(native.p50_us)),
            number(native.p99_us),
            words(&ours.method),
            number(Some(ours.p50_us)),
            number(ours.p99_us),
            number(Some(*ratio)),
            number(ours.bulk_percent),
            count(native.missed),
            count(ours.missed),
        ]
    };
    let rows = runs.iter().flat_map(|(run, found)| found.iter().map(move |headline| row(run, headline)));
    Grid { name: "headline".to_owned(), columns: COLUMNS.map(Column::of).to_vec(), rows: rows.collect() }
        .without_empty()
}
