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

/// Name, whether it is text, and content of the columns. Columns that stay empty are left out.
const COLUMNS: [(&str, bool, Cell); 18] = [
    ("environment", true, |group| word(&group.key.variant)),
    ("direction", true, |group| word(&group.key.direction)),
    ("method", true, |group| word(&group.key.method)),
    ("setting", true, |group| word(&group.key.setting)),
    ("cameras", true, |group| word(&group.key.cameras)),
    ("priority", false, |group| group.key.priority.map_or(NONE.to_owned(), |priority| priority.to_string())),
    ("urgent", false, |group| size(group.key.bytes.0)),
    ("bulk", false, |group| size(group.key.bytes.1)),
    ("runs", false, |group| group.rows.len().to_string()),
    ("p50 us", false, |group| spread(&group.values(|row| row.p50_us), format::us)),
    ("p50 / idle", false, |group| spread(&group.values(over_idle), factor)),
    ("p99 us", false, group_tail),
    ("missed", false, |group| group.missed().unwrap_or(NONE.to_owned())),
    ("call ns", false, |group| spread(&group.values(|row| row.call_ns), |ns| format::grouped(ns, 0))),
    ("bulk GB/s", false, |group| spread(&group.values(|row| row.bulk_gbps), gbps)),
    ("% of bulk alone", false, |group| spread(&group.values(percent_of_raw), |percent| format!("{percent:.0}"))),
    ("% with urgent", false, |group| spread(&group.values(percent_of_raw_together), |percent| format!("{percent:.0}"))),
    ("rescues", false, |group| {
        let most = group.rows.iter().map(|row| row.rescues).max().unwrap_or(0);
        if most == 0 { NONE.to_owned() } else { format!("up to {most}") }
    }),
];

/// `bench QUESTION DEVICE`: all measurements of the runs of a bench.
pub fn bench_table(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let [question, device] = words else { return Err("`bench` is followed by a question and a device".to_owned()) };
    let runs = current(runs, question, device);
    let groups = groups(&runs);
    if groups.is_empty() {
        return Ok(sources::none(question));
    }
    let is_used = |cell: &Cell| groups.iter().any(|group| cell(group) != NONE);
    let used: Vec<_> = COLUMNS.iter().filter(|(_, _, cell)| is_used(cell)).collect();
    let column = |&&(name, is_word, _): &&(&'static str, bool, Cell)| {
        if is_word { Column::words(name) } else { Column::numbers(name) }
    };
    let mut table = Table::new(used.iter().map(column).collect());
    for group in &groups {
        table.push(used.iter().map(|(_, _, cell)| cell(group)));
    }
    let picture = if pictures::is_drawn(question) { format!("![medians]({device}.svg)\n\n") } else { String::new() };
    Ok(format!("{picture}{}\n{}", table.to_markdown(), sources::line(&runs, question)))
}
