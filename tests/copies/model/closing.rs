//! Closing while work is queued: the work passes, it arrives, and no object is left behind.

use hal::Nanos;
use overtake::copy::{CopyHandle, Plan, Reason};
use overtake::options::{Emulation, Transport};
use overtake::{Options, Overtake};

use crate::bed;
use crate::failure::{Outcome, ensure, same, same_bytes};
use crate::lane::{Lane, level};
use crate::model::stall::Stall;
use crate::model::{Held, on};
use crate::raw;
use crate::rig::Rig;
use crate::traffic::is_done;

const BYTES: u64 = 1 << 20;

/// When the layer closes, bulk that an urgent copy held back goes on, and handles stay correct.
pub fn lets_bulk_through() -> Outcome {
    for transport in [Transport::Kernel, Transport::Engine] {
        on(
            |builder| builder,
            |gpu, rig| {
                let options = Options { rescue_after: Nanos::MAX, ..bed::transport(transport) };
                let stall = Stall::new(gpu, rig, options)?;
                let (back, source) = (rig.pinned(BYTES)?, rig.buffer_of(&[2; BYTES as usize])?);
                let urgent = stall.stalled(5)?;
                let bulk = [stall.bulk()?, raw::dtoh(&stall.low, &back, source, BYTES)?];
                rig.driver().host().sleep(Nanos::from_ms(1));
                ensure!(!is_done(&bulk[0])? && !is_done(&bulk[1])?, "the urgent copy holds no bulk back");
                let Stall { overtake, low, .. } = stall;
                drop(overtake);
                urgent.wait()?;
                bulk.iter().try_for_each(CopyHandle::wait)?;
                // This would detect a handle that reported completion too early.
                same_bytes("to the host", &back.read_all(), &[2; BYTES as usize])?;
                // Streams outlive the layer and then copy natively.
                let after = raw::dtoh(&low, &back, source, BYTES)?;
                same("the plan", &after.plan(), &Plan::Native(Reason::StoodDown))?;
                Ok(after.wait()?)
            },
        )?;
    }
    Ok(())
}

fn leave_nothing(rig: &Rig, options: Options, gpu: &softgpu::SoftGpu) -> Outcome {
    let spin = rig.kernels()?.spin;
    let before = Held::by(gpu);
    let overtake = bed::open(rig, options)?;
    let lanes = [1, 2, 3, 3].map(|priority| Lane::new(rig, &overtake, priority, 100_000, u64::from(priority)));
    let mut lanes = lanes.into_iter().collect::<Result<Vec<_>, _>>()?;
    let own = overtake.stream(level(2))?;
    for _ in 0..20 {
        lanes.iter_mut().try_for_each(|lane| lane.copy_behind_kernels(rig.driver(), spin))?;
    }
    own.wait_for(&lanes[0].stream)?;
    drop((own, overtake));
    lanes.iter().try_for_each(|lane| lane.stream.synchronize())?;
    lanes.iter().try_for_each(|lane| lane.verify(rig))?;
    // The lanes' memory and streams, and those of their verification, belong to the rig.
    let rigs =
        Held { allocations: before.allocations + 3 * lanes.len(), streams: before.streams + lanes.len(), ..before };
    drop(lanes);
    rig.driver().context_synchronize()?;
    same("the objects after closing", &Held::by(gpu), &rigs)
}

/// Streams, events, memory and modules are all freed, on every way of the copies.
pub fn leaves_nothing() -> Outcome {
    for transport in [Transport::Auto, Transport::Engine, Transport::Kernel] {
        on(|builder| builder, |gpu, rig| leave_nothing(rig, bed::transport(transport), gpu))?;
    }
    Emulation::ALL
        .into_iter()
        .try_for_each(|emulation| on(|builder| builder, |gpu, rig| leave_nothing(rig, bed::emulating(emulation), gpu)))
}

/// The last handle may be dropped on any thread, with any context current.
pub fn on_any_thread() -> Outcome {
    on(
        |builder| builder,
        |gpu, rig| {
            let before = Held::by(gpu);
            let memory = (rig.pinned(BYTES)?, rig.buffer(BYTES)?);
            let overtake = bed::open(rig, bed::small_options())?;
            let (low, _high) = (overtake.stream(level(1))?, overtake.stream(level(3))?);
            let handle = raw::htod(&low, memory.1, &memory.0, BYTES)?;
            drop((low, _high));
            let driver = std::sync::Arc::clone(rig.shared_driver());
            let gone = hal::spawn(rig.shared_driver(), "heir", move || {
                drop::<(Overtake, CopyHandle)>((overtake, handle));
                driver.context_current()
            })?;
            same("the heir's context", &gone.join(rig.driver().host())?, &None)?;
            rig.driver().context_synchronize()?;
            same("the objects", &Held::by(gpu), &Held { allocations: before.allocations + 2, ..before })
        },
    )
}
