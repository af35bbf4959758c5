//! The capture mode of a thread is the same before and after every call of the layer.

use hal::CaptureMode;

use crate::bed;
use crate::checks::guard;
use crate::failure::{Outcome, same};
use crate::lane::level;
use crate::raw;
use crate::rig::Rig;

const BYTES: u64 = 512 << 10;

/// Every entrance of the layer, from a thread of each mode.
pub fn modes_are_kept(rig: &Rig) -> Outcome {
    let before = rig.driver().exchange_capture_mode(CaptureMode::Global)?;
    let outcome = [CaptureMode::Global, CaptureMode::ThreadLocal, CaptureMode::Relaxed]
        .into_iter()
        .try_for_each(|mode| in_mode(rig, mode));
    rig.driver().exchange_capture_mode(before)?;
    outcome
}

fn in_mode(rig: &Rig, mode: CaptureMode) -> Outcome {
    rig.driver().exchange_capture_mode(mode)?;
    let kept = |what: &str| same(what, &rig.driver().exchange_capture_mode(mode)?, &mode);
    for options in [guard::options(), bed::transport(overtake::options::Transport::Engine)] {
        let overtake = bed::open(rig, options)?;
        kept("opening")?;
        let (low, high) = (overtake.adopt(rig.stream()?, level(1))?, overtake.stream(level(3))?);
        kept("making a stream")?;
        let memory = (rig.pinned(BYTES)?, rig.buffer(BYTES)?);
        let spin = rig.kernels()?.spin;
        for stream in [&low, &high, &low, &high] {
            raw::spin(rig.driver(), spin, 50_000, stream.raw())?;
            let copies =
                [raw::htod(stream, memory.1, &memory.0, BYTES)?, raw::dtoh(stream, &memory.0, memory.1, 64 << 10)?];
            kept("copying")?;
            copies.iter().try_for_each(|copy| copy.wait())?;
            kept("waiting")?;
        }
        raw::htod(&low, memory.1, &memory.0, BYTES)?;
        overtake.freeing(memory.1.at(0));
        kept("freeing")?;
        raw::htod(&low, memory.1, &memory.0, BYTES)?;
        drop(overtake.blocking());
        kept("blocking")?;
        [&low, &high].iter().try_for_each(|stream| stream.synchronize())?;
        bed::at_rest(rig, &overtake)?;
        drop((low, high, overtake));
        kept("closing")?;
    }
    Ok(())
}
