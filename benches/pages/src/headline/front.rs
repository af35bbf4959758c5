//! Figures that pages quote in their text, and the table of the library.

use report::views::percent_of_raw;
use report::{BenchRow, Column, Table, format};

use super::cells::{factor, gbps, range, spread};
use super::copies::group_tail;
use super::groups::{Group, Key, current, groups, over_idle};
use super::programs::rows_of;
use super::sources::{self, asked, device};
use crate::stored::{Stored, is_guarded};

/// The sizes of the urgent copies of the library's table.
const URGENT_BYTES: [u64; 2] = [64 << 10, 1 << 20];
/// The names of the methods in the table and in the picture of the distributions.
const METHODS: [(&str, &str); 4] = [
    ("idle", "idle device"),
    ("native+priority", "CUDA's highest against lowest stream priority"),
    ("kernel/hold", "**overtake**"),
    ("express", "overtake, `wait_budget_us = 100`"),
];
/// A copy that takes at most this many times its idle time counts as unhindered.
const CLOSE_TO_IDLE: f64 = 1.3;

/// The name of a method as a picture writes it: without the marks of Markdown.
pub fn plain_title(method: &str) -> Option<String> {
    let (_, title) = METHODS.into_iter().find(|(known, _)| *known == method)?;
    Some(title.replace(['*', '`'], ""))
}

/// `library DEVICE`: urgent copies beside bulk through the library, with the idle device and CUDA's own priorities.
pub fn library(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let runs = asked(runs, "latency", words)?;
    let groups = groups(&runs);
    if groups.is_empty() {
        return Ok(sources::none("latency"));
    }
    let mut table = Table::new(vec![
        Column::words("copy"),
        Column::words("direction"),
        Column::words("how"),
        Column::numbers("p50 us"),
        Column::numbers("p50 / idle"),
        Column::numbers("p99 us"),
        Column::numbers("bulk GB/s"),
        Column::numbers("% of bulk alone"),
    ]);
    for bytes in URGENT_BYTES {
        for direction in ["h2d", "d2h"] {
            for (method, title) in METHODS {
                let is_it = |key: &Key| {
                    key.method == method && key.direction == direction && key.bytes.0 == bytes && key.variant.is_empty()
                };
                let Some(group) = groups.iter().find(|group| is_it(&group.key)) else { continue };
                table.push([
                    format::size(bytes),
                    if direction == "h2d" { "to the device" } else { "to the host" }.to_owned(),
                    title.to_owned(),
                    spread(&group.values(|row| row.p50_us), format::us),
                    spread(&group.values(over_idle), factor),
                    group_tail(group),
                    spread(&group.values(|row| row.bulk_gbps), gbps),
                    spread(&group.values(percent_of_raw), |percent| format!("{percent:.0}")),
                ]);
            }
        }
    }
    Ok(format!("{}\n{}", table.to_markdown(), sources::line(&runs, "latency")))
}

/// `express DEVICE`: the time of copies by kernel beside whole bulk copies, and the bandwidth of that bulk.
pub fn express(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let runs = asked(runs, "latency", words)?;
    let rows: Vec<BenchRow> = of_method(&groups(&runs), "express");
    if rows.is_empty() {
        return Ok("not measured yet".to_owned());
    }
    let over: Vec<f64> = rows.iter().filter_map(over_idle).collect();
    let kept: Vec<f64> = rows.iter().filter_map(percent_of_raw).collect();
    Ok(format!(
        "{} times the idle median at {} % of the bandwidth that bulk has alone in the same run ({})",
        range(&over, |factor| format!("{factor:.1}")),
        range(&kept, |percent| format!("{percent:.0}")),
        count(runs.len())
    ))
}

/// A number of runs in words.
pub fn count(runs: usize) -> String {
    if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") }
}

fn of_method(groups: &[Group], method: &str) -> Vec<BenchRow> {
    groups.iter().filter(|group| group.key.method == method).flat_map(|group| group.rows.clone()).collect()
}

/// The additional cost of a method's copy over its native pair: idle, in microseconds, and its call.
fn added(groups: &[Group], method: &str) -> (Vec<f64>, Vec<f64>) {
    let (mut copy_us, mut call_ns) = (Vec::new(), Vec::new());
    for group in groups.iter().filter(|group| group.key.method == method && group.key.setting == "paired with native") {
        let paired = |key: &Key| {
            key.direction == group.key.direction
                && key.method == "native"
                && key.setting == format!("paired with {method}")
        };
        let Some(native) = groups.iter().find(|other| paired(&other.key)) else { continue };
        for (ours, native) in group.rows.iter().zip(&native.rows) {
            copy_us.extend(ours.p50_us.zip(native.p50_us).map(|(ours, native)| ours - native));
            call_ns.extend(ours.call_ns.zip(native.call_ns).map(|(ours, native)| ours - native));
        }
    }
    (copy_us, call_ns)
}

/// `call-cost DEVICE`: the additional cost of a copy for its caller, if the host sleeps in between.
pub fn call_cost(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let runs = asked(runs, "overhead", words)?;
    let groups = groups(&runs);
    let [(alone_us, _), (armed_us, _)] = ["overtake, alone", "overtake, armed"].map(|method| added(&groups, method));
    if alone_us.is_empty() || armed_us.is_empty() {
        return Ok("an amount that is not measured yet".to_owned());
    }
    let us = |us: f64| format!("{us:.2}");
    Ok(format!(
        "{} us more than plain ones while nothing is armed, and {} us once a direction is ({}, both directions)",
        spread(&alone_us, us),
        spread(&armed_us, us),
        count(runs.len())
    ))
}

/// `burst-cost DEVICE`: the additional cost of a call in a row of calls.
pub fn burst_cost(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let runs = asked(runs, "overhead", words)?;
    let (_, armed_ns) = added(&groups(&runs), "overtake, armed");
    match armed_ns.is_empty() {
        true => Ok("an amount that is not measured yet".to_owned()),
        false => Ok(format!("{} us", spread(&armed_ns, |ns| format!("{:.2}", ns / 1e3)))),
    }
}

/// `guarded-bulk DEVICE`: the bandwidth of single guarded copies by kernel, in percent of plain ones, by size.
pub fn guarded_bulk(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let runs: Vec<&Stored> =
        asked(runs, "bandwidth", words)?.into_iter().filter(|run| is_guarded(&run.variant())).collect();
    let groups = groups(&runs);
    let mut sizes: Vec<u64> = Vec::new();
    let ours = |group: &&Group| group.key.method == "kernel/hold";
    groups.iter().filter(ours).for_each(|group| sizes.push(group.key.bytes.1));
    sizes.sort_unstable();
    sizes.dedup();
    let of_size = |bytes: u64| {
        let its = groups.iter().filter(ours).filter(|group| group.key.bytes.1 == bytes);
        let kept: Vec<f64> = its.flat_map(|group| group.values(percent_of_raw)).collect();
        format!("of {} {} %", format::size(bytes), range(&kept, |percent| format!("{percent:.0}")))
    };
    let texts: Vec<String> = sizes.into_iter().map(of_size).collect();
    match texts.is_empty() {
        true => Ok("an amount that is not measured yet".to_owned()),
        false => Ok(texts.join(", ")),
    }
}

/// `short-way DEVICE`: short runs in turn, before and after urgent copies that ask nothing had a way of their own.
pub fn short_way(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let device = device(words)?;
    let mut table = Table::new(vec![
        Column::words("commit"),
        Column::words("copy"),
        Column::numbers("runs"),
        Column::numbers("p50 / idle, to the device"),
        Column::numbers("to the host"),
        Column::numbers("at most 1.3 times idle"),
    ]);
    let its: Vec<&Stored> = runs.iter().filter(|run| run.question == "short-way" && run.device == device).collect();
    let mut commits: Vec<&str> = its.iter().map(|run| run.header.commit.as_str()).collect();
    commits.dedup();
    for commit in commits {
        let of_commit: Vec<&Stored> = its.iter().copied().filter(|run| run.header.commit == commit).collect();
        let groups = groups(&of_commit);
        for (method, title) in
            [("kernel/hold", "urgent, beside bulk"), ("other engine", "plain, beside bulk that goes the other way")]
        {
            let over = |direction: &str| -> Vec<f64> {
                let is_its = |group: &&Group| group.key.method == method && group.key.direction == direction;
                groups.iter().filter(is_its).flat_map(|group| group.values(over_idle)).collect()
            };
            let (there, back) = (over("h2d"), over("d2h"));
            if there.is_empty() {
                continue;
            }
            let close = there.iter().chain(&back).filter(|factor| **factor <= CLOSE_TO_IDLE).count();
            table.push([
                commit[..7].to_owned(),
                title.to_owned(),
                of_commit.len().to_string(),
                spread(&there, factor),
                spread(&back, factor),
                format!("{close} of {}", there.len() + back.len()),
            ]);
        }
    }
    Ok(table.to_markdown() + &before_and_after(runs, &its, device))
}

/// `close-to-idle DEVICE METHOD`: the number of runs and directions in which a 64 KiB copy took about its idle time.
pub fn close_to_idle(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let (runs, method) = (asked(runs, "latency", words)?, words[1..].join(" "));
    let is_small = |row: &BenchRow| row.high_bytes == URGENT_BYTES[0];
    let rows = of_method(&groups(&runs), &method).into_iter().filter(is_small);
    let over: Vec<f64> = rows.filter_map(|row| over_idle(&row)).collect();
    if over.is_empty() {
        return Ok("a time that is not measured yet".to_owned());
    }
    let close = over.iter().filter(|factor| **factor <= CLOSE_TO_IDLE).count();
    Ok(format!("at most {CLOSE_TO_IDLE} times its idle time in {close} of {} measurements", over.len()))
}

/// `batches DEVICE`: the bandwidth of batches beside small copies, in percent of the native one.
pub fn batches(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let runs = asked(runs, "offload", words)?;
    let kept = |run: &&Stored| {
        let rows = rows_of(run);
        let bulk = |mode: &str| rows.iter().find(|row| row.mode == mode && row.phase == "loaded")?.bulk_gbps;
        Some(100.0 * bulk("overtake")? / bulk("native")?)
    };
    let kept: Vec<f64> = runs.iter().filter_map(kept).collect();
    match kept.is_empty() {
        true => Ok("a part that is not measured yet".to_owned()),
        false => Ok(format!("{} % ({})", spread(&kept, |percent| format!("{percent:.0}")), count(kept.len()))),
    }
}

/// The cost of a copy before and after lone copies got the short way too.
fn before_and_after(runs: &[Stored], before: &[&Stored], device: &str) -> String {
    let mut table = Table::new(vec![
        Column::words("commit"),
        Column::numbers("runs"),
        Column::numbers("alone: a copy, us more"),
        Column::numbers("its call, ns more"),
        Column::numbers("armed: a copy, us more"),
    ]);
    let before: Vec<&Stored> =
        before.iter().copied().filter(|run| run.header.command.contains("bench overhead")).collect();
    for its in [before, current(runs, "overhead", device)] {
        let Some(first) = its.first() else { continue };
        let groups = groups(&its);
        let ((alone_us, alone_ns), (armed_us, _)) =
            (added(&groups, "overtake, alone"), added(&groups, "overtake, armed"));
        let us = |us: f64| format!("{us:.2}");
        table.push([
            first.header.commit[..7].to_owned(),
            its.len().to_string(),
            spread(&alone_us, us),
            spread(&alone_ns, |ns| format::grouped(ns, 0)),
            spread(&armed_us, us),
        ]);
    }
    format!("\n{}", table.to_markdown())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headline::example;

    fn row(method: &str, setting: &str, p50_us: f64, call_ns: f64) -> BenchRow {
        BenchRow {
            method: method.to_owned(),
            direction: "h2d".to_owned(),
            setting: Some(setting.to_owned()),
            p50_us: Some(p50_us),
            call_ns: Some(call_ns),
            ..BenchRow::default()
        }
    }

    #[test]
    fn close_to_idle_counts_the_runs_of_the_product() {
        let mut runs = [9.0, 13.0, 14.0, 1.0].map(|p50_us| example::bench("latency", "h100", "kernel/hold", p50_us));
        runs[3].header.product = report::PRODUCT - 1;
        let text = close_to_idle(&runs, &["h100", "kernel/hold"]).unwrap();
        assert_eq!(text, "at most 1.3 times its idle time in 2 of 3 measurements");
        assert!(close_to_idle(&runs, &["h100", "other engine"]).unwrap().contains("not measured"));
        assert!(close_to_idle(&runs, &[]).is_err());
    }

    #[test]
    fn a_copy_is_compared_with_the_native_one_of_its_pair() {
        let group = |row: BenchRow| Group {
            key: Key {
                direction: "h2d".to_owned(),
                method: row.method.clone(),
                setting: row.setting.clone().unwrap(),
                ..Key::default()
            },
            rows: vec![row],
        };
        let groups = [
            row("native", "paired with overtake, alone", 10.0, 100.0),
            row("overtake, alone", "paired with native", 10.5, 150.0),
            row("native", "paired with overtake, armed", 20.0, 1_000.0),
            row("overtake, armed", "paired with native", 22.0, 1_600.0),
        ]
        .map(group);
        assert_eq!(added(&groups, "overtake, alone"), (vec![0.5], vec![50.0]));
        assert_eq!(added(&groups, "overtake, armed"), (vec![2.0], vec![600.0]));
    }
}
