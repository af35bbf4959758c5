//! Bulk that goes as it is, in its turn at the engine, while all copies to come tolerate the wait for it.

use hal::{Nanos, Stream};
use overtake::copy::{Plan, Reason};
use overtake::options::Transport;
use overtake::{Expected, Options, PriorityStream};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::lane::{Lane, level};
use crate::raw;
use crate::rig::Rig;
use crate::scene::Scene;
use crate::streams::Streams;

/// It keeps an engine for 15 us.
const BULK_BYTES: u64 = 512 << 10;
const WHOLE: Plan = Plan::Native(Reason::WithinBudget);
const CHUNKS: Plan = Plan::Engine { raises: false };
const KERNEL: Plan = Plan::Kernel { raises: false };

/// The urgent stream is quiet. Chunks are those of a tolerance if they are longer than 4 us.
fn streams(rig: &Rig) -> Result<Streams<'_>, Failure> {
    streams_with(rig, bed::small_options())
}

fn streams_with(rig: &Rig, options: Options) -> Result<Streams<'_>, Failure> {
    let overtake = bed::open(rig, options)?;
    let urgent = overtake.adopt_quiet(rig.stream()?, level(3))?;
    Streams::new(rig, overtake, urgent, 8 * BULK_BYTES)
}

impl Streams<'_> {
    fn camera(&self, tolerance_us: u64) -> Result<Expected, Failure> {
        Ok(self.overtake.expect(level(3), None)?.tolerating(Nanos::from_us(tolerance_us)))
    }

    /// The plan of a copy to the device beside no other.
    fn goes(&self, when: &str, bytes: u64, plan: Plan) -> Outcome {
        self.goes_in(when, &self.bulk, bytes, plan)?;
        self.rest()
    }

    fn goes_in(&self, when: &str, stream: &PriorityStream, bytes: u64, plan: Plan) -> Outcome {
        same(when, &raw::htod(stream, self.device, &self.host, bytes)?.plan(), &plan)
    }
}

/// One that tolerates no wait, or a shorter one, ends it with the next copy.
pub fn while_all_tolerate(rig: &Rig) -> Outcome {
    let bed = streams(rig)?;
    let camera = bed.camera(20)?;
    bed.goes("bulk beside a camera that tolerates 20 us", BULK_BYTES, WHOLE)?;
    bed.goes("bulk that takes longer", 2 * BULK_BYTES, CHUNKS)?;
    let hasty = bed.camera(10)?;
    bed.goes("bulk beside one that tolerates 10 us too", BULK_BYTES, CHUNKS)?;
    bed.goes("bulk that takes less", BULK_BYTES / 4, WHOLE)?;
    let impatient = bed.overtake.expect(level(3), None)?;
    bed.goes("bulk beside one that tolerates none", BULK_BYTES / 4, KERNEL)?;
    drop((impatient, hasty));
    bed.goes("bulk beside the first alone", BULK_BYTES, WHOLE)?;
    let open = bed.overtake.adopt(rig.stream()?, level(2))?;
    bed.goes("bulk beside an open stream", BULK_BYTES, KERNEL)?;
    drop((open, camera));
    bed.goes("bulk beside nothing", BULK_BYTES, Plan::Native(Reason::Alone))?;
    same("copies counted", &bed.overtake.statistics().native[&Reason::WithinBudget].copies, &3)
}

/// While bulk of another stream is under way, it counts.
pub fn beside_other_bulk(rig: &Rig) -> Outcome {
    let bed = streams(rig)?;
    let (_camera, other) = (bed.camera(50)?, bed.overtake.adopt(rig.stream()?, level(1))?);
    let gate = rig.gate(bed.bulk.raw())?;
    bed.goes_in("the first copy", &bed.bulk, BULK_BYTES, WHOLE)?;
    bed.goes_in("the next one of its stream", &bed.bulk, BULK_BYTES, WHOLE)?;
    // With the first stream that makes three turns before an urgent copy.
    bed.goes_in("a copy of another stream that all tolerate beside it", &other, BULK_BYTES, WHOLE)?;
    bed.goes_in("a longer one", &other, 2 * BULK_BYTES, CHUNKS)?;
    gate.open();
    other.synchronize()?;
    bed.rest()?;
    bed.goes("the longer one when the first stream has none", 2 * BULK_BYTES, WHOLE)
}

/// Urgent copies beside requests of 4 MiB without end, both ways: a real GPU is judged too.
pub fn waits_of_urgent_copies(rig: &Rig) -> Outcome {
    let seen = Scene { streams: 1, bytes: 4 << 20, urgent_streams: 2 }.play(rig, Options::default())?;
    ensure!(seen.not_whole == 0 && seen.whole > 100 && seen.part >= 0.9, "{seen:?}");
    Ok(())
}

/// The same beside three streams each way, which go in chunks.
pub fn waits_behind_chunks(rig: &Rig) -> Outcome {
    let seen = Scene { streams: 3, bytes: 4 << 20, urgent_streams: 2 }.play(rig, Options::default())?;
    ensure!(seen.whole == 0 && seen.not_whole > 100, "{seen:?}");
    Ok(())
}

/// An urgent copy waits for its turn, for a time that is not known. So the time that it takes itself does not tell its
/// end, and other bulk gives way until then.
pub fn hold_urgent_words_up(rig: &Rig) -> Outcome {
    let (bed, host) = (streams(rig)?, rig.driver().host());
    let _camera = bed.camera(200)?;
    bed.goes_in("the first copy", &bed.bulk, 8 * BULK_BYTES, WHOLE)?;
    bed.rest()?;
    let urgent = || raw::htod(&bed.urgent, bed.device, &bed.host, 64 << 10);
    // The next one may go behind the fence of this one.
    urgent()?.wait()?;
    bed.rest()?;
    bed.goes_in("a copy of 80 us", &bed.bulk, 8 * BULK_BYTES, WHOLE)?;
    host.sleep(Nanos::from_us(10));
    let copy = urgent()?;
    host.sleep(Nanos::from_us(30));
    ensure!(!copy.is_done()? && bed::raised(&bed.overtake) == 1, "no word is up while the urgent copy waits");
    copy.wait()?;
    bed.rest()
}

/// No word goes behind copies of the legacy stream, and the per-thread stream is one of each thread.
pub fn not_of_default_streams(rig: &Rig) -> Outcome {
    let bed = streams(rig)?;
    let _camera = bed.camera(50)?;
    for handle in [Stream::LEGACY, Stream::PER_THREAD] {
        let default = bed.overtake.adopt(handle, level(1))?;
        bed.goes_in("bulk of a default stream", &default, BULK_BYTES, CHUNKS)?;
        default.synchronize()?;
        bed.rest()?;
    }
    bed.goes("bulk of a stream of its own", BULK_BYTES, WHOLE)
}

/// Those of staged copies are counted while they are in flight.
pub fn where_copies_may_be_staged(rig: &Rig) -> Outcome {
    let bed = streams_with(rig, Options { staging: true, staging_threads: 2, ..bed::small_options() })?;
    let _camera = bed.camera(50)?;
    bed.goes("bulk where copies may be staged", BULK_BYTES, WHOLE)
}

/// Bulk has the queues of CUDA's variable then.
pub fn without_channels(rig: &Rig) -> Outcome {
    let bed = streams_with(rig, bed::small_options().with_profile(|profile| profile.channels = false))?;
    let _camera = bed.camera(20)?;
    bed.goes("bulk beside a camera that tolerates 20 us", BULK_BYTES, WHOLE)?;
    bed.goes("bulk that takes longer", 2 * BULK_BYTES, KERNEL)
}

/// A chunk and the next one, which may have begun to be fetched, take no longer than all tolerate. Else they have the
/// length that is measured to be best.
pub fn chunks_follow_the_tolerance(rig: &Rig) -> Outcome {
    let bed = streams_with(rig, Options::default().with_profile(|profile| profile.transport = Transport::Engine))?;
    let chunks = |tolerance_us| -> Result<u64, Failure> {
        let (_camera, before) = (bed.camera(tolerance_us)?, bed.overtake.statistics().chunks);
        bed.goes("bulk by the engine", 8 * BULK_BYTES, CHUNKS)?;
        Ok(bed.overtake.statistics().chunks - before)
    };
    same("chunks of 4 MiB with 0 and 20 us", &[chunks(0)?, chunks(20)?], &[2, 11])
}

/// Copies that go whole, in chunks and by kernel keep the order of their stream, and move every byte.
pub fn bytes(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options().with_profile(|profile| profile.chunk_max = Nanos::from_us(1)))?;
    let _urgent = overtake.adopt_quiet(rig.stream()?, level(3))?;
    let _camera = overtake.expect(level(3), None)?.tolerating(Nanos::from_us(30));
    let spin = rig.kernels()?.spin;
    let lanes =
        [(200_000, 1), (600_000, 2), (2_000_000, 3)].map(|(bytes, seed)| Lane::new(rig, &overtake, 1, bytes, seed));
    let mut lanes = lanes.into_iter().collect::<Result<Vec<_>, _>>()?;
    for round in 0..20 {
        for lane in &mut lanes {
            raw::spin(rig.driver(), spin, 1_000 * (round % 7), lane.stream.raw())?;
            lane.bulk()?;
            lane.bulk()?;
        }
        if round % 5 == 4 {
            lanes.iter().try_for_each(|lane| lane.stream.synchronize())?;
            bed::at_rest(rig, &overtake)?;
        }
    }
    lanes.iter().try_for_each(|lane| lane.stream.synchronize())?;
    bed::at_rest(rig, &overtake)?;
    let counts = overtake.statistics();
    let whole = counts.native.get(&Reason::WithinBudget).map_or(0, |class| class.copies);
    ensure!(whole > 10 && counts.engine.copies > 10, "{whole} copies went whole, {} in chunks", counts.engine.copies);
    lanes.iter().try_for_each(|lane| lane.verify(rig))
}
