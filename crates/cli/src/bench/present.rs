//! Shows rows as a table and as pictures. Everything is drawn from the rows, as it could be from a saved file.

use clap::ValueEnum;
use report::figure::{Cloud, Dot, LatencyFigure, Panel, Scatter, ScatterPanel, Series, Tone};
use report::{BenchRow, Column, Distribution, Run, Table, format};

use super::catalogue::{IDLE, MethodName, OTHER_ENGINE};

/// Columns of a picture in the terminal.
const TEXT_WIDTH: usize = 104;

/// The title of a direction.
#[must_use]
pub fn direction_title(name: &str) -> &str {
    match name {
        "h2d" => "host to device",
        "d2h" => "device to host",
        "both" => "both directions",
        "d2d" => "on the device",
        "p2p" => "between devices",
        other => other,
    }
}

fn tone(method: &str) -> Tone {
    MethodName::ALL.into_iter().find(|name| name.label().method == method).map_or(Tone::Grey, MethodName::tone)
}

/// A line about the measurement.
#[must_use]
pub fn subtitle(run: &Run) -> String {
    let bulk = run.rows.iter().map(|row| row.bulk_bytes).max().unwrap_or(0);
    let mut sizes: Vec<u64> = run.rows.iter().map(|row| row.high_bytes).filter(|bytes| *bytes > 0).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let sizes: Vec<String> = sizes.into_iter().map(format::size).collect();
    let modelled = if run.header.backend == "soft" { ", modelled" } else { "" };
    let urgent = if sizes.is_empty() { String::new() } else { format!("urgent {}; ", sizes.join(", ")) };
    format!("{urgent}bulk requests of {}; {}{modelled}", format::size(bulk), run.header.device)
}

/// The content of a column for a row.
type Cell = fn(&BenchRow) -> String;

const NONE: &str = "-";

fn optional(value: Option<f64>, show: fn(f64) -> String) -> String {
    value.map_or(NONE.to_owned(), show)
}

fn over(value: Option<f64>, reference: Option<f64>) -> String {
    let ratio = value.zip(reference).map(|(value, reference)| value / reference);
    ratio
        .filter(|ratio| ratio.is_finite())
        .map_or(NONE.to_owned(), |ratio| if ratio < 9.995 { format!("{ratio:.2}") } else { format::grouped(ratio, 0) })
}

/// Bulk bandwidth in percent of the bandwidth of bulk alone.
#[must_use]
pub fn percent_of_raw(row: &BenchRow) -> Option<f64> {
    let (bulk, raw) = row.bulk_gbps.zip(row.raw_gbps)?;
    (raw > 0.0).then(|| 100.0 * bulk / raw)
}

fn percent(value: Option<f64>) -> String {
    optional(value, |percent| format!("{percent:.1}"))
}

/// Name, whether it is text, and content of every possible column. Columns that stay empty are left out.
const COLUMNS: &[(&str, bool, Cell)] = &[
    ("direction", true, |row| row.direction.clone()),
    ("method", true, |row| row.method.clone()),
    ("setting", true, |row| row.setting.clone().unwrap_or_default()),
    ("priority", false, |row| row.priority.map_or(NONE.to_owned(), |priority| priority.to_string())),
    ("urgent", false, |row| if row.high_bytes == 0 { NONE.to_owned() } else { format::size(row.high_bytes) }),
    ("copies", false, |row| row.burst.map_or(NONE.to_owned(), |burst| burst.to_string())),
    ("bulk", false, |row| if row.bulk_bytes == 0 { NONE.to_owned() } else { format::size(row.bulk_bytes) }),
    ("chunk", false, |row| row.chunk_bytes.map_or(NONE.to_owned(), format::size)),
    ("samples", false, |row| if row.samples == 0 { NONE.to_owned() } else { format::grouped(row.samples as f64, 0) }),
    ("p50 us", false, |row| optional(row.p50_us, format::us)),
    ("p90 us", false, |row| optional(row.p90_us, format::us)),
    ("p99 us", false, |row| optional(row.p99_us, format::us)),
    ("max us", false, |row| optional(row.max_us, format::us)),
    ("enqueue us", false, |row| optional(row.enqueue_p50_us, format::us)),
    ("p50/idle", false, |row| over(row.p50_us, row.idle_p50_us)),
    ("p99/idle", false, |row| over(row.p99_us, row.idle_p99_us)),
    ("call ns", false, |row| optional(row.call_ns, |ns| format::grouped(ns, 0))),
    ("bulk GB/s", false, |row| optional(row.bulk_gbps, |gbps| format!("{gbps:.2}"))),
    ("% of raw", false, |row| percent(percent_of_raw(row))),
    ("% promised", false, |row| percent(row.share_configured.map(|share| 100.0 * share))),
    ("due", false, |row| row.due.map_or(NONE.to_owned(), |due| format::grouped(due as f64, 0))),
    ("missed", false, |row| row.missed.map_or(NONE.to_owned(), |missed| format::grouped(missed as f64, 0))),
    ("ratio", false, |row| optional(row.ratio.map(|ratio| ratio.median), |ratio| format!("{ratio:.3}"))),
    ("from - to", false, |row| row.ratio.map_or(NONE.to_owned(), |it| format!("{:.3} - {:.3}", it.least, it.most))),
    ("rescues", false, |row| if row.rescues == 0 { NONE.to_owned() } else { row.rescues.to_string() }),
];

/// The table of a run.
#[must_use]
pub fn table(run: &Run) -> Table {
    let is_used = |cell: &Cell| run.rows.iter().any(|row| !matches!(cell(row).as_str(), NONE | ""));
    let used: Vec<_> = COLUMNS.iter().filter(|(_, _, cell)| is_used(cell)).collect();
    let column = |&&(name, is_word, _): &&(&'static str, bool, Cell)| {
        if is_word { Column::words(name) } else { Column::numbers(name) }
    };
    let mut table = Table::new(used.iter().map(column).collect());
    for row in &run.rows {
        table.push(used.iter().map(|(_, _, cell)| cell(row)));
    }
    table
}

/// The values of `key` in the order of their first rows.
fn in_order<K: PartialEq>(rows: &[BenchRow], key: impl Fn(&BenchRow) -> K) -> Vec<K> {
    let mut keys = Vec::new();
    for row in rows {
        let key = key(row);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

fn panel_title(direction: &str, high_bytes: u64, has_sizes: bool) -> String {
    let title = direction_title(direction);
    if has_sizes { format!("{title}, {}", format::size(high_bytes)) } else { title.to_owned() }
}

/// Direction and urgent size of every panel, with its title.
fn panels(run: &Run) -> Vec<(String, u64, String)> {
    let measured: Vec<BenchRow> = run.rows.iter().filter(|row| row.p50_us.is_some()).cloned().collect();
    let keys = in_order(&measured, |row| (row.direction.clone(), row.high_bytes));
    let has_sizes = in_order(&measured, |row| row.high_bytes).len() > 1;
    let title = |(direction, bytes): (String, u64)| {
        let title = panel_title(&direction, bytes, has_sizes);
        (direction, bytes, title)
    };
    keys.into_iter().map(title).collect()
}

/// The distribution of latencies, by method.
#[must_use]
pub fn latency_figure(run: &Run, title: &str) -> LatencyFigure {
    let panel = |(direction, bytes, title): (String, u64, String)| {
        // The row of the other engine is for the table only: two grey curves could not be told apart.
        let is_its =
            |row: &&BenchRow| row.direction == direction && row.high_bytes == bytes && row.method != OTHER_ENGINE;
        Panel { title, series: run.rows.iter().filter(is_its).filter_map(series).collect(), gap: None }
    };
    LatencyFigure {
        title: title.to_owned(),
        subtitle: subtitle(run),
        panels: panels(run).into_iter().map(panel).collect(),
    }
}

/// The same figure as text.
#[must_use]
pub fn latency_text(run: &Run, title: &str) -> String {
    latency_figure(run, title).to_text(TEXT_WIDTH)
}

fn series(row: &BenchRow) -> Option<Series> {
    let name = [Some(row.method.clone()), row.setting.clone()].into_iter().flatten().collect::<Vec<_>>().join(", ");
    let name = row.priority.map_or(name.clone(), |priority| format!("{name}, priority {priority}"));
    Some(Series::new(name, tone(&row.method), Distribution::new(row.latencies_ns.clone())?))
}

/// Latency against bulk bandwidth, one cloud for each method.
#[must_use]
pub fn frontier(run: &Run) -> Scatter {
    let panel = |(direction, bytes, title): (String, u64, String)| {
        let rows: Vec<&BenchRow> =
            run.rows.iter().filter(|row| row.direction == direction && row.high_bytes == bytes).collect();
        let idle_us = rows.iter().find(|row| row.method == IDLE).and_then(|row| row.p50_us);
        ScatterPanel { title, clouds: clouds(&rows), idle_us }
    };
    Scatter {
        title: "Latency against the bandwidth of bulk (a stem's foot: the caller's own enqueueing)".to_owned(),
        subtitle: subtitle(run),
        panels: panels(run).into_iter().map(panel).collect(),
    }
}

fn clouds(rows: &[&BenchRow]) -> Vec<Cloud> {
    let dot = |row: &&BenchRow| {
        let label = row.setting.as_deref().and_then(|setting| setting.split_once('=')).map_or("", |(_, value)| value);
        let (percent, p50_us) = percent_of_raw(row).zip(row.p50_us)?;
        Some(Dot { percent, p50_us, enqueue_us: row.enqueue_p50_us, label: label.to_owned() })
    };
    let names = MethodName::value_variants().iter().map(|method| method.label().method);
    let cloud = |name: &str| {
        let dots: Vec<Dot> = rows.iter().filter(|row| row.method == name).filter_map(dot).collect();
        (!dots.is_empty()).then(|| Cloud { name: name.to_owned(), tone: tone(name), dots })
    };
    names.filter_map(cloud).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(method: &str, p50_us: f64, bulk_gbps: f64) -> BenchRow {
        BenchRow {
            method: method.into(),
            direction: "h2d".into(),
            high_bytes: 65_536,
            p50_us: Some(p50_us),
            idle_p50_us: Some(10.0),
            bulk_gbps: Some(bulk_gbps),
            raw_gbps: Some(50.0),
            setting: (method != IDLE).then(|| "max_blocking_us=40".to_owned()),
            ..BenchRow::default()
        }
    }

    fn run() -> Run {
        let text = r#"{"header":{"version":"","commit":"","command":"","device":"x","driver":"","backend":"soft",
            "environment":{}},"rows":[]}"#;
        let run: Run = serde_json::from_str(text).unwrap();
        Run { rows: vec![row(IDLE, 10.0, 0.0), row("engine/hold", 12.5, 45.0)], ..run }
    }

    #[test]
    fn columns_without_content_are_left_out() {
        let text = table(&run()).to_string();
        assert!(text.contains("p50/idle") && text.contains("1.25") && text.contains("90.0"), "{text}");
        assert!(!text.contains("call ns") && !text.contains("priority"), "{text}");
    }

    #[test]
    fn the_frontier_has_a_cloud_for_each_method_and_the_idle_line() {
        let figure = frontier(&run());
        let panel = &figure.panels[0];
        assert_eq!((panel.idle_us, panel.clouds.len()), (Some(10.0), 1));
        assert_eq!((panel.clouds[0].dots[0].label.as_str(), panel.clouds[0].dots[0].percent), ("40", 90.0));
    }
}
