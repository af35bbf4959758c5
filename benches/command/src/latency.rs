//! `bench latency`: one urgent copy at a time behind saturating bulk; the frontier; urgent copies without end.

use console::Globals;
use console::failure::Result;
use hal::Nanos;
use measure::case::{Case, Sizes};
use measure::catalogue::MethodName;
use measure::present::{frontier, latency_figure, latency_text, percent_of_raw, subtitle, table};
use measure::runner::{Load, Pace};
use measure::stage::{Shown, Stage, finish, methods_or};
use overtake::Options;
use overtake::kernel::Workers;
use report::Run;

use super::args::LatencyArguments;

/// Lengths of chunks of the frontier, in microseconds.
const FRONTIER_US: [u64; 5] = [10, 20, 40, 80, 160];
/// Wait budgets of the frontier, in microseconds: both ends of the scale.
const BUDGETS_US: [u64; 2] = [0, 60];
/// Blocks of bulk copy kernels in the frontier, and warps of each.
const FRONTIER_WORKERS: [(u32, u32); 8] = [(1, 16), (2, 8), (4, 4), (2, 12), (4, 10), (5, 10), (4, 16), (6, 16)];
/// Methods of the frontier: CUDA's own priorities, and overtake at both ends of the scale of wait budgets.
const FRONTIER_METHODS: [MethodName; 3] = [MethodName::NativePriority, MethodName::NativeQueue, MethodName::Overtake];
/// Methods that guarantee a share to bulk.
const SHARING: [MethodName; 2] = [MethodName::EngineHold, MethodName::KernelHold];
/// A bulk request small enough that many complete even within a small share.
const ENDLESS_BULK_BYTES: u64 = 16 << 20;

/// Runs the command.
pub fn run(globals: &Globals, latency: &LatencyArguments) -> Result<()> {
    if let Some(priorities) = latency.priorities {
        return super::priorities::run(globals, latency, priorities);
    }
    if latency.endless {
        return endless(globals, latency);
    }
    let common = &latency.common;
    let largest = latency.high_bytes.iter().copied().max().unwrap_or(1);
    let stage = Stage::set(globals, common.device, &common.options, &[largest, latency.bulk_bytes])?;
    let cases = cases(&stage, latency)?;
    let (run, notes) = stage.run(&cases, Pace::of(common.seconds))?;
    let title = "How long an urgent copy takes behind saturating bulk";
    let (svg, picture) = if latency.frontier {
        (frontier(&run).to_svg(), None)
    } else {
        (latency_figure(&run, title).to_svg(), Some(latency_text(&run, title)))
    };
    let summary = subtitle(&run);
    let shown = Shown { title: "latency".into(), summary, table: table(&run), picture, svg: Some(svg), notes };
    finish(&common.output, &run, &shown)
}

/// All cases in the order of the table: references first, then the methods, for each direction and size.
fn cases(stage: &Stage, latency: &LatencyArguments) -> Result<Vec<Case>> {
    let defaults: &[MethodName] = if latency.frontier { &FRONTIER_METHODS } else { &MethodName::FIXED };
    let methods = methods_or(&latency.common, defaults);
    let mut cases = Vec::new();
    for direction in latency.common.direction.directions() {
        for (index, &bytes) in latency.high_bytes.iter().enumerate() {
            let sizes = Stage::sizes(direction, bytes, latency.bulk_bytes);
            cases.push(sizes.idle(&stage.shop)?);
            cases.push(sizes.other_engine(&stage.shop)?);
            if index == 0 {
                cases.push(sizes.raw(&stage.shop)?);
            }
            for &method in &methods {
                add_method(stage, latency, sizes, method, &mut cases)?;
            }
        }
    }
    Ok(cases)
}

fn add_method(
    stage: &Stage,
    latency: &LatencyArguments,
    sizes: Sizes,
    method: MethodName,
    cases: &mut Vec<Case>,
) -> Result<()> {
    let base = &stage.shop.options;
    let mut settings: Vec<(Options, Option<String>)> = Vec::new();
    if method.has_chunks() {
        let targets: &[u64] =
            if latency.frontier && latency.chunk_us.is_empty() { &FRONTIER_US } else { &latency.chunk_us };
        let of = |us: &u64| {
            let options = base.clone().with_profile(|profile| profile.chunk_max = Nanos::from_us(*us));
            (options, Some(format!("chunk_us={us}")))
        };
        settings.extend(targets.iter().map(of));
    } else if method == MethodName::KernelHold && latency.frontier {
        let of = |(blocks, warps): (u32, u32)| {
            let workers = Workers { blocks, warps };
            (
                base.clone().with_profile(|profile| (profile.kernel_h2d, profile.kernel_d2h) = (workers, workers)),
                Some(format!("{blocks} x {warps} warps")),
            )
        };
        settings.extend(FRONTIER_WORKERS.map(of));
    } else if method == MethodName::Overtake && latency.frontier {
        let of =
            |us| (Options { wait_budget: Nanos::from_us(us), ..base.clone() }, Some(format!("wait_budget_us={us}")));
        settings.extend(BUDGETS_US.map(of));
    }
    if settings.is_empty() {
        settings.push((base.clone(), None));
    }
    for (options, setting) in settings {
        cases.push(sizes.method(&stage.shop, method, Load::Both, &options, setting)?);
    }
    Ok(())
}

/// Urgent copies without end: the share of bulk, beside its guarantee.
fn endless(globals: &Globals, latency: &LatencyArguments) -> Result<()> {
    let common = &latency.common;
    let bytes = latency.high_bytes.iter().copied().max().unwrap_or(1);
    let bulk_bytes = latency.bulk_bytes.min(ENDLESS_BULK_BYTES);
    let stage = Stage::set(globals, common.device, &common.options, &[bytes, bulk_bytes])?;
    let options = stage.shop.options.clone();
    let mut cases = Vec::new();
    for direction in common.direction.directions() {
        let sizes = Stage::sizes(direction, bytes, bulk_bytes);
        cases.push(sizes.raw(&stage.shop)?);
        for method in methods_or(common, &SHARING) {
            cases.push(sizes.method(&stage.shop, method, Load::Endless, &options, None)?);
        }
    }
    let (mut run, notes) = stage.run(&cases, Pace::of(common.seconds))?;
    let promised = cases.iter().filter(|case| SHARING.iter().any(|method| method.label() == case.label));
    let promised: Vec<&str> = promised.map(|case| case.label.method).collect();
    for row in run.rows.iter_mut().filter(|row| promised.contains(&row.method.as_str())) {
        row.share_configured = Some(options.profile.share.share);
    }
    let summary = format!("{}\n{}", subtitle(&run), shares(&run));
    let shown =
        Shown { title: "endless urgent copies".into(), summary, table: table(&run), picture: None, svg: None, notes };
    finish(&common.output, &run, &shown)
}

fn shares(run: &Run) -> String {
    let line = |row: &report::BenchRow| {
        let promised = row.share_configured?;
        let got = percent_of_raw(row).map_or("less than two requests' worth".to_owned(), |got| format!("{got:.1} %"));
        let promised = 100.0 * promised;
        Some(format!(
            "{} {}: bulk was promised {promised:.1} % of the time and got {got} of its bandwidth",
            row.direction, row.method
        ))
    };
    run.rows.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}
