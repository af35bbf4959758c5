//! Shows rows as a table and as pictures. Everything is drawn from the rows, as it could be from a saved file.

pub use report::views::{direction_title, frontier, latency_figure, percent_of_raw, percent_of_raw_together, subtitle};
use report::{BenchRow, Column, Run, Table, format};

/// Columns of a picture in the terminal.
const TEXT_WIDTH: usize = 104;

/// What a column shows of a row.
type Cell = fn(&BenchRow) -> String;

/// Stands where a row has no value.
const NONE: &str = "-";

fn optional(value: Option<f64>, show: fn(f64) -> String) -> String {
    value.map_or(NONE.to_owned(), show)
}

/// A value in multiples of the reference: with two decimals if it is small.
fn over(value: Option<f64>, reference: Option<f64>) -> String {
    let ratio = value.zip(reference).map(|(value, reference)| value / reference);
    ratio
        .filter(|ratio| ratio.is_finite())
        .map_or(NONE.to_owned(), |ratio| if ratio < 9.995 { format!("{ratio:.2}") } else { format::grouped(ratio, 0) })
}

fn percent(value: Option<f64>) -> String {
    optional(value, |percent| format!("{percent:.1}"))
}

/// The dropped frames by cause.
fn dropped(row: &BenchRow) -> String {
    row.dropped.iter().map(|(cause, count)| format!("{cause} {count}")).collect::<Vec<_>>().join(", ")
}

/// All columns, from left to right: the name, whether it has words (numbers are aligned to the right), and the content.
/// [`table`] leaves out those that are empty in every row.
const COLUMNS: &[(&str, bool, Cell)] = &[
    ("direction", true, |row| row.direction.clone()),
    ("method", true, |row| row.method.clone()),
    ("cameras", true, |row| row.stream.clone().unwrap_or_default()),
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
    ("% with urgent", false, |row| percent(percent_of_raw_together(row))),
    ("% promised", false, |row| percent(row.share_configured.map(|share| 100.0 * share))),
    ("due", false, |row| row.due.map_or(NONE.to_owned(), |due| format::grouped(due as f64, 0))),
    ("missed", false, |row| row.missed.map_or(NONE.to_owned(), |missed| format::grouped(missed as f64, 0))),
    ("late", false, |row| row.late.map_or(NONE.to_owned(), |late| format::grouped(late as f64, 0))),
    ("dropped", true, dropped),
    ("jitter us", false, |row| optional(row.jitter_us, format::us)),
    ("checked", false, |row| row.checked.map_or(NONE.to_owned(), |checked| format::grouped(checked as f64, 0))),
    ("wrong", false, |row| row.wrong.map_or(NONE.to_owned(), |wrong| format::grouped(wrong as f64, 0))),
    ("ratio", false, |row| optional(row.ratio.map(|ratio| ratio.median), |ratio| format!("{ratio:.3}"))),
    ("from - to", false, |row| row.ratio.map_or(NONE.to_owned(), |it| format!("{:.3} - {:.3}", it.least, it.most))),
    ("starved", false, |row| if row.starved == 0 { NONE.to_owned() } else { row.starved.to_string() }),
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

/// The figure of latencies ([`latency_figure`]) as text for a terminal.
#[must_use]
pub fn latency_text(run: &Run, title: &str) -> String {
    latency_figure(run, title).to_text(TEXT_WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::IDLE;

    fn row(method: &str, p50_us: f64, bulk_gbps: f64) -> BenchRow {
        BenchRow {
            method: method.into(),
            direction: "h2d".into(),
            high_bytes: 65_536,
            p50_us: Some(p50_us),
            idle_p50_us: Some(10.0),
            bulk_gbps: Some(bulk_gbps),
            raw_gbps: Some(50.0),
            setting: (method != IDLE).then(|| "chunk_us=40".to_owned()),
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
}
