//! Random programs, planned and run: the device of each computation, its predecessor in the stream, and the bytes that
//! are moved are the same in both.

use std::sync::Arc;

use contexts::CudaContext;
use copies::{Options, Overtake};
use graph::NewStream;
use graph::{Bandwidth, Location, Mode, Parents, Priority, Selection};
use hal::{Device, Driver};
use overtake_plan::dag::{Argument, Computation as Planned, Plan, Policies, Program, Step};
use overtake_tasks::dispatch::{DispatchOptions, Dispatcher};
use overtake_tasks::task::{Handle, More};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestRunner};

use crate::computation::{Computation, Describe, Where};
use crate::{Array, ArrayOptions, Arrays};

const BYTES: u64 = 240;
const MODES: [Mode; 5] = [Mode::Read, Mode::Read, Mode::ReadWrite, Mode::Write, Mode::Discard];

/// Where a computation is: its device, and the one before it in its stream, if that has not ended.
type Spot = (Location, Option<usize>);

/// The bytes that were moved: to devices and to the host.
type Moved = [u64; 2];

/// The arguments of a computation, and whether the host does it.
type Drawn = (Vec<(usize, usize, u64, u64)>, u8);

fn program(arrays: usize, computations: Vec<Drawn>) -> Program {
    let array =
        |number: usize| overtake_plan::dag::Array { name: number.to_string(), bytes: BYTES * (number as u64 % 3 + 1) };
    let arrays: Vec<_> = (0..arrays).map(array).collect();
    let argument = |(array, mode, from, to): (usize, usize, u64, u64), is_host: bool| {
        let array = array % arrays.len();
        let parts = arrays[array].bytes / 8;
        let (first, last) = (from.min(to) % 8, from.max(to) % 8);
        let range = if is_host || first >= last { 0..arrays[array].bytes } else { first * parts..last * parts };
        Argument { array, range, mode: MODES[mode % MODES.len()] }
    };
    let computation = |(drawn, kind): Drawn| {
        let is_host = kind % 5 == 0;
        let most = if is_host { 1 } else { drawn.len() };
        let arguments = drawn.into_iter().take(most).map(|one| argument(one, is_host)).collect();
        let (label, section, priority) = (String::new(), None, Priority::LOWEST);
        Planned { label, line: 1, is_host, priority, arguments, section }
    };
    let computations = computations.into_iter().map(computation).collect();
    Program { arrays: arrays.clone(), computations, ..Program::default() }
}

/// The links of devices: the first two are near each other, and each is as far from the host.
fn bandwidth(devices: u8) -> Bandwidth {
    let mut text = String::from("From,To,Bandwidth\n");
    for one in 0..i16::from(devices) {
        text += &format!("-1,{one},10,0.05\n");
        (0..one).for_each(|other| text += &format!("{other},{one},{},0.01\n", if one == 1 { 40 } else { 20 }));
    }
    Bandwidth::read(&text, devices).unwrap()
}

fn policies([parents, selection, reuses]: [usize; 3], is_grcuda: bool, devices: u8) -> Policies {
    Policies {
        // Without it a plan skips host accesses that wait here for readers, and GrCUDA moves what was read again.
        sees_const: Some(true),
        parents: Some(Parents::ALL[parents % Parents::ALL.len()].1),
        selection: Some(Selection::ALL[selection % Selection::ALL.len()].1),
        new_stream: Some(if reuses % 2 == 0 { NewStream::Reuse } else { NewStream::AlwaysNew }),
        is_grcuda,
        bandwidth: Some(bandwidth(devices)),
        ..Policies::default()
    }
}

/// A program that runs. Its computations are held, so they end when the host has waited for them, and not before.
struct Run<'r> {
    arrays: &'r Arrays,
    bytes: Vec<Array<u8>>,
    plan: &'r Plan,
    is_grcuda: bool,
    held: Vec<Option<Handle>>,
    /// The stream of each, as the arrays have it.
    streams: Vec<Option<u32>>,
    found: Vec<Spot>,
    /// The same by the plan.
    planned: Vec<Spot>,
    /// Computations have ended of which GrCUDA does not know it: the rest is not compared.
    is_blind: bool,
}

impl Run<'_> {
    fn submit(&mut self, planned: &Planned) {
        let claim = |argument: &Argument| {
            let mut claim = crate::read(&self.bytes[argument.array]).claim();
            (claim.bytes, claim.mode) = (argument.range.clone(), argument.mode);
            claim
        };
        let claims = planned.arguments.iter().map(claim).collect();
        let describe = Describe::launch(|_, _| Ok(More::Done));
        // No time is known of one with a name of its own.
        let (store, name) = (&self.arrays.store, self.held.len().to_string());
        let computation = Computation::new(store, &name, Where::Chosen(u8::MAX), claims, describe);
        let task = computation.held().submit().unwrap();
        let (device, stream) = (store.places.device_of(&task).unwrap(), store.places.stream_of(&task));
        let steps = &self.plan.steps;
        let Step { at, stream: planned, .. } = steps[self.held.len()];
        if !self.is_blind {
            self.found.push((Location::Device(device), self.behind(|it| self.streams[it], stream)));
            self.planned.push((at, self.behind(|it| steps[it].stream, planned)));
        }
        self.streams.push(stream);
        self.held.push(Some(task));
    }

    /// The last computation in the stream of the next one, if it has not ended.
    fn behind(&self, stream_of: impl Fn(usize) -> Option<u32>, stream: Option<u32>) -> Option<usize> {
        (0..self.held.len()).rev().find(|it| stream_of(*it) == stream).filter(|it| !self.has_ended(*it))
    }

    fn has_ended(&self, number: usize) -> bool {
        self.held.get(number).is_none_or(Option::is_none)
    }

    /// The computations that have ended when the host has waited for this one: those before it by order, and by their
    /// streams. GrCUDA waits for all in the streams of those, and does not see all that end `by_streams`.
    fn ends(&self, number: usize, by_streams: bool) -> Vec<usize> {
        let steps = &self.plan.steps;
        let (mut ends, mut open) = (Vec::new(), steps[number].parents.clone());
        if self.is_grcuda {
            let streams: Vec<_> = open.iter().map(|parent| steps[*parent].stream).collect();
            open.extend((0..number).filter(|it| steps[*it].stream.is_some() && streams.contains(&steps[*it].stream)));
        }
        while let Some(one) = open.pop() {
            if self.has_ended(one) || ends.contains(&one) {
                continue;
            }
            ends.push(one);
            open.extend(&steps[one].parents);
            let is_before = |it: &usize| by_streams && steps[*it].stream == steps[one].stream;
            open.extend((0..one).filter(is_before));
        }
        ends.sort_unstable();
        ends
    }

    fn access(&mut self, number: usize, planned: &Planned) {
        let ends = self.ends(number, true);
        self.is_blind |= self.is_grcuda && ends != self.ends(number, false);
        let ends: Vec<Handle> = ends.into_iter().filter_map(|it| self.held[it].take()).collect();
        ends.iter().for_each(|task| task.release().unwrap());
        for argument in &planned.arguments {
            let array = &self.bytes[argument.array];
            match argument.mode {
                Mode::Read => drop(array.read().unwrap()),
                Mode::Discard => drop(array.overwrite().unwrap()),
                _ => drop(array.change().unwrap()),
            }
        }
        ends.iter().for_each(|task| task.wait().unwrap());
        self.streams.push(None);
        self.held.push(None);
    }
}

/// The spots that are found, those that are planned, and the bytes that are moved.
fn run(
    layers: &[Arc<Overtake>],
    program: &Program,
    plan: &Plan,
    policies: &Policies,
) -> (Vec<Spot>, Vec<Spot>, Option<Moved>) {
    let options = DispatchOptions { lanes: 2, inference: policies.inference(), ..DispatchOptions::default() };
    let dispatcher = Dispatcher::open_on(layers, options).unwrap();
    let options = ArrayOptions {
        parents: policies.parents,
        selection: policies.selection.unwrap(),
        bandwidth: policies.bandwidth.clone(),
        grcuda_compat: policies.is_grcuda,
        new_stream: policies.new_stream.unwrap(),
        ..ArrayOptions::default()
    };
    let arrays = Arrays::open(&dispatcher, options).unwrap();
    let zeros = |array: &overtake_plan::dag::Array| arrays.array_of(&vec![0_u8; array.bytes as usize]).unwrap();
    let bytes = program.arrays.iter().map(zeros).collect();
    let (held, streams, [found, planned]) = (Vec::new(), Vec::new(), [(); 2].map(|()| Vec::new()));
    let (is_grcuda, is_blind) = (policies.is_grcuda, false);
    let mut run = Run { arrays: &arrays, bytes, plan, is_grcuda, held, streams, found, planned, is_blind };
    for (number, planned) in program.computations.iter().enumerate() {
        if planned.is_host { run.access(number, planned) } else { run.submit(planned) }
    }
    run.held.iter().flatten().for_each(|task| task.release().unwrap());
    arrays.wait().unwrap();
    assert!(arrays.failure().is_none(), "{:?}", arrays.failure());
    let it = arrays.statistics();
    let moved = [it.upload_bytes + it.between_device_bytes, it.download_bytes];
    (run.found, run.planned, (!run.is_blind).then_some(moved))
}

fn layers() -> Vec<Arc<Overtake>> {
    let driver: Arc<dyn Driver> = Arc::new(softgpu::SoftGpu::builder().devices(4).build());
    let layer = |device: i32| {
        let context = CudaContext::primary(&driver, Device(device)).unwrap();
        Arc::new(Overtake::open_in(&context, Options::default()).unwrap())
    };
    (0..4).map(layer).collect()
}

/// Plans and runs a program, and compares.
fn compare(layers: &[Arc<Overtake>], program: &Program, policies: &Policies) {
    let plan = program.plan(policies, layers.len() as u8).unwrap();
    let totals = plan.totals;
    // From where they come depends on the transfers that have ended.
    let moved = [totals.to_devices_bytes + totals.between_devices_bytes, totals.to_host_bytes];
    let text = (0..program.computations.len()).map(|number| program.arguments(number)).collect::<Vec<_>>().join(" ");
    let (found, planned, copied) = run(layers, program, &plan, policies);
    assert_eq!(found, planned, "{text}\n{:?}", policies.names());
    assert_eq!(copied.unwrap_or(moved), moved, "{text}\n{:?}", policies.names());
}

#[test]
fn devices_streams_and_transfers_are_those_of_the_plan() {
    let (layers, config) = (layers(), Config { cases: 1000, failure_persistence: None, ..Config::default() });
    let argument = (0_usize..4, 0_usize..5, 0_u64..16, 0_u64..16);
    let computations = vec((vec(argument, 1..4), any::<u8>()), 1..14);
    let drawn = (computations, 1_usize..5, 1_usize..5, any::<[usize; 3]>(), any::<bool>());
    let compared = TestRunner::new(config).run(&drawn, |(computations, arrays, devices, chosen, is_grcuda)| {
        let program = program(arrays, computations);
        compare(&layers[..devices], &program, &policies(chosen, is_grcuda, devices as u8));
        Ok(())
    });
    compared.unwrap_or_else(|failure| panic!("{failure}"));
}
