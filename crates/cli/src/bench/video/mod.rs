//! `bench video`: four pipelines of pictures beside saturating bulk. Every sixtieth of a second each pipeline has a
//! picture to upload, to work on, and to download before the next one comes.

mod pipeline;
mod slice;

use std::sync::Arc;

use hal::Nanos;
use report::{BenchRow, Distribution, Run, Spread};

use super::args::{VideoArguments, VideoMethod};
use super::bulk::Throughput;
use super::case::fill_latency;
use super::catalogue::{IDLE, RAW};
use super::piece::{Piece, picture_bytes};
use super::present::{subtitle, table};
use super::stage::{Shown, Stage, finish, span};
use crate::args::Arguments;
use crate::failure::Result;
use slice::{Scene, Slice, film};

/// Pictures at once.
const PIPELINES: usize = 4;

/// A row: its name, its method, and whether it has pictures and bulk.
struct Case {
    name: &'static str,
    scene: Scene,
    slices: Vec<Slice>,
}

/// Runs the command.
pub fn run(arguments: &Arguments, video: &VideoArguments) -> Result<()> {
    let mut lane_bytes = vec![video.common.bulk_bytes; 2];
    (0..PIPELINES).for_each(|_| lane_bytes.extend(picture_bytes()));
    let stage = Stage::set(arguments, video.common.device, &video.common.options, &lane_bytes)?;
    let piece = |index| Piece::picture(&stage.shop.ground, [2 + 2 * index, 3 + 2 * index]).map(Arc::new);
    let pieces = (0..PIPELINES).map(piece).collect::<hal::Result<Vec<_>>>()?;
    let mut cases = cases(video);
    let steps = cases.len() * video.common.rounds as usize;
    let part = Nanos(span(video.common.seconds).0 / steps as u64);
    let mut progress = stage.progress(video.common.seconds, steps);
    for _ in 0..video.common.rounds {
        for case in &mut cases {
            progress.step(case.name);
            case.slices.push(film(&stage.shop, &pieces, &case.scene, video.common.bulk_bytes, part)?);
        }
    }
    drop(progress);
    let run = Run { header: stage.header.clone(), rows: rows(&cases, video.common.bulk_bytes) };
    let summary = format!(
        "{PIPELINES} pipelines, 1920 x 1080 in NV12 at 60 a second, 1280 x 720 in colours back; {}\n{}",
        subtitle(&run),
        verdict(&run)
    );
    let notes = vec![
        "a picture's latency runs from the moment that it is due to its result being there; the ratio is that of the \
         p50 to the idle one of the same round"
            .to_owned(),
    ];
    let shown = Shown { title: "video".into(), summary, table: table(&run), picture: None, svg: None, notes };
    finish(&video.common.output, &run, &shown)
}

fn cases(video: &VideoArguments) -> Vec<Case> {
    let case = |name, method, has_pictures, has_bulk| Case {
        name,
        scene: Scene { method, has_pictures, has_bulk },
        slices: Vec::new(),
    };
    let mut cases =
        vec![case(IDLE, VideoMethod::NativePriority, true, false), case(RAW, VideoMethod::Native, false, true)];
    let methods = if video.methods.is_empty() { &VideoMethod::ALL[..] } else { &video.methods };
    cases.extend(methods.iter().map(|method| case(method.name(), *method, true, true)));
    cases
}

fn rows(cases: &[Case], bulk_bytes: u64) -> Vec<BenchRow> {
    let p50 = |slice: &Slice| Distribution::new(slice.latencies_ns.clone()).map(|all| all.quantile_us(0.5));
    let of = |name| cases.iter().find(|case: &&Case| case.name == name);
    let idle: Vec<Option<f64>> = of(IDLE).map_or(Vec::new(), |case| case.slices.iter().map(p50).collect());
    let raw_gbps = of(RAW).and_then(gbps);
    let idle_all = of(IDLE).and_then(|case| Distribution::new(latencies(case)));
    let row = |case: &Case| {
        let ratios = case.slices.iter().zip(&idle).filter_map(|(slice, idle)| Some(p50(slice)? / (*idle)?));
        let total =
            |count: fn(&Slice) -> u64| case.scene.has_pictures.then(|| case.slices.iter().map(count).sum::<u64>());
        let mut row = BenchRow {
            method: case.name.to_owned(),
            transport: case.scene.transport().to_owned(),
            emulation: case.scene.emulation().to_owned(),
            direction: "both".to_owned(),
            high_bytes: if case.scene.has_pictures { picture_bytes()[0] } else { 0 },
            bulk_bytes: if case.scene.has_bulk { bulk_bytes } else { 0 },
            bulk_gbps: gbps(case),
            raw_gbps,
            rescues: case.slices.iter().map(|slice| slice.rescues).sum(),
            due: total(|slice| slice.due),
            missed: total(|slice| slice.missed),
            ratio: (case.name != IDLE).then(|| Spread::of(ratios.collect())).flatten(),
            ..BenchRow::default()
        };
        fill_latency(&mut row, &latencies(case), &[]);
        match &idle_all {
            Some(idle) if case.scene.has_pictures => row.with_idle(idle.summary()),
            _ => row,
        }
    };
    cases.iter().map(row).collect()
}

fn latencies(case: &Case) -> Vec<u64> {
    case.slices.iter().flat_map(|slice| slice.latencies_ns.iter().copied()).collect()
}

/// The bandwidth of both directions together.
fn gbps(case: &Case) -> Option<f64> {
    let direction = |index: usize| {
        let parts = case.slices.iter().filter_map(|slice| slice.bulk.get(index).copied());
        parts.fold(Throughput::default(), Throughput::and).gbps()
    };
    Some(direction(0)? + direction(1)?)
}

/// The missed pictures of each method in words.
fn verdict(run: &Run) -> String {
    let line = |row: &BenchRow| {
        let (missed, due) = (row.missed?, row.due?);
        let beside = if row.method == IDLE { "without bulk" } else { "beside bulk" };
        Some(format!("{} {beside}: {missed} of {due} pictures missed their deadline", row.method))
    };
    run.rows.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}
