//! Machines with few hardware queues.

use std::sync::Arc;

use hal::{Code, Device, Driver, Nanos};
use overtake::copy::{CopyHandle, Look, Plan, Reason};
use overtake::options::Transport;
use overtake::{Overtake, PriorityStream};
use softgpu::Connections;

use crate::bed;
use crate::checks::guard;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::faulty::Faulty;
use crate::lane::{Lane, level};
use crate::model::on;
use crate::place::Side;
use crate::raw;

const BYTES: u64 = 512 << 10;

/// If all copies share one queue, a wait blocks everything. So nothing ever waits there.
pub fn one_copy_queue() -> Outcome {
    for connections in [Connections { max: Some(1), copy: None }, Connections { max: None, copy: Some(1) }] {
        on(
            |builder| builder.connections(connections),
            |_, rig| {
                let overtake = bed::open(rig, bed::with_queues(bed::small_options(), 1))?;
                ensure!(overtake.statistics().stood_down, "it took one queue for several");
                let memory = (rig.pinned(BYTES)?, rig.buffer(BYTES)?);
                let low = overtake.adopt(rig.stream()?, level(1))?;
                let request = raw::request((Side::Device(memory.1), 0), (Side::Host(&memory.0), 0), BYTES);
                ensure!(matches!(low.look(&request, level(1)), Look::Met(_)), "it goes natively for another reason");
                let _high = overtake.adopt(rig.stream()?, level(3))?;
                let handle = raw::htod(&low, memory.1, &memory.0, BYTES)?;
                same("the plan", &handle.plan(), &Plan::Native(Reason::StoodDown))?;
                handle.wait()?;
                let mut lane = Lane::new(rig, &overtake, 2, 100_000, 9)?;
                (0..20).try_for_each(|_| lane.copy())?;
                lane.stream.synchronize()?;
                lane.verify(rig)
            },
        )?;
    }
    Ok(())
}

/// The remedy in the message: one queue for kernels, eight for copies.
pub fn one_kernel_queue() -> Outcome {
    on(
        |builder| builder.connections(Connections { max: Some(1), copy: Some(8) }),
        |_, rig| {
            let overtake = bed::open(rig, bed::with_queues(bed::small_options(), 8))?;
            ensure!(!overtake.statistics().stood_down, "eight copy queues are enough");
            let spin = rig.kernels()?.spin;
            let lanes = [1, 2, 3].map(|priority| Lane::new(rig, &overtake, priority, 200_000, u64::from(priority)));
            let mut lanes = lanes.into_iter().collect::<Result<Vec<_>, _>>()?;
            for _ in 0..30 {
                lanes.iter_mut().try_for_each(|lane| lane.copy_behind_kernels(rig.driver(), spin))?;
            }
            lanes.iter().try_for_each(|lane| lane.stream.synchronize())?;
            bed::at_rest(rig, &overtake)?;
            lanes.iter().try_for_each(|lane| lane.verify(rig))
        },
    )
}

/// The plans of bulk in four streams, each behind a kernel of its stream that outlives the calls.
fn plans_of_waiting_streams(copy_queues: u32) -> Result<Vec<Plan>, Failure> {
    on(
        |builder| builder.connections(Connections { max: None, copy: Some(copy_queues) }),
        |_, rig| {
            let overtake = bed::open(rig, bed::with_queues(bed::transport(Transport::Engine), copy_queues))?;
            let _high = overtake.adopt(rig.stream()?, level(3))?;
            let (memory, spin) = ((rig.pinned(BYTES)?, rig.buffer(BYTES)?), rig.kernels()?.spin);
            let mut copies = Vec::new();
            for span_ms in (1..=4).rev() {
                let low = overtake.adopt(rig.stream()?, level(1))?;
                raw::spin(rig.driver(), spin, span_ms * 1_000_000, low.raw())?;
                copies.push(raw::htod(&low, memory.1, &memory.0, BYTES)?);
            }
            let plans = copies.iter().map(CopyHandle::plan).collect();
            // The last begins first: no copy stands behind one that waits for longer.
            let are_done = copies.iter().rev().map(|copy| {
                copy.wait()?;
                Ok(copies.iter().map(CopyHandle::is_done).collect::<hal::Result<Vec<bool>>>()?)
            });
            let are_done = are_done.collect::<Result<Vec<_>, Failure>>()?;
            let expected: Vec<Vec<bool>> =
                (0..4).rev().map(|first| (0..4).map(|copy| copy >= first).collect()).collect();
            same("the copies that have ended, after each", &are_done, &expected)?;
            bed::at_rest(rig, &overtake)?;
            Ok(plans)
        },
    )
}

/// Bulk of several streams waits in chunks beside each other, where queues are left for it. Others go by kernel.
pub fn several_streams_wait_in_chunks() -> Outcome {
    let (chunks, kernel) = (Plan::Engine { raises: false }, Plan::Kernel { raises: false });
    same("with four queues", &plans_of_waiting_streams(4)?, &vec![chunks, kernel, kernel, kernel])?;
    same("with six", &plans_of_waiting_streams(6)?, &vec![chunks, chunks, kernel, kernel])?;
    same("with eight", &plans_of_waiting_streams(8)?, &vec![chunks, chunks, chunks, kernel])
}

/// A copy that tolerates a wait may find a chunk of each channel before it, so more channels have shorter chunks.
pub fn chunks_are_shorter_where_streams_take_turns() -> Outcome {
    const LONG: u64 = 8 * BYTES;
    on(
        |builder| builder.connections(Connections { max: None, copy: Some(8) }),
        |_, rig| {
            let options = bed::small_options().with_profile(|profile| profile.chunk_max = Nanos::from_us(5));
            let overtake = bed::open(rig, bed::with_queues(options, 8))?;
            let _camera = overtake.expect(level(3), None)?.tolerating(Nanos::from_us(60));
            let (memory, spin) = ((rig.pinned(LONG)?, rig.buffer(LONG)?), rig.kernels()?.spin);
            let lows = (0..3).map(|_| Ok(overtake.adopt(rig.stream()?, level(1))?));
            let lows = lows.collect::<Result<Vec<PriorityStream>, Failure>>()?;
            let mut chunks = Vec::new();
            for low in lows.iter().chain(&lows[2..]) {
                raw::spin(rig.driver(), spin, 1_000_000, low.raw())?;
                let before = overtake.statistics().chunks;
                raw::htod(low, memory.1, &memory.0, LONG)?;
                chunks.push(overtake.statistics().chunks - before);
            }
            // The channel of a copy is made after its chunks are.
            same("the chunks of copies beside none, one and two others", &chunks, &vec![3, 3, 5, 7])?;
            lows.iter().try_for_each(PriorityStream::synchronize)?;
            bed::at_rest(rig, &overtake)
        },
    )
}

/// Opens so many layers, each on a thread of its own if there are several. Returns the number of kernels launched.
fn launches_of(layers: &[usize]) -> Result<Vec<u64>, Failure> {
    on(
        |builder| builder,
        |_, rig| {
            let faulty = Faulty::new(rig.shared_driver(), Code::UNKNOWN);
            let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
            let mut made = Vec::new();
            for at_once in layers {
                let open = || {
                    let driver = Arc::clone(&driver);
                    hal::spawn(rig.shared_driver(), "opens", move || {
                        Overtake::open(&driver, Device(0), guard::options()).map(drop)
                    })
                };
                let threads = (0..*at_once).map(|_| open()).collect::<Result<Vec<_>, _>>()?;
                for thread in threads {
                    thread.join(rig.driver().host())?;
                }
                made.push(faulty.made().get("launch").copied().unwrap_or(0));
            }
            Ok(made)
        },
    )
}

/// A thread probes whether kernels pass waits, and those that open layers at the same time or later use its findings.
pub fn probed_once() -> Outcome {
    let one_by_one = launches_of(&[1, 1])?;
    let (first, later) = (one_by_one[0], one_by_one[1] - one_by_one[0]);
    same("kernels of a probe", &(first - later), &5)?;
    same("kernels of four threads", &launches_of(&[4])?, &vec![first + 3 * later])
}
