//! `bench pageable`: copies of memory that is not pinned, by the driver and by overtake's staging, and small copies
//! beside them.

mod beside;
pub(crate) mod memory;

use std::sync::Arc;

use console::Globals;
use console::failure::Result;
use measure::catalogue::Label;
use measure::present::table;
use measure::rig::STREAM_PRIORITY_DEFAULT;
use measure::stage::{Shown, Stage, finish};
use overtake::{Options, Overtake, Priority};
use priority::Direction;
use report::{BenchRow, Distribution, Run, Spread, format};

use crate::args::PageableArguments;
use memory::{Copier, Host, Memory};

const NATIVE: Label = Label::plain("native");
const STAGED: Label = Label { method: "staged", transport: "engine", urgent_transport: None, emulation: "none" };

/// A round copies about so many bytes of each size.
const ROUND_BYTES: u64 = 64 << 20;

/// Smaller targets come from memory that the process has used before, so they are never fresh.
const FRESH_BYTES_MIN: u64 = 32 << 20;

/// A size, one way.
struct Case {
    direction: Direction,
    bytes: u64,
    /// Whether no page of the target has been touched.
    is_fresh: bool,
    /// The median of each round, natively and staged.
    rounds: Vec<[u64; 2]>,
}

/// Runs the command.
pub fn run(globals: &Globals, pageable: &PageableArguments) -> Result<()> {
    let stage = Stage::set(globals, pageable.common.device, &pageable.common.options, &[])?;
    let driver = stage.shop.ground.driver();
    let options = Options { staging: true, ..stage.shop.options.clone() };
    let overtake = Arc::new(Overtake::attach(driver, options)?);
    let most = pageable.sizes.iter().copied().chain([pageable.common.bulk_bytes]).max().unwrap_or(1);
    let memory = Arc::new(Memory::new(driver, most, beside::URGENT_BYTES)?);
    let mut cases = cases(pageable);
    let mut progress = stage.progress(pageable.common.seconds, pageable.common.rounds as usize);
    for _ in 0..pageable.common.rounds {
        progress.step("sizes");
        for case in &mut cases {
            let round = measure(case, &memory, &overtake)?;
            case.rounds.push(round);
        }
    }
    drop(progress);
    let mut rows: Vec<BenchRow> = cases.iter().flat_map(rows).collect();
    rows.extend(beside::measure(&stage, pageable, &memory, &overtake)?);
    let statistics = overtake.statistics();
    let note = format!(
        "staged: {} copies, {}; the driver made {} of them, and {} copies whole: {:?}",
        statistics.staged.copies,
        format::size(statistics.staged.bytes),
        format::size(statistics.unstaged_bytes),
        statistics.native.values().map(|class| class.copies).sum::<u64>(),
        statistics.native,
    );
    let run = Run { header: stage.header.clone(), rows };
    let summary = format!("pageable memory; {}\n{}", run.header.device, verdict(&run));
    let notes = vec![
        "ratio: of a size, how many times as fast as natively in the same round; of a small copy, its p50 by that of \
         the idle device in the same round"
            .to_owned(),
        note,
    ];
    let shown = Shown { title: "pageable".into(), summary, table: table(&run), picture: None, svg: None, notes };
    finish(&pageable.common.output, &run, &shown)
}

fn cases(pageable: &PageableArguments) -> Vec<Case> {
    let mut cases = Vec::new();
    for direction in pageable.direction.directions() {
        for &bytes in &pageable.sizes {
            let case = |is_fresh| Case { direction, bytes, is_fresh, rounds: Vec::new() };
            cases.push(case(false));
            if direction == Direction::DeviceToHost && bytes >= FRESH_BYTES_MIN {
                cases.push(case(true));
            }
        }
    }
    cases
}

/// One round: natively and staged in turn, copy by copy.
fn measure(case: &Case, memory: &Arc<Memory>, overtake: &Overtake) -> Result<[u64; 2]> {
    let native = Copier::native(memory, case.direction, STREAM_PRIORITY_DEFAULT)?;
    let staged = Copier::through(memory, case.direction, overtake, Priority::LOWEST)?;
    let copies = (ROUND_BYTES / case.bytes).clamp(1, 64);
    let mut touched = vec![1_u8; case.bytes as usize];
    let mut times = [Vec::new(), Vec::new()];
    for number in 0..=copies {
        for (copier, times) in [&native, &staged].into_iter().zip(&mut times) {
            // Zeroed memory of this size is mapped, and not touched before the copy.
            let mut fresh = if case.is_fresh { vec![0_u8; case.bytes as usize] } else { Vec::new() };
            let host = if case.is_fresh { &mut fresh } else { &mut touched };
            let took = copier.copy(&mut Host::Pageable(host), case.bytes)?;
            // The first copy makes the threads, the slots and the driver's own buffers ready.
            if number > 0 || case.bytes >= ROUND_BYTES {
                times.push(took);
            }
        }
    }
    Ok(times.map(median))
}

fn median(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times[times.len() / 2]
}

fn rows(case: &Case) -> [BenchRow; 2] {
    [(NATIVE, 0), (STAGED, 1)].map(|(label, index): (Label, usize)| {
        let times: Vec<u64> = case.rounds.iter().map(|round| round[index]).collect();
        let gbps = |time: u64| case.bytes as f64 / time.max(1) as f64;
        let ratios = case.rounds.iter().map(|[native, staged]| *native as f64 / (*staged).max(1) as f64);
        let mut row = BenchRow {
            method: label.method.to_owned(),
            transport: label.transport.to_owned(),
            emulation: label.emulation.to_owned(),
            direction: case.direction.name().to_owned(),
            bulk_bytes: case.bytes,
            setting: case.is_fresh.then(|| "fresh target".to_owned()),
            bulk_gbps: Some(gbps(median(times.clone()))),
            ratio: (index == 1).then(|| Spread::of(ratios.collect())).flatten(),
            ..BenchRow::default()
        };
        if let Some(all) = Distribution::new(times) {
            row = row.with_latency(all.summary());
        }
        row
    })
}

/// The gains in words.
fn verdict(run: &Run) -> String {
    let line = |row: &BenchRow| {
        let ratio = row.ratio.filter(|_| row.high_bytes == 0)?;
        let setting = row.setting.as_deref().map_or(String::new(), |setting| format!(", {setting}"));
        Some(format!("{} {}{setting}: {:.2} times native", row.direction, format::size(row.bulk_bytes), ratio.median))
    };
    run.rows.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}
