//! The demo's run as text, picture and page. All of it is drawn from the rows, as it could be from a saved file.

use std::fmt::Write as _;
use std::path::PathBuf;

use measure::catalogue::{IDLE, MethodName};
use measure::present::{direction_title, percent_of_raw};
use report::figure::{Gap, LatencyFigure, Panel, Series, Tone};
use report::{BenchRow, Column, Distribution, Page, Run, Section, Table, format};

use super::names::name;

/// Columns of the picture in the terminal.
const TEXT_WIDTH: usize = 96;

fn label(method: MethodName) -> &'static str {
    method.label().method
}

fn tone(method: &str) -> Tone {
    report::views::tone(method).unwrap_or(Tone::Grey)
}

fn directions(run: &Run) -> Vec<&str> {
    let mut directions: Vec<&str> = run.rows.iter().map(|row| row.direction.as_str()).collect();
    directions.dedup();
    directions
}

/// The conditions of the measurement.
fn subtitle(run: &Run) -> String {
    let high = run.rows.iter().map(|row| row.high_bytes).max().unwrap_or(0);
    let bulk = run.rows.iter().map(|row| row.bulk_bytes).max().unwrap_or(0);
    let modelled = if run.header.backend == "soft" { ", modelled" } else { "" };
    let (high, bulk) = (format::size(high), format::size(bulk));
    format!("{high} copy behind {bulk} copies on one copy engine; {}{modelled}", run.header.device)
}

/// The picture.
pub fn figure(run: &Run) -> LatencyFigure {
    let panel = |direction: &&str| {
        let rows = run.rows.iter().filter(|row| row.direction == *direction && !row.latencies_ns.is_empty());
        let rows: Vec<&BenchRow> = rows.collect();
        let index = |method: &str| rows.iter().position(|row| row.method == method);
        // The factor of the table, so that picture and table show one number.
        let gap = index(IDLE).zip(index(label(MethodName::NativePriority))).and_then(|(idle, other)| {
            let (p50_us, idle_us) = rows[other].p50_us.zip(rows[other].idle_p50_us)?;
            Some(Gap { idle, other, factor: p50_us / idle_us })
        });
        let series = rows.iter().filter_map(|row| series(row)).collect();
        Panel { title: direction_title(direction).to_owned(), series, gap, limit_us: None }
    };
    LatencyFigure {
        title: "How long an urgent copy takes".to_owned(),
        subtitle: subtitle(run),
        panels: directions(run).iter().map(panel).collect(),
    }
}

fn series(row: &BenchRow) -> Option<Series> {
    let distribution = Distribution::new(row.latencies_ns.clone())?;
    Some(Series::new(name(&row.method).to_owned(), tone(&row.method), distribution))
}

/// The table.
fn table(run: &Run) -> Table {
    let mut table = Table::new(vec![
        Column::words("direction"),
        Column::words("urgent copy"),
        Column::numbers("samples"),
        Column::numbers("p50 (us)"),
        Column::numbers("p90 (us)"),
        Column::numbers("p99 (us)"),
        Column::numbers("max (us)"),
        Column::numbers("p50 / idle"),
        Column::numbers("bulk (GB/s)"),
    ]);
    for row in &run.rows {
        // They would have taken longer than that.
        let more = if row.starved > 0 { ">" } else { "" };
        let us = |value: Option<f64>| value.map_or("-".to_owned(), |us| format!("{more}{}", format::us(us)));
        let ratio = row.p50_us.zip(row.idle_p50_us);
        let ratio = ratio.map_or("-".to_owned(), |(p50, idle)| format!("{more}{}", format::ratio(p50, idle)));
        let samples = if row.samples == 0 { "-".to_owned() } else { format::grouped(row.samples as f64, 0) };
        table.push([
            direction_title(&row.direction).to_owned(),
            name(&row.method).to_owned(),
            samples,
            us(row.p50_us),
            us(row.p90_us),
            us(row.p99_us),
            us(row.max_us),
            ratio,
            row.bulk_gbps.map_or("-".to_owned(), format::gbps),
        ]);
    }
    table
}

/// Ours, the one to be shown first.
const OURS: [MethodName; 3] = [MethodName::KernelHold, MethodName::EngineHold, MethodName::Express];

/// The findings that the numbers carry.
fn verdict(run: &Run) -> String {
    let mut text = String::new();
    for direction in directions(run) {
        let find = |method: &str| run.rows.iter().find(|row| row.direction == direction && row.method == method);
        let p50 = |method: &str| find(method).and_then(|row| row.p50_us);
        let native = [MethodName::Native, MethodName::NativePriority].map(|method| p50(label(method)));
        let (Some(idle), [Some(equal), Some(apart)]) = (p50(IDLE), native) else { continue };
        let [idle_text, equal_text, apart_text] = [idle, equal, apart].map(format::span_us);
        let times = format::ratio(equal, idle);
        let title = direction_title(direction);
        write!(
            text,
            "{title}: {idle_text} on an idle device, {equal_text} behind bulk ({times}), {apart_text} with the highest \
             CUDA stream priority against the lowest"
        )
        .expect("writing to a String");
        if let Some(row) = OURS.iter().find_map(|method| find(label(*method))) {
            let (p50, kept) = (row.p50_us.unwrap_or(f64::NAN), percent_of_raw(row).unwrap_or(f64::NAN));
            let (ours, times) = (format::span_us(p50), format::ratio(p50, idle));
            write!(text, "; {ours} through overtake ({times}), while bulk keeps {kept:.0} %")
                .expect("writing to a String");
        }
        text.push_str(".\n");
    }
    text
}

/// Table, picture and verdict for the terminal, and the files that were written, each with its contents.
pub fn text<'a>(
    run: &Run,
    figure: &LatencyFigure,
    notes: &[String],
    written: impl Iterator<Item = (&'static str, &'a PathBuf)>,
) -> String {
    let mut text = format!("{}\n\n{}\n{}\n{}", subtitle(run), table(run), figure.to_text(TEXT_WIDTH), verdict(run));
    for note in notes {
        writeln!(text, "note: {note}").expect("writing to a String");
    }
    text.push('\n');
    for (what, path) in written {
        writeln!(text, "{what}: {}", path.display()).expect("writing to a String");
    }
    text.push_str("next: overtake run --observe -- PROGRAM, to see whether it would help yours\n");
    text
}

/// The page.
pub fn page(run: &Run) -> Page {
    let section = Section {
        heading: "An urgent copy behind bulk copies".to_owned(),
        text: verdict(run).lines().collect::<Vec<_>>().join(" "),
        svg: Some(figure(run).to_svg()),
        table: Some(table(run)),
    };
    Page { title: "overtake demo".to_owned(), header: run.header.clone(), sections: vec![section] }
}
