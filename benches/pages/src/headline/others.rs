//! Tables of questions that are neither a bench of copies nor a program.

use std::collections::BTreeMap;

use report::{Column, Table, format};
use serde_json::Value;

use super::cells::{NONE, factor, range, spread};
use super::sources::{self, asked, device};
use crate::agreement;
use crate::stored::Stored;

/// `hunts DEVICE`: the copies of each hunt, and whether they include copies of overtake.
pub fn hunts(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let runs = asked(runs, "hunt", words)?;
    let mut table = Table::new(vec![
        Column::words("commit"),
        Column::words("environment"),
        Column::numbers("s"),
        Column::numbers("copies submitted"),
        Column::numbers("made by overtake"),
        Column::numbers("rescues"),
        Column::words("found"),
        Column::words("evidence of"),
    ]);
    for (run, hunt) in runs.iter().filter_map(|run| Some((run, run.rest.get("hunt")?))) {
        let ours: u64 = hunt["ways"].as_object().into_iter().flatten().filter_map(|(_, copies)| copies.as_u64()).sum();
        let count = |value: u64| format::grouped(value as f64, 0);
        let found = if hunt["verdict"] == "ok" { "nothing" } else { hunt["verdict"].as_str().unwrap_or(NONE) };
        table.push([
            run.header.commit[..7].to_owned(),
            Some(run.variant()).filter(|variant| !variant.is_empty()).unwrap_or("as it comes".to_owned()),
            hunt["seconds"].as_f64().map_or(NONE.to_owned(), |seconds| format!("{seconds:.0}")),
            count(hunt["copies"].as_u64().unwrap_or(0)),
            count(ours),
            count(hunt["rescues"].as_u64().unwrap_or(0)),
            found.to_owned(),
            if ours == 0 { "standing down only: it made no copy" } else { "copies" }.to_owned(),
        ]);
    }
    if table.is_empty() { Ok(sources::none("hunt")) } else { Ok(table.to_markdown()) }
}

/// `nccl DEVICE`: bandwidth of NCCL natively and under overtake, alone and beside pinned copies.
pub fn nccl(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let runs = asked(runs, "nccl", words)?;
    let mut table = Table::new(vec![
        Column::words("program"),
        Column::numbers("GPUs"),
        Column::words("mode"),
        Column::numbers("runs"),
        Column::numbers("alone GB/s"),
        Column::numbers("beside copies GB/s"),
        Column::words("right"),
    ]);
    let mut by_key: BTreeMap<(String, u64, String), Vec<&Value>> = BTreeMap::new();
    for row in runs.iter().flat_map(|run| &run.rows) {
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        by_key.entry((text("program"), row["gpus"].as_u64().unwrap_or(0), text("mode"))).or_default().push(row);
    }
    for ((program, gpus, mode), rows) in by_key {
        let values = |name: &str| rows.iter().filter_map(|row| row[name].as_f64()).collect::<Vec<_>>();
        let gbps = |gbps: f64| format::grouped(gbps, 0);
        let good = rows.iter().all(|row| row["good"] == true);
        table.push([
            program,
            gpus.to_string(),
            mode,
            rows.len().to_string(),
            spread(&values("alone_gbps"), gbps),
            spread(&values("beside_copies_gbps"), gbps),
            if good { "yes" } else { "NO" }.to_owned(),
        ]);
    }
    if table.is_empty() { Ok(sources::none("nccl")) } else { Ok(table.to_markdown()) }
}

/// `startup DEVICE`: the cost of calls and starts, natively and with the drop-in.
pub fn startup(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let runs = asked(runs, "startup", words)?;
    let mut table = Table::new(vec![
        Column::words("measure"),
        Column::words("unit"),
        Column::numbers("runs"),
        Column::numbers("native"),
        Column::numbers("drop-in"),
        Column::numbers("drop-in / native"),
    ]);
    let rows = || runs.iter().filter(|run| !run.rows.is_empty());
    let mut cases: Vec<(&str, &str)> = Vec::new();
    for row in rows().flat_map(|run| &run.rows) {
        let case = (row["case"].as_str().unwrap_or_default(), row["unit"].as_str().unwrap_or_default());
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    for (case, unit) in cases {
        let medians = |mode: &str| -> Vec<f64> {
            let its = rows().filter_map(|run| run.rows.iter().find(|row| row["case"] == case && row["mode"] == mode));
            its.filter_map(|row| median_of(&row["values"])).collect()
        };
        let (native, ours) = (medians("native"), medians("overtake"));
        let over: Vec<f64> = ours.iter().zip(&native).map(|(ours, native)| ours / native).collect();
        let show = |value: f64| if unit == "ns" { format::grouped(value, 0) } else { format!("{value:.2}") };
        table.push([
            case.to_owned(),
            unit.to_owned(),
            ours.len().to_string(),
            spread(&native, show),
            spread(&ours, show),
            spread(&over, factor),
        ]);
    }
    if table.is_empty() { Ok(sources::none("startup")) } else { Ok(table.to_markdown()) }
}

fn median_of(values: &Value) -> Option<f64> {
    let mut sorted: Vec<f64> = values.as_array()?.iter().filter_map(Value::as_f64).collect();
    sorted.sort_by(f64::total_cmp);
    (!sorted.is_empty()).then(|| super::cells::median(&sorted))
}

/// `agreement DEVICE`: the distance of the software GPU from the stored runs of a GPU.
pub fn agreement(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let lines = agreement::lines(runs, device(words)?);
    let mut table = Table::new(vec![
        Column::words("bench"),
        Column::words("figure"),
        Column::numbers("rows"),
        Column::numbers("more than 20 % off"),
        Column::numbers("model / nearest run"),
    ]);
    let mut by_figure: BTreeMap<(usize, &str), Vec<f64>> = BTreeMap::new();
    for line in &lines {
        by_figure.entry((line.bench, line.figure)).or_default().push(line.ratio());
    }
    for ((bench, figure), ratios) in by_figure {
        let off = ratios.iter().filter(|ratio| agreement::is_off(**ratio)).count();
        table.push([
            agreement::BENCHES[bench].to_owned(),
            figure.to_owned(),
            ratios.len().to_string(),
            off.to_string(),
            range(&ratios, |ratio| format!("{ratio:.2}")),
        ]);
    }
    if table.is_empty() { Ok(sources::none("agreement")) } else { Ok(table.to_markdown()) }
}
