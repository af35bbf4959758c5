//! The figures of a run, drawn from its rows: distributions, latency against bandwidth, and medians.

mod frontier;
mod medians;
mod tones;

use crate::figure::{LatencyFigure, Panel, Series};
use crate::{BenchRow, Distribution, Run, format};

pub use frontier::frontier;
pub use medians::{Measured, medians, of_run};
pub use tones::{meaning, tone};

use tones::tones;

/// The method of the urgent copy on an idle device.
pub const IDLE: &str = "idle";
/// The method of bulk without urgent copies.
pub const RAW: &str = "raw";
/// The method of the urgent copy while bulk goes the other way, on another engine. The difference to idle is the cost
/// of a busy host alone.
pub const OTHER_ENGINE: &str = "other engine";

/// More curves than this in a panel cannot be told apart.
const CURVES_MAX: usize = 11;

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

/// A line about the measurement.
#[must_use]
pub fn subtitle(run: &Run) -> String {
    let modelled = if run.header.backend == "soft" { ", modelled" } else { "" };
    format!("{}{}{modelled}", sizes(&run.rows), run.header.device)
}

/// The sizes of urgent copies and of bulk requests, each followed by a semicolon.
#[must_use]
pub fn sizes(rows: &[BenchRow]) -> String {
    let listed = |before: &str, bytes: fn(&BenchRow) -> u64| {
        let mut sizes: Vec<u64> = rows.iter().map(bytes).filter(|bytes| *bytes > 0).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let sizes: Vec<String> = sizes.into_iter().map(format::size).collect();
        if sizes.is_empty() { String::new() } else { format!("{before}{}; ", sizes.join(", ")) }
    };
    listed("urgent ", |row| row.high_bytes) + &listed("bulk requests of ", |row| row.bulk_bytes)
}

/// Bulk bandwidth in percent of the bandwidth of bulk alone.
#[must_use]
pub fn percent_of_raw(row: &BenchRow) -> Option<f64> {
    percent(row.bulk_gbps, row.raw_gbps)
}

/// Bandwidth of bulk and urgent work together, in percent of the bandwidth of bulk alone.
#[must_use]
pub fn percent_of_raw_together(row: &BenchRow) -> Option<f64> {
    percent(row.bulk_gbps.zip(row.urgent_gbps).map(|(bulk, urgent)| bulk + urgent), row.raw_gbps)
}

fn percent(part_gbps: Option<f64>, raw_gbps: Option<f64>) -> Option<f64> {
    let (part, raw) = part_gbps.zip(raw_gbps)?;
    (raw > 0.0).then(|| 100.0 * part / raw)
}

/// The values of `key` in the order of their first rows.
fn in_order<'a, K: PartialEq>(rows: impl IntoIterator<Item = &'a BenchRow>, key: impl Fn(&'a BenchRow) -> K) -> Vec<K> {
    let mut keys = Vec::new();
    for row in rows {
        let key = key(row);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// The condition of a row: direction, and the size of the urgent copy where rows differ in it.
#[must_use]
pub fn condition(rows: &[BenchRow], row: &BenchRow) -> String {
    let title = direction_title(&row.direction);
    let measured = |row: &&BenchRow| row.p50_us.is_some();
    let has_sizes = rows.iter().filter(measured).any(|other| other.high_bytes != row.high_bytes);
    if has_sizes { format!("{title}, {}", format::size(row.high_bytes)) } else { title.to_owned() }
}

/// Direction and urgent size of every panel, with its title.
fn panels(run: &Run) -> Vec<(String, u64, String)> {
    let measured: Vec<BenchRow> = run.rows.iter().filter(|row| row.p50_us.is_some()).cloned().collect();
    in_order(&measured, |row| (row.direction.clone(), row.high_bytes, condition(&measured, row)))
}

/// The name of a row's curve.
#[must_use]
pub fn curve_name(row: &BenchRow) -> String {
    let words = [Some(row.method.clone()), row.setting.clone()];
    let name = words.into_iter().flatten().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ");
    row.priority.map_or(name.clone(), |priority| format!("{name}, priority {priority}"))
}

/// The distribution of latencies, by method.
#[must_use]
pub fn latency_figure(run: &Run, title: &str) -> LatencyFigure {
    // The row of the other engine is for the table only: two grey curves could not be told apart.
    let is_shown = |row: &&BenchRow| row.method != OTHER_ENGINE && !row.latencies_ns.is_empty();
    let shown: Vec<&BenchRow> = run.rows.iter().filter(is_shown).collect();
    let tones = tones(shown.iter().map(|row| (curve_name(row), row.method.as_str())));
    let series = |row: &&BenchRow| {
        let name = curve_name(row);
        let tone = tones.iter().find(|(known, _)| *known == name)?.1;
        Some(Series::new(name, tone, Distribution::new(row.latencies_ns.clone())?))
    };
    let panel = |(direction, bytes, title): (String, u64, String)| {
        let is_its = |row: &&&BenchRow| row.direction == direction && row.high_bytes == bytes;
        let rows = || shown.iter().filter(is_its);
        let limit_us = rows().find_map(|row| row.deadline_us);
        Panel { title, series: rows().filter_map(series).collect(), gap: None, limit_us }
    };
    let panels = panels(run).into_iter().map(panel).filter(|panel| !panel.series.is_empty());
    LatencyFigure { title: title.to_owned(), subtitle: subtitle(run), panels: panels.collect() }
}

/// [`latency_figure`], or a figure for each method where one panel would have more curves than can be told apart.
#[must_use]
pub fn latency_figures(run: &Run, title: &str) -> Vec<LatencyFigure> {
    let whole = latency_figure(run, title);
    let is_crowded = |figure: &LatencyFigure| figure.panels.iter().any(|panel| panel.series.len() > CURVES_MAX);
    let methods = in_order(&run.rows, |row| row.method.clone());
    let figures = match is_crowded(&whole) && methods.len() > 1 {
        false => vec![whole],
        true => methods
            .into_iter()
            .map(|method| {
                let rows = run.rows.iter().filter(|row| row.method == method).cloned().collect();
                latency_figure(&Run { header: run.header.clone(), rows }, &format!("{title}: {method}"))
            })
            .collect(),
    };
    figures.into_iter().filter(|figure| !figure.panels.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Tone;

    pub(super) fn row(method: &str, p50_us: f64, bulk_gbps: f64) -> BenchRow {
        BenchRow {
            method: method.into(),
            direction: "h2d".into(),
            high_bytes: 65_536,
            p50_us: Some(p50_us),
            idle_p50_us: Some(10.0),
            bulk_gbps: Some(bulk_gbps),
            raw_gbps: Some(50.0),
            setting: (method != IDLE).then(|| "chunk_us=40".to_owned()),
            latencies_ns: vec![(p50_us * 1e3) as u64],
            ..BenchRow::default()
        }
    }

    pub(super) fn run(rows: Vec<BenchRow>) -> Run {
        let text = r#"{"header":{"version":"","commit":"","command":"","device":"x","driver":"","backend":"soft",
            "environment":{}},"rows":[]}"#;
        let run: Run = serde_json::from_str(text).unwrap();
        Run { rows, ..run }
    }

    #[test]
    fn curves_of_a_figure_have_colours_of_their_own() {
        let names = ["native", "kernel/hold", "overtake", "a new method", "another", IDLE];
        let figure = latency_figure(&run(names.map(|name| row(name, 9.0, 1.0)).to_vec()), "all");
        let tones: Vec<Tone> = figure.panels[0].series.iter().map(|series| series.tone).collect();
        assert_eq!((tones[0], tones[1], tones[5]), (Tone::Red, Tone::Green, Tone::Grey));
        let is_alone = |(index, tone)| tones.iter().position(|other| other == tone) == Some(index);
        assert!(tones.iter().enumerate().all(is_alone), "{tones:?}");
    }

    #[test]
    fn a_method_has_one_colour_in_all_figures() {
        let raw = BenchRow { p50_us: None, latencies_ns: Vec::new(), ..row(RAW, 0.0, 50.0) };
        let rows = ["a new method", "native", "another"].map(|name| BenchRow { setting: None, ..row(name, 9.0, 1.0) });
        let run = run([vec![raw], rows.to_vec()].concat());
        let curves = latency_figure(&run, "all").panels[0]
            .series
            .iter()
            .map(|it| (it.name.clone(), it.tone))
            .collect::<Vec<_>>();
        let clouds = frontier(&run).panels[0].clouds.iter().map(|it| (it.name.clone(), it.tone)).collect::<Vec<_>>();
        assert_eq!(curves, clouds);
    }

    #[test]
    fn crowded_panels_become_a_figure_for_each_method() {
        let rows = |method: &str, count: u8| -> Vec<BenchRow> {
            (0..count).map(|priority| BenchRow { priority: Some(priority), ..row(method, 9.0, 1.0) }).collect()
        };
        let few = run([rows("native", 3), rows("overtake", 4)].concat());
        assert_eq!(latency_figures(&few, "few").len(), 1);
        let many = latency_figures(&run([rows("native", 6), rows("overtake", 6)].concat()), "many");
        let curves: Vec<usize> = many.iter().map(|figure| figure.panels[0].series.len()).collect();
        assert_eq!(curves, [6, 6]);
    }

    #[test]
    fn a_deadline_stands_in_its_panel() {
        let due = BenchRow { deadline_us: Some(16_667.0), ..row("native", 9.0, 1.0) };
        let there = BenchRow { direction: "d2h".into(), ..row("native", 9.0, 1.0) };
        let limits: Vec<_> =
            latency_figure(&run(vec![due, there]), "both").panels.iter().map(|panel| panel.limit_us).collect();
        assert_eq!(limits, [Some(16_667.0), None]);
    }
}
