//! Priority streams: their CUDA priorities, their effect on others, and the end of that effect.

use std::sync::Arc;

use overtake::copy::{CopyHandle, Plan, Reason};
use overtake::{Options, Overtake, PriorityStream};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::lane::level;
use crate::memory::Pinned;
use crate::place::{Buffer, Side};
use crate::raw;
use crate::rig::Rig;

const BYTES: u64 = 512 << 10;
const URGENT_BYTES: u64 = 64 << 10;

/// The kernels of a stream get the corresponding CUDA priority: bulk the least, the most urgent the greatest.
pub fn cuda_priorities(rig: &Rig) -> Outcome {
    let range = rig.driver().priority_range()?;
    ensure!(range.greatest < range.least, "{range:?}: the device has one priority only");
    for count in [2, 3, 7] {
        let priorities = overtake::Priorities::new(count).expect("a valid count");
        let overtake = bed::open(rig, Options { priorities, ..bed::small_options() })?;
        let seen = priorities.iter().map(|priority| {
            let stream = overtake.stream(priority)?;
            Ok(rig.driver().stream_priority(stream.raw())?)
        });
        let seen = seen.collect::<Result<Vec<i32>, Failure>>()?;
        let ends = (seen[0], seen[seen.len() - 1]);
        same("the CUDA priorities of bulk and of the most urgent", &ends, &(range.least, range.greatest))?;
        ensure!(seen.windows(2).all(|pair| pair[1] <= pair[0]), "a more urgent stream has a lesser one: {seen:?}");
    }
    Ok(())
}

/// Memory for copies both ways.
struct Memory {
    host: Arc<Pinned>,
    device: Buffer,
}

impl Memory {
    fn new(rig: &Rig) -> Result<Memory, Failure> {
        Ok(Memory { host: rig.pinned(BYTES)?, device: rig.buffer(BYTES)? })
    }

    fn to_device(&self, stream: &PriorityStream, bytes: u64, priority: Option<u8>) -> Result<CopyHandle, Failure> {
        let (device, host) = ((Side::Device(self.device), 0), (Side::Host(&self.host), 0));
        Ok(raw::linear(stream, device, host, bytes, priority.map(level))?)
    }

    fn to_host(&self, stream: &PriorityStream, bytes: u64, priority: Option<u8>) -> Result<CopyHandle, Failure> {
        let (device, host) = ((Side::Device(self.device), 0), (Side::Host(&self.host), 0));
        Ok(raw::linear(stream, host, device, bytes, priority.map(level))?)
    }

    /// The plans of bulk to the device and to the host.
    fn bulk(&self, rig: &Rig, overtake: &Overtake, stream: &PriorityStream) -> Result<[Plan; 2], Failure> {
        let plans = [self.to_device(stream, BYTES, None)?.plan(), self.to_host(stream, BYTES, None)?.plan()];
        stream.synchronize()?;
        bed::at_rest(rig, overtake)?;
        Ok(plans)
    }
}

/// A stream's announced priorities end with it: after it is dropped, bulk is alone again on each engine where they
/// were announced.
pub fn announcements_end(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (low, memory) = (overtake.adopt(rig.stream()?, level(1))?, Memory::new(rig)?);
    let (alone, held) = (Plan::Native(Reason::Alone), Plan::Kernel { raises: false });
    same("before", &memory.bulk(rig, &overtake, &low)?, &[alone, alone])?;
    let plain = overtake.adopt_plain(rig.stream()?);
    memory.to_device(&plain, URGENT_BYTES, Some(3))?;
    same("with urgent requests to the device", &memory.bulk(rig, &overtake, &low)?, &[held, alone])?;
    memory.to_host(&plain, URGENT_BYTES, Some(2))?;
    same("with urgent requests both ways", &memory.bulk(rig, &overtake, &low)?, &[held, held])?;
    drop(plain);
    same("after", &memory.bulk(rig, &overtake, &low)?, &[alone, alone])
}

/// A copy behind a wait for another stream may not be schedulable. It is tracked by itself and not taken for running
/// because the copies before it were running.
pub fn waiting_ends_a_run(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options().with_profile(|profile| profile.fence_every = 8))?;
    let (low, high) = (overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(3))?);
    let memory = Memory::new(rig)?;
    let tracked = |what: &str, expected: u64| -> Outcome {
        memory.to_device(&high, URGENT_BYTES, None)?.wait()?;
        bed::at_rest(rig, &overtake)?;
        let latencies = overtake.statistics().latencies;
        same(what, &latencies.get(&3).map_or(0, |latency| latency.count), &expected)
    };
    tracked("copies with a fence, after the first", 1)?;
    tracked("copies with a fence, after one that follows", 1)?;
    high.wait_for(&low)?;
    tracked("copies with a fence, after one behind a wait", 2)
}
