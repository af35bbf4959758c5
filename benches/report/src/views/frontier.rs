//! Latency against the bandwidth that bulk keeps: a dot for each setting of a method, and a line through them.

use super::{IDLE, OTHER_ENGINE, RAW, condition, in_order, percent_of_raw, subtitle, tones};
use crate::figure::{Cloud, Dot, Scatter, ScatterPanel, Tone};
use crate::{BenchRow, Run, format};

/// The conditions that the dots of a panel share.
#[derive(Clone, PartialEq)]
struct Condition {
    direction: String,
    urgent_bytes: u64,
    bulk_bytes: u64,
}

impl Condition {
    fn of(row: &BenchRow) -> Condition {
        Condition { direction: row.direction.clone(), urgent_bytes: row.high_bytes, bulk_bytes: row.bulk_bytes }
    }
}

/// The picture of a run, or of several whose rows are together: of equal settings the medians.
#[must_use]
pub fn frontier(run: &Run) -> Scatter {
    let is_dot = |row: &&BenchRow| ![IDLE, OTHER_ENGINE, RAW].contains(&row.method.as_str()) && place(row).is_some();
    let dots: Vec<&BenchRow> = run.rows.iter().filter(is_dot).collect();
    // In the order of the distributions, so that a method has one colour in both.
    let curves = run.rows.iter().filter(|row| row.p50_us.is_some() && row.method != OTHER_ENGINE);
    let tones = tones(in_order(curves, |row| row.method.as_str()).into_iter().map(|name| (name.to_owned(), name)));
    let mut conditions = in_order(dots.iter().copied(), Condition::of);
    let directions = in_order(dots.iter().copied(), |row| row.direction.as_str());
    conditions.sort_by_key(|one| {
        (directions.iter().position(|other| *other == one.direction), one.urgent_bytes, one.bulk_bytes)
    });
    let panel = |wanted: &Condition| {
        let its: Vec<&BenchRow> = dots.iter().copied().filter(|row| Condition::of(row) == *wanted).collect();
        let is_idle = |row: &&BenchRow| {
            row.method == IDLE && row.direction == wanted.direction && row.high_bytes == wanted.urgent_bytes
        };
        let idle_us = median(run.rows.iter().filter(is_idle).filter_map(|row| row.p50_us).collect());
        let sized = conditions.iter().any(|other| other.bulk_bytes != wanted.bulk_bytes);
        let bulk = if sized { format!(", bulk of {}", format::size(wanted.bulk_bytes)) } else { String::new() };
        let title = its.first().map_or_else(String::new, |row| condition(&run.rows, row));
        ScatterPanel { title: title + &bulk, clouds: clouds(&its, &tones), idle_us }
    };
    Scatter {
        title: "Latency of an urgent copy against the bandwidth that bulk keeps".to_owned(),
        subtitle: subtitle(run),
        panels: conditions.iter().map(panel).collect(),
    }
}

/// Bandwidth in percent, and latency.
fn place(row: &BenchRow) -> Option<(f64, f64)> {
    percent_of_raw(row).zip(row.p50_us)
}

/// The middle value, or the mean of the two in the middle.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some(f64::midpoint(values[last / 2], values[values.len() / 2]))
}

fn clouds(rows: &[&BenchRow], tones: &[(String, Tone)]) -> Vec<Cloud> {
    let cloud = |(name, tone): &(String, Tone)| {
        let its = || rows.iter().copied().filter(|row| row.method == *name);
        let dots = in_order(its(), |row| row.setting.as_deref()).into_iter().filter_map(|setting| {
            let same = || its().filter(|row| row.setting.as_deref() == setting).filter_map(place);
            let percent = median(same().map(|place| place.0).collect())?;
            let p50_us = median(same().map(|place| place.1).collect())?;
            Some(Dot { percent, p50_us, label: setting.map_or_else(String::new, label) })
        });
        let dots: Vec<Dot> = dots.collect();
        (!dots.is_empty()).then(|| Cloud { name: words(name).to_owned(), tone: *tone, dots })
    };
    tones.iter().filter_map(cloud).collect()
}

/// A method as a reader knows it.
fn words(method: &str) -> &str {
    match method {
        "native+priority" => "CUDA's highest against lowest stream priority",
        "overtake" => "overtake, by wait budget",
        other => other,
    }
}

/// The value of a setting: `60 us` of `wait_budget_us=60`.
fn label(setting: &str) -> String {
    let unit = |name: &str| if name.ends_with("_us") { " us" } else { "" };
    setting.split_once('=').map_or_else(String::new, |(name, value)| format!("{value}{}", unit(name)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{row, run};
    use super::*;

    #[test]
    fn a_method_has_a_line_through_its_settings_and_the_idle_device_one_across() {
        let figure = frontier(&run(vec![row(IDLE, 10.0, 0.0), row("engine/hold", 12.5, 45.0)]));
        let panel = &figure.panels[0];
        assert_eq!((panel.idle_us, panel.clouds.len()), (Some(10.0), 1));
        let dot = &panel.clouds[0].dots[0];
        assert_eq!((dot.label.as_str(), dot.percent), ("40 us", 90.0));
    }

    #[test]
    fn each_size_of_bulk_has_a_panel_and_equal_settings_one_dot() {
        let sized = |bulk_bytes, p50_us| BenchRow { bulk_bytes, ..row("overtake", p50_us, 40.0) };
        let rows = vec![row(IDLE, 9.0, 0.0), sized(4 << 20, 22.0), sized(2 << 20, 30.0), sized(4 << 20, 26.0)];
        let panels = frontier(&run([rows, vec![row(IDLE, 11.0, 0.0)]].concat())).panels;
        let shown: Vec<_> = panels.iter().map(|panel| (panel.title.as_str(), panel.clouds[0].dots.len())).collect();
        assert_eq!(shown, [("host to device, bulk of 2 MiB", 1), ("host to device, bulk of 4 MiB", 1)]);
        assert_eq!((panels[1].clouds[0].dots[0].p50_us, panels[1].idle_us), (24.0, Some(10.0)));
    }
}
