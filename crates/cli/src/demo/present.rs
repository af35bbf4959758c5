//! The demo's run as text, picture and page. All of it is drawn from the rows, as it could be from a saved file.

use std::fmt::Write as _;
use std::path::PathBuf;

use report::figure::{LatencyFigure, Panel, Series, Tone};
use report::{BenchRow, Column, Distribution, Page, Run, Section, Table, format};

use super::cases::{EQUAL, IDLE, PRIORITIES};

/// Columns of the picture in the terminal.
const TEXT_WIDTH: usize = 96;

fn direction_title(name: &str) -> &str {
    match name {
        "h2d" => "host to device",
        "d2h" => "device to host",
        other => other,
    }
}

fn tone(method: &str) -> Tone {
    match method {
        IDLE => Tone::Grey,
        EQUAL => Tone::Orange,
        PRIORITIES => Tone::Red,
        _ => Tone::Blue,
    }
}

/// What a reader calls a row.
fn case(row: &BenchRow) -> &str {
    match row.method.as_str() {
        IDLE => "idle device",
        EQUAL => "behind bulk",
        PRIORITIES => "behind bulk, stream priorities",
        other => other,
    }
}

fn directions(run: &Run) -> Vec<&str> {
    let mut directions: Vec<&str> = run.rows.iter().map(|row| row.direction.as_str()).collect();
    directions.dedup();
    directions
}

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
        let rows = run.rows.iter().filter(|row| row.direction == *direction && !row.latencies_us.is_empty());
        let rows: Vec<&BenchRow> = rows.collect();
        let index = |method: &str| rows.iter().position(|row| row.method == method);
        let gap = index(IDLE).zip(index(PRIORITIES));
        let series = rows.iter().filter_map(|row| series(row)).collect();
        Panel { title: direction_title(direction).to_owned(), series, gap }
    };
    LatencyFigure {
        title: "How long an urgent copy takes".to_owned(),
        subtitle: subtitle(run),
        panels: directions(run).iter().map(panel).collect(),
    }
}

fn series(row: &BenchRow) -> Option<Series> {
    let samples = row.latencies_us.iter().map(|us| (us * 1e3).round() as u64).collect();
    let distribution = Distribution::new(samples)?;
    Some(Series { name: case(row).to_owned(), tone: tone(&row.method), distribution })
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
        let us = |value: Option<f64>| value.map_or("-".to_owned(), format::us);
        let ratio = row.p50_us.zip(row.idle_p50_us).map_or("-".to_owned(), |(p50, idle)| format::ratio(p50, idle));
        let samples = if row.samples == 0 { "-".to_owned() } else { format::grouped(row.samples as f64, 0) };
        table.push([
            row.direction.clone(),
            if row.samples == 0 { format!("none ({})", row.method) } else { case(row).to_owned() },
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

/// What the numbers say, as far as they say it.
fn verdict(run: &Run) -> String {
    let mut text = String::new();
    for direction in directions(run) {
        let p50 = |method: &str| {
            let row = run.rows.iter().find(|row| row.direction == direction && row.method == method);
            row.and_then(|row| row.p50_us)
        };
        let (Some(idle), Some(equal), Some(apart)) = (p50(IDLE), p50(EQUAL), p50(PRIORITIES)) else { continue };
        let [idle_text, equal_text, apart_text] = [idle, equal, apart].map(format::span_us);
        let times = format::ratio(equal, idle);
        let title = direction_title(direction);
        writeln!(
            text,
            "{title}: {idle_text} on an idle device, {equal_text} behind bulk ({times}); with the highest CUDA stream \
             priority against the lowest, {apart_text}."
        )
        .expect("writing to a String");
    }
    text
}

/// Table, picture and verdict for the terminal, and which files were written.
pub fn text<'a>(run: &Run, figure: &LatencyFigure, written: impl Iterator<Item = &'a PathBuf>) -> String {
    let mut text = format!("{}\n\n{}\n{}\n{}", subtitle(run), table(run), figure.to_text(TEXT_WIDTH), verdict(run));
    let names: Vec<String> = written.map(|path| path.display().to_string()).collect();
    writeln!(text, "\nwritten: {}", names.join(", ")).expect("writing to a String");
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
