//! Streams of two contexts, of one device or of two, wait for each other.

use std::sync::Arc;

use hal::{Context, Device};
use overtake::context::CudaContext;
use overtake::copy::Plan;
use overtake::{Overtake, PriorityStream};

use crate::bed;
use crate::failure::{Failure, Outcome, same};
use crate::lane::level;
use crate::memory::Pinned;
use crate::place::Buffer;
use crate::raw;
use crate::rig::Rig;

const BULK_BYTES: u64 = 512 << 10;
const URGENT_BYTES: u64 = 64 << 10;

/// A layer in a context, with a stream of bulk, an urgent one, and memory.
struct Place {
    context: Context,
    overtake: Overtake,
    low: PriorityStream,
    high: PriorityStream,
    host: Arc<Pinned>,
    device: Buffer,
}

impl Place {
    /// Opens in `context`, which stays current.
    fn new(rig: &Rig, context: Context) -> Result<Place, Failure> {
        let driver = rig.shared_driver();
        driver.context_set_current(Some(rig.context()))?;
        // The rig frees it, when the other context may be gone.
        let host = rig.pinned(BULK_BYTES)?;
        driver.context_set_current(Some(context))?;
        let overtake = Overtake::attach(driver, bed::small_options())?;
        let (low, high) = (overtake.stream(level(1))?, overtake.stream(level(3))?);
        let device = Buffer { base: driver.mem_alloc(BULK_BYTES)?, bytes: BULK_BYTES };
        Ok(Place { context, overtake, low, high, host, device })
    }

    /// Bulk that has not begun: its stream stands at a gate, so its fence stays out.
    fn bulk(&self, rig: &Rig) -> Outcome {
        rig.driver().context_set_current(Some(self.context))?;
        let bulk = raw::htod(&self.low, self.device, &self.host, BULK_BYTES)?;
        same("the plan of bulk", &bulk.plan(), &Plan::Kernel { raises: false })
    }

    fn close(self, rig: &Rig) -> Outcome {
        rig.driver().context_set_current(Some(self.context))?;
        [&self.low, &self.high].into_iter().try_for_each(PriorityStream::synchronize)?;
        bed::at_rest(rig, &self.overtake)?;
        Ok(rig.driver().mem_free(self.device.base)?)
    }
}

/// Work behind the wait begins when the other stream has come so far, with any context current, and that one stays
/// current.
fn is_in_order(rig: &Rig, first: &Place, second: &Place, current: Option<Context>) -> Outcome {
    let (driver, mark) = (rig.driver(), rig.word());
    let gate = rig.gate(first.low.raw())?;
    driver.context_set_current(current)?;
    second.low.wait_for(&first.low)?;
    same("the current context", &driver.context_current()?, &current)?;
    driver.context_set_current(Some(second.context))?;
    rig.mark(second.low.raw(), &mark, 1)?;
    let stayed = rig.stays("behind the other stream's gate", &mark, 0);
    gate.open();
    rig.reaches("behind the other stream", &mark, 1)?;
    stayed
}

/// Fences belong to a context. An urgent copy lifts no copy of its own context because a copy with the same fence is
/// before it in the other.
fn is_not_mistaken(rig: &Rig, one: &Place, other: &Place) -> Outcome {
    let gates = [rig.gate(one.low.raw())?, rig.gate(other.low.raw())?];
    [one, other].into_iter().try_for_each(|place| place.bulk(rig))?;
    other.high.wait_for(&one.low)?;
    let urgent = raw::htod(&other.high, other.device, &other.host, URGENT_BYTES)?;
    same("copies that were lifted", &other.overtake.statistics().boosts, &0)?;
    gates.iter().for_each(crate::word::Gate::open);
    Ok(urgent.wait()?)
}

/// With `far` as the other context, both ways.
fn between(rig: &Rig, far: Context) -> Outcome {
    let (near, far) = (Place::new(rig, rig.context())?, Place::new(rig, far)?);
    for (first, second) in [(&near, &far), (&far, &near)] {
        is_not_mistaken(rig, first, second)?;
        for current in [Some(near.context), Some(far.context), None] {
            is_in_order(rig, first, second, current)?;
        }
    }
    [near, far].into_iter().try_for_each(|place| place.close(rig))
}

/// Two contexts of one device.
pub fn contexts_of_one_device(rig: &Rig) -> Outcome {
    let own = CudaContext::create(rig.shared_driver(), Device(0))?;
    let outcome = between(rig, own.raw());
    rig.driver().context_set_current(Some(rig.context()))?;
    outcome
}

/// Two devices.
pub fn two_devices(rig: &Rig) -> Outcome {
    let outcome = between(rig, rig.other_context(Device(1))?);
    rig.driver().context_set_current(Some(rig.context()))?;
    outcome
}
