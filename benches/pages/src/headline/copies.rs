//! The table of a bench: the effect of each method on urgent copies and on bulk.

use report::views::{percent_of_raw, percent_of_raw_together};
use report::{BenchRow, Column, Table, format};

use super::cells::{NONE, Tail, factor, gbps, spread, tail};
use super::groups::{Group, current, groups, over_idle};
use super::{pictures, sources};
use crate::stored::Stored;

/// The content of a column for a group.
type Cell = fn(&Group) -> String;

fn word(text: &str) -> String {
    if text.is_empty() { NONE.to_owned() } else { text.to_owned() }
}

fn size(bytes: u64) -> String {
    if bytes == 0 { NONE.to_owned() } else { format::size(bytes) }
}

/// The tail of the latencies.
pub fn group_tail(group: &Group) -> String {
    let of = |row: &BenchRow| (row.samples, row.p99_us, row.max_us);
    let tails = group.rows.iter().filter(|row| row.samples > 0).map(|row| {
        let (samples, p99_us, max_us) = of(row);
        Tail { samples, p99_us, max_us, latencies_ns: &row.latencies_ns }
    });
    tail(&tails.collect::<Vec<_>>())
}

/// What a column is about. A table with too many columns becomes two, and a key of urgent copies stands in the first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Key,
    UrgentKey,
    Latency,
    Bulk,
}

/// More columns than this do not fit beside each other on a page.
const COLUMNS_MAX: usize = 9;

/// A column: name, whether it is text, what it is about, and its content.
type Entry = (&'static str, bool, Part, Cell);

/// Columns that stay empty are left out.
const COLUMNS: [Entry; 16] = [
    ("direction", true, Part::Key, |group| word(&group.key.direction)),
    ("method", true, Part::Key, |group| word(&group.key.method)),
    ("setting", true, Part::Key, |group| word(&group.key.setting)),
    ("priority", false, Part::UrgentKey, |group| {
        group.key.priority.map_or(NONE.to_owned(), |priority| priority.to_string())
    }),
    // Cameras tell the size of their pictures.
    ("urgent", true, Part::UrgentKey, |group| {
        if group.key.cameras.is_empty() { size(group.key.bytes.0) } else { group.key.cameras.clone() }
    }),
    ("bulk", false, Part::Key, |group| size(group.key.bytes.1)),
    ("runs", false, Part::Key, |group| group.rows.len().to_string()),
    ("p50 us", false, Part::Latency, |group| spread(&group.values(|row| row.p50_us), format::us)),
    ("p50 / idle", false, Part::Latency, |group| spread(&group.values(over_idle), factor)),
    ("p99 us", false, Part::Latency, group_tail),
    ("missed", false, Part::Latency, |group| group.missed().unwrap_or(NONE.to_owned())),
    ("call ns", false, Part::Latency, |group| spread(&group.values(|row| row.call_ns), |ns| format::grouped(ns, 0))),
    ("bulk GB/s", false, Part::Bulk, |group| spread(&group.values(|row| row.bulk_gbps), gbps)),
    ("% of bulk alone", false, Part::Bulk, |group| {
        spread(&group.values(percent_of_raw), |percent| format!("{percent:.0}"))
    }),
    ("% with urgent", false, Part::Bulk, |group| {
        spread(&group.values(percent_of_raw_together), |percent| format!("{percent:.0}"))
    }),
    ("rescues", false, Part::Bulk, |group| {
        let most = group.rows.iter().map(|row| row.rescues).max().unwrap_or(0);
        if most == 0 { NONE.to_owned() } else { format!("up to {most}") }
    }),
];

/// `bench QUESTION DEVICE`: all measurements of the runs of a bench, a table for each environment.
pub fn bench_table(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let [question, device] = words else { return Err("`bench` is followed by a question and a device".to_owned()) };
    let runs = current(runs, question, device);
    let groups = groups(&runs);
    if groups.is_empty() {
        return Ok(sources::none(question));
    }
    let mut variants: Vec<&str> = Vec::new();
    for group in &groups {
        if !variants.contains(&group.key.variant.as_str()) {
            variants.push(&group.key.variant);
        }
    }
    let mut text = match pictures::of(question, &runs) {
        Some(_) => format!("![{question} on this device]({device}.svg)\n\n"),
        None => String::new(),
    };
    for variant in &variants {
        let its: Vec<&Group> = groups.iter().filter(|group| group.key.variant == *variant).collect();
        let words = Some(pictures::environment(variant)).filter(|words| !words.is_empty());
        if variants.len() > 1 || words.is_some() {
            text += &format!("**{}**\n\n", words.unwrap_or_else(|| "No variable is set".to_owned()));
        }
        text += &tables(&its);
    }
    Ok(text + &sources::line(&runs, question))
}

/// The rows of one environment. What all of them share stands above the table.
fn tables(groups: &[&Group]) -> String {
    let cells = |&(.., cell): &Entry| -> Vec<String> {
        groups.iter().map(|group| cell(group)).filter(|cell| cell != NONE).collect()
    };
    let used = COLUMNS.iter().filter(|entry| !cells(entry).is_empty());
    let is_shared = |entry: &&Entry| {
        let is_key = [Part::Key, Part::UrgentKey].contains(&entry.2);
        is_key && groups.len() > 1 && cells(entry).windows(2).all(|two| two[0] == two[1])
    };
    let (shared, own): (Vec<&Entry>, Vec<&Entry>) = used.partition(is_shared);
    let told = shared.into_iter().filter_map(|entry| Some(format!("{} {}", entry.0, cells(entry).first()?)));
    let told = told.collect::<Vec<_>>().join(", ");
    let told = if told.is_empty() { String::new() } else { format!("In all rows: {told}.\n\n") };
    if own.len() <= COLUMNS_MAX {
        return told + &table(groups, &own);
    }
    let without =
        |parts: [Part; 2]| -> Vec<&Entry> { own.iter().copied().filter(|entry| !parts.contains(&entry.2)).collect() };
    told + &table(groups, &without([Part::Bulk, Part::Bulk]))
        + &table(groups, &without([Part::UrgentKey, Part::Latency]))
}

/// A table of the groups that have a figure in it; equal lines become one.
fn table(groups: &[&Group], columns: &[&Entry]) -> String {
    let column = |&&(name, is_word, ..): &&Entry| if is_word { Column::words(name) } else { Column::numbers(name) };
    let mut table = Table::new(columns.iter().map(column).collect());
    let is_figure = |entry: &&&Entry| [Part::Latency, Part::Bulk].contains(&entry.2);
    let mut last: Vec<String> = Vec::new();
    for group in groups {
        let cells: Vec<String> = columns.iter().map(|(.., cell)| cell(group)).collect();
        let has_figure = columns.iter().filter(is_figure).any(|(.., cell)| cell(group) != NONE);
        if has_figure && cells != last {
            table.push(cells.clone());
            last = cells;
        }
    }
    table.to_markdown() + "\n"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::headline::example;

    fn row(method: &str, cameras: &str, bulk_bytes: u64) -> serde_json::Value {
        json!(BenchRow {
            method: method.into(),
            direction: "both".into(),
            stream: Some(cameras.into()),
            setting: Some(format!("of {method}")),
            bulk_bytes,
            p50_us: Some(30.0),
            idle_p50_us: Some(10.0),
            due: Some(100),
            missed: Some(1),
            bulk_gbps: Some(45.0),
            urgent_gbps: Some(1.0),
            raw_gbps: Some(50.0),
            rescues: 2,
            ..BenchRow::default()
        })
    }

    #[test]
    fn a_wide_table_becomes_one_of_latencies_and_one_of_bandwidths() {
        let rows = vec![row("a", "4x1080p60", 1 << 20), row("a", "4k30", 1 << 20), row("b", "4k30", 4 << 20)];
        let text = bench_table(&[example::run("endless", "h100", rows)], &["endless", "h100"]).unwrap();
        assert!(text.contains("In all rows: direction both, runs 1.\n"), "{text}");
        assert!(text.contains("| a | of a | 4k30 | 1 MiB | 30.0 | 3.00 | 1 of 100 |\n"), "{text}");
        assert!(text.contains("| a | of a | 1 MiB | 45.0 | 90 | 92 | up to 2 |\n| b | of b |"), "one line: {text}");
        let widest = text.lines().map(|line| line.matches('|').count()).max();
        assert!(widest <= Some(COLUMNS_MAX + 1), "{text}");
    }

    #[test]
    fn each_environment_has_a_table() {
        let of = |variable: &str| {
            let mut run = example::run("burst", "h100", vec![row("a", "4k30", 1 << 20)]);
            run.header.environment.insert(variable.into(), "32".into());
            run
        };
        let runs = [of("CUDA_DEVICE_MAX_CONNECTIONS"), of("CUDA_DEVICE_MAX_COPY_CONNECTIONS")];
        let text = bench_table(&runs, &["burst", "h100"]).unwrap();
        let places = ["**32 kernel queues**", "**32 copy queues**"].map(|words| text.find(words).unwrap());
        let tables = text.match_indices("| ---").map(|found| found.0).collect::<Vec<_>>();
        assert!(places[0] < tables[0] && places[1] > tables[0], "{text}");
    }
}
