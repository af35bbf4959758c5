//! The memory of safe buffers, as the model counts it, also where driver calls fail.

use std::sync::Arc;

use hal::{Code, Device, Driver};
use overtake::Overtake;
use overtake::buffer::{DeviceBuffer, PinnedBuffer};
use softgpu::SoftGpu;

use super::Held;
use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::faulty::Faulty;
use crate::lane::level;
use crate::model::on;
use crate::rig::Rig;

const ELEMENTS: usize = 64 << 10;

/// A layer on a driver whose calls can be refused.
fn open(rig: &Rig) -> Result<(Arc<Faulty>, Overtake), Failure> {
    let faulty = Faulty::new(rig.shared_driver(), Code::UNKNOWN);
    let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
    let overtake = Overtake::open(&driver, Device(0), bed::small_options())?;
    Ok((faulty, overtake))
}

/// How many allocations are left of two buffers that a copy was asked to use while `refused` failed.
fn left_of_two(gpu: &SoftGpu, rig: &Rig, refused: &'static [&'static str]) -> Result<usize, Failure> {
    let (faulty, overtake) = open(rig)?;
    let stream = overtake.stream(level(1))?;
    let before = Held::by(gpu).allocations;
    let (pinned, device) =
        (PinnedBuffer::<u32>::new(&overtake, ELEMENTS)?, DeviceBuffer::<u32>::new(&overtake, ELEMENTS)?);
    same("two allocations", &(Held::by(gpu).allocations - before), &2)?;
    faulty.refuse(refused);
    let copied = pinned.copy_to(&device, &stream).and_then(|copy| copy.wait());
    drop(device);
    faulty.refuse(&[]);
    ensure!(copied.is_ok() == refused.is_empty(), "{refused:?} is refused, and the copy says {copied:?}");
    drop(copied);
    Ok(Held::by(gpu).allocations - before)
}

/// Buffers are freed with their last owner. Those of a copy that failed are freed when the context is at rest, and
/// leaked where it cannot say that.
pub fn are_freed() -> Outcome {
    on(
        |builder| builder,
        |gpu, rig| {
            same("after a copy", &left_of_two(gpu, rig, &[])?, &0)?;
            same("after a refusal", &left_of_two(gpu, rig, &["copy_htod_async"])?, &0)?;
            same("after a wait that failed", &left_of_two(gpu, rig, &["stream_synchronize"])?, &0)?;
            let unknown: &[&str] = &["stream_synchronize", "context_synchronize"];
            same("where nothing is known", &left_of_two(gpu, rig, unknown)?, &2)
        },
    )
}

/// A dropped copy has completed before its memory is given back: the driver's own free might not wait for it.
pub fn are_freed_after_the_copy() -> Outcome {
    on(
        |builder| builder,
        |_, rig| {
            let (faulty, overtake) = open(rig)?;
            let stream = overtake.stream(level(1))?;
            let (pinned, device) =
                (PinnedBuffer::<u32>::new(&overtake, ELEMENTS)?, DeviceBuffer::<u32>::new(&overtake, ELEMENTS)?);
            let gate = rig.gate(stream.raw())?;
            let copy = pinned.copy_to(&device, &stream)?;
            let (handle, opener) = (copy.handle().clone(), rig.open_later(&gate));
            faulty.refuse(&["host_free", "mem_free", "context_synchronize"]);
            drop((copy, device));
            faulty.refuse(&[]);
            ensure!(handle.is_done()?, "the drop has waited for the copy");
            opener.join(rig.driver().host())
        },
    )
}
