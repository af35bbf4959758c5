//! Copies that wait in queues which urgent copies need deadlock: the suite would notice, and the watchdog ends it. It
//! comes to that where the driver has made fewer queues than the layer assumes.

use hal::Nanos;
use overtake::copy::CopyHandle;
use overtake::options::Transport;
use overtake::{Options, PriorityStream};
use softgpu::Connections;

use crate::bed;
use crate::failure::{Failure, Outcome, ensure};
use crate::lane::level;
use crate::model::on;
use crate::model::stall::{Stall, URGENT_BYTES};
use crate::raw;
use crate::rig::Rig;

/// More streams than there are hardware queues.
const WAITING: usize = 5;

/// Waiting streams occupy every hardware queue, and the copies that would release them are submitted behind them.
fn entangle(rig: &Rig, stall: &Stall<'_>) -> Result<Vec<CopyHandle>, Failure> {
    let bytes = 1 << 20;
    let memory = (rig.pinned(bytes)?, rig.buffer(bytes)?);
    let others = (0..WAITING).map(|_| {
        let high = stall.overtake.adopt(rig.stream()?, level(3))?;
        stall.make_careful(&high)?;
        Ok(high)
    });
    let others = others.collect::<Result<Vec<PriorityStream>, Failure>>()?;
    let mut handles = vec![stall.stalled(1)?];
    for _ in 0..WAITING {
        let low = stall.overtake.adopt(rig.stream()?, level(1))?;
        handles.push(raw::htod(&low, memory.1, &memory.0, bytes)?);
    }
    // Urgent copies of other streams, each likely to get a queue whose head waits for it.
    for high in &others {
        handles.push(raw::htod(high, memory.1, &memory.0, URGENT_BYTES)?);
    }
    Ok(handles)
}

/// One queue is taken for several.
fn mistaken(watchdog: bool) -> Options {
    let mut options = bed::with_queues(bed::transport(Transport::Engine), 8);
    if !watchdog {
        options.rescue_after = Nanos::MAX;
    }
    options
}

/// Without a watchdog it hangs, as the model proves.
pub fn is_real() -> Outcome {
    on(
        |builder| builder.connections(Connections { max: None, copy: Some(1) }),
        |gpu, rig| {
            let stall = Stall::new(gpu, rig, mistaken(false))?;
            let handles = entangle(rig, &stall)?;
            let end = rig.driver().context_synchronize();
            ensure!(end.is_err() && gpu.deadlock().is_some(), "it should have hung");
            // Closing opens every word, and all hanging work goes on.
            drop(stall);
            Ok(handles.iter().try_for_each(CopyHandle::wait)?)
        },
    )
}

/// With a watchdog it goes on after a short delay.
pub fn is_ended_by_the_watchdog() -> Outcome {
    on(
        |builder| builder.connections(Connections { max: None, copy: Some(1) }),
        |gpu, rig| {
            let stall = Stall::new(gpu, rig, mistaken(true))?;
            entangle(rig, &stall)?.iter().try_for_each(CopyHandle::wait)?;
            ensure!(stall.overtake.statistics().rescues > 0, "there was no rescue, so this shows nothing");
            ensure!(gpu.deadlock().is_none(), "the watchdog came too late");
            bed::at_rest(rig, &stall.overtake)
        },
    )
}
