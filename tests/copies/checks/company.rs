//! The other copies that a copy has to consider: those of other streams, on its own engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hal::Nanos;
use overtake::Options;
use overtake::copy::{Plan, Reason};

use crate::bed;
use crate::failure::{Outcome, same};
use crate::lane::level;
use crate::place::{Block, Extent, Side};
use crate::raw;
use crate::rig::Rig;

const FRAME_BYTES: u64 = 512 << 10;
const RESULT_BYTES: u64 = 32 << 10;
const BULK_BYTES: u64 = 2 << 20;
const ALONE: Plan = Plan::Native(Reason::Alone);

/// Large frames in, small results out, on several streams: no copy has another to overtake. Whether the caller names
/// the direction or leaves it to the driver to infer makes no difference.
pub fn not_the_other_engine(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (frames, results) = (rig.buffer(FRAME_BYTES)?, rig.buffer(RESULT_BYTES)?);
    let (sent, back) = (rig.pinned(FRAME_BYTES)?, rig.pinned(RESULT_BYTES)?);
    let extent = Extent { width_bytes: 1 << 10, height: FRAME_BYTES >> 10, depth: 1 };
    let block = |side| Block { side, pitch_bytes: 1 << 10, slice_rows: 0, x_bytes: 0, y: 0, z: 0 };
    let named = (Side::Device(frames), Side::Host(&sent), Side::Host(&back), Side::Device(results));
    let inferred =
        (Side::UnifiedDevice(frames), Side::UnifiedHost(&sent), Side::UnifiedHost(&back), Side::UnifiedDevice(results));
    let streams = [overtake.adopt_plain(rig.stream()?), overtake.adopt_plain(rig.stream()?)];
    for stream in [&streams[0], &streams[1], &streams[0]] {
        for (to_device, frame, to_host, result) in [named, inferred] {
            let frame = raw::boxed(stream, block(to_device), block(frame), extent, None)?;
            same("a frame", &frame.plan(), &ALONE)?;
            let frame = raw::linear(stream, (to_device, 0), (Side::UnifiedHost(&sent), 0), FRAME_BYTES, None)?;
            same("a frame without rows", &frame.plan(), &ALONE)?;
            let result = raw::linear(stream, (to_host, 0), (result, 0), RESULT_BYTES, Some(level(2)))?;
            same("a result", &result.plan(), &ALONE)?;
            result.wait()?;
        }
    }
    bed::at_rest(rig, &overtake)
}

/// Large and small copies of one stream only: none could overtake another.
pub fn not_its_own_stream(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (host, device) = (rig.pinned(FRAME_BYTES)?, rig.buffer(FRAME_BYTES)?);
    let stream = overtake.adopt_plain(rig.stream()?);
    for _ in 0..2 {
        for (bytes, priority) in [(FRAME_BYTES, 1), (RESULT_BYTES, 3)] {
            let copy =
                raw::linear(&stream, (Side::Device(device), 0), (Side::Host(&host), 0), bytes, Some(level(priority)))?;
            same("a copy of the only stream", &copy.plan(), &ALONE)?;
        }
    }
    let other = overtake.adopt_plain(rig.stream()?);
    let beside = raw::htod(&other, device, &host, FRAME_BYTES)?;
    same("bulk of another stream", &beside.plan(), &Plan::Kernel { raises: false })?;
    let urgent = raw::linear(&stream, (Side::Device(device), 0), (Side::Host(&host), 0), RESULT_BYTES, Some(level(3)))?;
    same("an urgent copy, now that there is another", &urgent.plan(), &Plan::Urgent)?;
    other.synchronize()?;
    stream.synchronize()?;
    bed::at_rest(rig, &overtake)
}

/// A layer is opened while another thread makes and frees memory. Each of its frees waits for the device, which keeps
/// the opening thread out of the driver while the device waits for a word of its probe.
pub fn opens_beside_frees(rig: &Rig) -> Outcome {
    let end = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&end);
    let frees = rig.spawn("frees", move |driver| {
        while !seen.load(Ordering::Acquire) {
            let memory = driver.mem_alloc(1 << 20)?;
            driver.host().sleep(Nanos::from_us(20));
            driver.mem_free(memory)?;
        }
        Ok(())
    });
    let options = || Options::default().with_profile(|profile| profile.guard_bytes_min = Some(1 << 20));
    rig.driver().host().sleep(Nanos::from_ms(1));
    let opened: Vec<_> = (0..3).map(|_| bed::open(rig, options())).collect();
    end.store(true, Ordering::Release);
    rig.join(frees)?;
    // A layer whose probe has not found out makes no bulk give way.
    opened.into_iter().try_for_each(|overtake| {
        let overtake = overtake?;
        let (host, device) = (rig.pinned(BULK_BYTES)?, rig.buffer(BULK_BYTES)?);
        let streams = [overtake.adopt_plain(rig.stream()?), overtake.adopt_plain(rig.stream()?)];
        let (target, source) = ((Side::Device(device), 0), (Side::Host(&host), 0));
        let small = raw::linear(&streams[0], target, source, RESULT_BYTES, Some(level(3)))?;
        let bulk = raw::htod(&streams[1], device, &host, BULK_BYTES)?;
        same("bulk beside an urgent stream", &bulk.plan(), &Plan::Kernel { raises: false })?;
        small.wait()?;
        bulk.wait()?;
        bed::at_rest(rig, &overtake)
    })
}
