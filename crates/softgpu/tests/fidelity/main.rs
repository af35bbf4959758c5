//! Fidelity: the measured rows, replayed on the model.
//!
//! Prints a table (row, fact, model, deviation). It fails if a figure is off by more than the tolerance, if the queue
//! map differs, or if a design hangs in the model and not in the measurement, or the other way round. It takes
//! `OVERTAKE_SOFT_PRESET` into account, so that a wrong parameter can be shown to fail.

mod facts;
mod hangs;
mod rig;
mod sequences;

use std::sync::{Arc, Mutex};

use facts::{Hang, Map, Row};
use libtest_mimic::{Arguments, Failed, Trial};

/// Lines of the table, by their place in the file.
type Table = Arc<Mutex<Vec<(usize, String)>>>;

fn note(table: &Table, place: usize, line: String) {
    table.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((place, line));
}

fn check_row(row: &Row, place: usize, tolerance: f64, table: &Table) -> Result<(), Failed> {
    let figures = sequences::replay(row);
    let mut failures = Vec::new();
    let highest_us = row.p50_us_max.or(row.p50_us);
    let pairs = [
        ("p50 us", row.p50_us.zip(highest_us), figures.p50_us),
        ("bulk GB/s", row.bulk_gbps.zip(row.bulk_gbps), figures.bulk_gbps),
    ];
    for (unit, facts, model) in pairs {
        let (Some((lowest, highest)), Some(model)) = (facts, model) else { continue };
        let fact = model.clamp(lowest, highest);
        let deviation = model / fact - 1.0;
        let line = format!("{:<44} {unit:<9} {fact:>9.1} {model:>9.1} {:>+7.1} %", row.id, 100.0 * deviation);
        if deviation.abs() > tolerance {
            failures.push(line.clone());
        }
        note(table, place, line);
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

fn check_map(map: &Map, place: usize, table: &Table) -> Result<(), Failed> {
    let model = hangs::blocked_streams(map);
    let line = format!("{:<44} blocked   {:?} {model:?}", map.id, map.blocked);
    note(table, place, line.clone());
    if model == map.blocked { Ok(()) } else { Err(line.into()) }
}

fn check_hang(row: &Hang, place: usize, table: &Table) -> Result<(), Failed> {
    let verdict = hangs::hunt(row);
    let word = |hangs| if hangs { "hangs" } else { "ends" };
    let rescue = match (verdict.hung, verdict.drained) {
        (true, true) => ", drained by a host store",
        (true, false) => ", not drained by a host store",
        _ => "",
    };
    let line = format!("{:<60} {:<6} {}{rescue}", row.id, word(row.hangs), word(verdict.hung));
    note(table, place, line.clone());
    if verdict.hung == row.hangs && verdict.drained {
        Ok(())
    } else {
        Err(format!("{line}\n{}", verdict.report).into())
    }
}

fn main() {
    let arguments = Arguments::from_args();
    let facts = facts::read();
    let table = Table::default();
    let tolerance = facts.tolerance;
    let mut trials = Vec::new();
    for row in facts.row {
        let (table, place) = (Arc::clone(&table), trials.len());
        trials.push(Trial::test(row.id.clone(), move || check_row(&row, place, tolerance, &table)));
    }
    for map in facts.map {
        let (table, place) = (Arc::clone(&table), trials.len());
        trials.push(Trial::test(format!("queues: {}", map.id), move || check_map(&map, place, &table)));
    }
    for row in facts.hang {
        let (table, place) = (Arc::clone(&table), trials.len());
        trials.push(Trial::test(format!("hang: {}", row.id), move || check_hang(&row, place, &table)));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    let mut lines = std::mem::take(&mut *table.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    lines.sort_by_key(|(place, _)| *place);
    if !lines.is_empty() {
        println!("\n{:<44} {:<9} {:>9} {:>9} {:>9}", "row", "", "fact", "model", "deviation");
        lines.iter().for_each(|(_, line)| println!("{line}"));
    }
    conclusion.exit();
}
