//! Programs that give no stream a priority, beside bulk: the shapes of `benches/gpu/shapes.py` and `frames.c`, in
//! virtual time. Their copies have the ranks that the rule of demand gives them. Those of pageable memory are in
//! `unpinned.rs`.

use std::sync::Arc;

use hal::Nanos;
use overtake::{Overtake, PriorityStream};

use super::unpinned::options;
use crate::bed;
use crate::failure::{Failure, Outcome, ensure};
use crate::lane::level;
use crate::memory::Pinned;
use crate::model::on;
use crate::place::{Buffer, Side};
use crate::raw;
use crate::rig::Rig;
use crate::running::Running;

/// Steps before those that are measured: bulk that was alone gives way from then on.
const WARM: usize = 4;
/// Steps that are measured, and the pause before each.
const STEPS: usize = 24;
const PAUSE: Nanos = Nanos::from_us(400);

/// A step beside bulk takes at most so many times its median on an idle device: in the median, and at most.
const MEDIAN_FACTOR_MAX: f64 = 1.5;
const LONGEST_FACTOR_MAX: f64 = 2.0;

const TO_DEVICE: bool = true;
const TO_HOST: bool = false;

/// Copies of pinned memory: so many streams, each with one copy in each of these directions, and kernels behind the
/// first ones for so long.
struct Step {
    streams: usize,
    bytes: u64,
    ways: &'static [bool],
    kernels: Nanos,
}

/// Copies without end: a thread for each direction, with so many copies in its stream at once.
struct Load {
    bytes: u64,
    is_pinned: bool,
    ways: &'static [bool],
    queued: usize,
    /// Bytes that go back to pageable memory after those.
    checked: u64,
    /// The least rate of all its threads together, in GB/s.
    gbps_min: f64,
}

/// A pinned block and one of the device, with a stream.
struct Lane {
    stream: PriorityStream,
    device: Buffer,
    host: Arc<Pinned>,
    bytes: u64,
}

impl Lane {
    fn new(rig: &Rig, overtake: &Overtake, bytes: u64) -> Result<Lane, Failure> {
        let stream = overtake.adopt_plain(rig.stream()?);
        Ok(Lane { stream, device: rig.buffer(bytes)?, host: rig.pinned(bytes)?, bytes })
    }

    fn copy(&self, way: bool, rank: u8) -> Outcome {
        let sides = [(Side::Device(self.device), 0), (Side::Host(&self.host), 0)];
        let [target, source] = if way == TO_DEVICE { sides } else { [sides[1], sides[0]] };
        raw::linear(&self.stream, target, source, self.bytes, Some(level(rank)))?;
        Ok(())
    }
}

impl Step {
    /// The median and the longest time of a step.
    fn times(&self, rig: &Rig, overtake: &Overtake) -> Result<(Nanos, Nanos), Failure> {
        let lanes = (0..self.streams).map(|_| Lane::new(rig, overtake, self.bytes));
        let (lanes, host) = (lanes.collect::<Result<Vec<_>, Failure>>()?, rig.driver().host());
        let mut times = Vec::new();
        for number in 0..WARM + STEPS {
            // Bulk and steps do not keep pace.
            host.sleep(PAUSE + Nanos(7_919 * number as u64 % 40_000));
            let began = host.now();
            for (place, way) in self.ways.iter().enumerate() {
                lanes.iter().try_for_each(|lane| lane.copy(*way, 2))?;
                lanes.iter().try_for_each(|lane| lane.stream.synchronize())?;
                host.sleep(if place == 0 { self.kernels } else { Nanos::ZERO });
            }
            times.push(host.now().since(began));
        }
        times.drain(..WARM);
        times.sort_unstable();
        Ok((times[STEPS / 2], times[STEPS - 1]))
    }
}

impl Load {
    fn start<'a>(&self, rig: &'a Rig, overtake: &Overtake) -> Result<Running<'a>, Failure> {
        let mut running = Running::new(rig);
        for &way in self.ways {
            let lane = Lane::new(rig, overtake, self.bytes)?;
            let (is_pinned, queued, checked) = (self.is_pinned, self.queued, self.checked);
            running.spawn("load", move |_, progress| {
                let mut memory = vec![1; if is_pinned { checked } else { lane.bytes } as usize];
                while progress.goes_on() {
                    for _ in 0..queued {
                        match is_pinned {
                            true => lane.copy(way, 1)?,
                            false => {
                                let direction = (way == TO_DEVICE, level(1));
                                raw::pageable(&lane.stream, lane.device, &mut memory, direction).map(drop)?;
                            }
                        }
                    }
                    if checked > 0 {
                        raw::pageable(&lane.stream, lane.device, &mut memory, (TO_HOST, level(1)))?;
                    }
                    lane.stream.synchronize()?;
                    progress.add(queued as u64 * lane.bytes + checked);
                }
                Ok(())
            });
        }
        Ok(running)
    }
}

fn beside(rig: &Rig, step: &Step, load: &Load) -> Outcome {
    let overtake = bed::open(rig, options())?;
    let (idle, _) = step.times(rig, &overtake)?;
    let mut running = load.start(rig, &overtake)?;
    running.wait_for(4 * load.bytes)?;
    let (gbps, (median, longest)) = running.rate(|| step.times(rig, &overtake))?;
    running.end()?;
    let [median_factor, longest_factor] = [median, longest].map(|time| time.0 as f64 / idle.0 as f64);
    let found = format!("{idle} idle, {median} and at most {longest} beside {gbps:.1} GB/s");
    ensure!(median_factor <= MEDIAN_FACTOR_MAX && longest_factor <= LONGEST_FACTOR_MAX, "{found}");
    ensure!(gbps >= load.gbps_min, "{found}");
    Ok(())
}

fn on_model(step: &Step, load: &Load) -> Outcome {
    on(|builder| builder, |_, rig| beside(rig, step, load))
}

/// Pinned copies.
fn load(bytes: u64, ways: &'static [bool], queued: usize, gbps_min: f64) -> Load {
    Load { bytes, is_pinned: true, ways, queued, checked: 0, gbps_min }
}

/// Eight cameras, each with a stream of its own, beside large copies.
pub fn cameras() -> Outcome {
    let step = Step { streams: 8, bytes: 1 << 20, ways: &[TO_DEVICE], kernels: Nanos::ZERO };
    on_model(&step, &load(32 << 20, &[TO_DEVICE], 2, 30.0))
}

/// A request there and its answer back, beside tensors that are loaded from pageable memory.
pub fn requests() -> Outcome {
    let step = Step { streams: 1, bytes: 64 << 10, ways: &[TO_DEVICE, TO_HOST], kernels: Nanos::from_us(150) };
    on_model(&step, &Load { is_pinned: false, ..load(16 << 20, &[TO_DEVICE], 1, 15.0) })
}

/// The loss of each training step, beside parts of a checkpoint that go to pinned memory, and are checked from pageable
/// memory.
pub fn training() -> Outcome {
    let step = Step { streams: 1, bytes: 16 << 10, ways: &[TO_HOST], kernels: Nanos::from_us(300) };
    on_model(&step, &Load { checked: 16 << 20, ..load(32 << 20, &[TO_HOST], 4, 25.0) })
}

/// Tokens of decoding, beside blocks of 2 MiB that are offloaded and brought back.
pub fn decoding() -> Outcome {
    let step = Step { streams: 4, bytes: 64 << 10, ways: &[TO_HOST], kernels: Nanos::from_us(150) };
    on_model(&step, &load(2 << 20, &[TO_DEVICE, TO_HOST], 8, 30.0))
}
