//! Programs on several devices, by each selection, beside the same on one.

use std::sync::Arc;

use console::failure::{Failure, Result};
use hal::{Context, Device, Nanos};
use measure::stage::Stage;
use overtake::Overtake;
use overtake::context::CudaContext;
use overtake::data::{ArrayOptions, Bandwidth, DataStatistics, Selection};
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake_plan::dag::Program;
use report::format::size;
use report::{BenchRow, Spread};
use workloads::Kernels;

use super::automatic::Automatic;
use super::{mean, shapes};
use crate::args::GraphArguments;
use crate::pairs;
use crate::piece::driver_error;
use crate::tasks::{Part, judged, median_ns, row};

/// Lanes of a group on each device.
const LANES: u8 = 4;
/// Bytes of a copy, and rounds, by which the bandwidths between devices are measured.
const PAIR_BYTES: u64 = 16 << 20;
const PAIR_ROUNDS: u32 = 2;
const LEAST_SAMPLES: usize = 3;
/// The speed-up over one device that was published for two.
const PUBLISHED: f64 = 1.53;
/// The reference, measured a second time as the control.
const CONTROL: &str = "single-gpu again";

/// The layers of all devices, and the kernels that are loaded there.
struct Devices {
    kernels: Vec<Kernels>,
    bandwidth: Bandwidth,
    dispatcher: Dispatcher,
    layers: Vec<Arc<Overtake>>,
}

/// The medians of a program and a selection, one for each round, all samples, and the transfers of a run.
#[derive(Clone, Default)]
struct Cell {
    medians_ns: Vec<f64>,
    samples_ns: Vec<u64>,
    moved: DataStatistics,
}

impl Devices {
    fn open(stage: &Stage, count: u8) -> Result<Devices> {
        let driver = stage.shop.ground.driver();
        if driver.device_count()? < i32::from(count) {
            let text = format!("there are fewer than {count} devices: on the software GPU set OVERTAKE_SOFT_DEVICES");
            return Err(Failure::Other(text));
        }
        let csv = pairs::csv(driver, PAIR_BYTES, PAIR_ROUNDS)?;
        let bandwidth = Bandwidth::read(&csv, count).map_err(|(_, fault)| Failure::Other(fault))?;
        let (mut layers, mut kernels) = (Vec::new(), Vec::new());
        for device in 0..count {
            let context = CudaContext::primary(driver, Device(i32::from(device)))?;
            let current: Context = context.raw();
            layers.push(Arc::new(Overtake::open_in(&context, stage.shop.options.clone())?));
            driver.context_set_current(Some(current))?;
            kernels.push(Kernels::load(&**driver)?);
        }
        stage.shop.ground.rig().make_current()?;
        let options = DispatchOptions { lanes: LANES, ..DispatchOptions::default() };
        let dispatcher = Dispatcher::open_on(&layers, options).map_err(driver_error)?;
        Ok(Devices { kernels, bandwidth, dispatcher, layers })
    }

    /// Runs a program for a while.
    fn slice(
        &self,
        stage: &Stage,
        program: &Program,
        selection: Selection,
        span: Nanos,
        cell: &mut Cell,
    ) -> Result<()> {
        let options = ArrayOptions { selection, bandwidth: Some(self.bandwidth.clone()), ..ArrayOptions::default() };
        let ours = Automatic::new(&self.dispatcher, options, program, &self.kernels)?;
        let host = stage.shop.ground.driver().host();
        ours.fill(false)?;
        ours.run()?;
        cell.moved = ours.statistics();
        let (end, mut samples) = (host.now() + span, Vec::new());
        while host.now() < end || samples.len() < LEAST_SAMPLES {
            ours.fill(false)?;
            let start = host.now();
            ours.run()?;
            samples.push(host.now().since(start).0);
        }
        cell.medians_ns.extend(median_ns(&samples));
        cell.samples_ns.extend(samples);
        Ok(())
    }

    fn close(self, stage: &Stage) -> Result<()> {
        let Devices { kernels, dispatcher, layers, .. } = self;
        drop(dispatcher);
        let driver = stage.shop.ground.driver();
        for (layer, kernels) in layers.iter().zip(kernels) {
            driver.context_set_current(Some(layer.cuda_context().raw()))?;
            driver.module_unload(kernels.module())?;
        }
        Ok(stage.shop.ground.rig().make_current()?)
    }
}

/// One device, these selections or all of them, and one device again.
fn ways(asked: &[(&'static str, Selection)]) -> Vec<(&'static str, Selection)> {
    let [one, others @ ..] = Selection::ALL;
    let is_asked = |way: &(&str, Selection)| asked.is_empty() || asked.contains(way);
    std::iter::once(one).chain(others.into_iter().filter(is_asked)).chain([(CONTROL, one.1)]).collect()
}

/// Runs the part.
pub fn run(stage: &Stage, graph: &GraphArguments, span: Nanos) -> Result<Part> {
    let programs = shapes::spread(graph.bytes);
    let devices = Devices::open(stage, graph.devices)?;
    let ways = ways(&graph.selections);
    let steps = graph.common.rounds as usize * ways.len();
    let mut progress = stage.progress(span.as_secs(), steps);
    let slice = Nanos(span.0 / (steps * programs.len()).max(1) as u64);
    let mut all = vec![vec![Cell::default(); ways.len()]; programs.len()];
    for round in 0..graph.common.rounds as usize {
        for turn in 0..ways.len() {
            let place = (turn + round) % ways.len();
            progress.step(ways[place].0);
            for (program, cells) in programs.iter().zip(&mut all) {
                devices.slice(stage, program, ways[place].1, slice, &mut cells[place])?;
            }
        }
    }
    devices.close(stage)?;
    let names: Vec<&str> = ways.iter().map(|(name, _)| *name).collect();
    let rows = programs.iter().zip(&all).flat_map(|(program, cells)| rows(program, graph.devices, &names, cells));
    Ok(Part { rows: rows.collect(), verdict: verdict(&programs, &names, &all) })
}

/// The speed over that of one device, round by round.
fn gains(cells: &[Cell], way: usize) -> Vec<f64> {
    cells[0].medians_ns.iter().zip(&cells[way].medians_ns).map(|(one, own)| one / own).collect()
}

fn rows(program: &Program, devices: u8, names: &[&str], cells: &[Cell]) -> Vec<BenchRow> {
    let of_way = |(place, (name, cell)): (usize, (&&str, &Cell))| {
        let moved = cell.moved;
        let (pcie, peer) = (moved.upload_bytes + moved.download_bytes, moved.between_device_bytes);
        let moved = format!("{} of {devices}: {} by PCIe, {} by link", program.name, size(pcie), size(peer));
        let ratios = gains(cells, place).into_iter().map(|gain| 1.0 / gain).collect();
        let ratio = Spread::of(ratios).filter(|_| place != 0);
        BenchRow { setting: Some(moved), ratio, ..row(name, "kernel", "both", &cell.samples_ns) }
    };
    names.iter().zip(cells).enumerate().map(of_way).collect()
}

fn verdict(programs: &[Program], names: &[&str], all: &[Vec<Cell>]) -> Vec<String> {
    let median = |gains: Vec<f64>| Spread::of(gains).map_or(0.0, |gain| gain.median);
    let whole = |way: usize| median(mean(&all.iter().map(|cells| gains(cells, way)).collect::<Vec<_>>()));
    let selections = 1..names.len() - 1;
    let Some(best) = selections.max_by(|one, other| whole(*one).total_cmp(&whole(*other))) else { return Vec::new() };
    let mut text = vec![judged(
        &format!("{}, the best selection: geometric mean over one device", names[best]),
        whole(best),
        "",
        &format!("at least {PUBLISHED}"),
        whole(best) >= PUBLISHED,
    )];
    for (program, cells) in programs.iter().zip(all) {
        let gain = median(gains(cells, best));
        let what = format!("{}: {} over one device", program.name, names[best]);
        text.push(judged(&what, gain, "", "at least 1", gain >= 1.0));
    }
    let control = whole(names.len() - 1);
    text.push(judged("control: one device again", control, "", "0.9 to 1.1", (0.9..=1.1).contains(&control)));
    text
}
