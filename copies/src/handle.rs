//! Handles of submitted copies.

use std::fmt;
use std::sync::Arc;

use hal::{Error, Nanos, Result, Wait};
use priority::Priority;

use crate::decide::Plan;
use crate::records::{Fence, Lift, Records};
use crate::state::StreamState;

/// A submitted copy. Dropping the handle does not affect the copy.
///
/// # Example
/// ```
/// # use overtake_copies as overtake;
/// use overtake::copy::{Plan, Reason};
/// # use overtake::hal::{Device, Driver, HostAllocFlags};
/// # use overtake::{Options, Overtake, Priority};
/// # let driver: std::sync::Arc<dyn Driver> = std::sync::Arc::new(softgpu::SoftGpu::builder().build());
/// # let overtake = Overtake::open(&driver, Device(0), Options::default())?;
/// # let (host, device) = (driver.host_alloc(1 << 20, HostAllocFlags::PORTABLE)?, driver.mem_alloc(1 << 20)?);
/// let stream = overtake.stream(Priority::LOWEST)?;
/// // SAFETY: both sides have 1 MiB and live until the copy has completed, and nothing writes to the host's.
/// let handle = unsafe { stream.memcpy_htod_async(device, host, 1 << 20)? };
/// handle.wait()?;
/// assert!(handle.is_done()?);
/// assert_eq!(handle.plan(), Plan::Native(Reason::Alone), "no other stream copies");
/// # Ok::<(), hal::Error>(())
/// ```
#[derive(Clone)]
pub struct CopyHandle {
    pub(crate) stream: Arc<StreamState>,
    pub(crate) fence: Option<Fence>,
    pub(crate) plan: Plan,
}

/// A waiting thread asks the driver for errors this often.
const ASK_EVERY: Nanos = Nanos::from_ms(10);

impl fmt::Debug for CopyHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CopyHandle { stream, fence, plan } = self;
        f.debug_struct("CopyHandle")
            .field("stream", &stream.stream)
            .field("plan", plan)
            .field("fence", fence)
            .finish_non_exhaustive()
    }
}

impl CopyHandle {
    /// The way in which the copy went.
    #[must_use]
    pub fn plan(&self) -> Plan {
        self.plan
    }

    /// Whether the copy has completed. A copy without a fence of its own (see [`CopyHandle::plan`]) counts as
    /// completed when its stream is done.
    pub fn is_done(&self) -> Result<bool> {
        let (driver, stream) = (&*self.stream.inner.driver, self.stream.stream);
        let done = self.has_landed() || hal::beside_captures(driver, || driver.stream_query(stream))?;
        self.stream.inner.records.standing.check()?;
        Ok(done)
    }

    fn has_landed(&self) -> bool {
        self.fence.is_some_and(|fence| self.stream.inner.records.fences.is_done(fence))
    }

    /// Whether [`CopyHandle::lift`] may have an effect: the copy has a fence of its own.
    #[doc(hidden)] // for the dispatcher of the front door
    #[must_use]
    pub fn can_be_lifted(&self) -> bool {
        self.fence.is_some()
    }

    /// Raises the copy to priority `to` until it has completed, because work of that priority waits for it. Copies
    /// before it in its stream, which it cannot pass, are raised with it. A raised copy may pass more copies than
    /// before, but does not hold any back.
    pub fn lift(&self, to: Priority) -> Result<Lift> {
        let inner = &self.stream.inner;
        inner.check(to, "overtake lift")?;
        let Records { fences, standing, counters, .. } = &*inner.records;
        let Some(fence) = self.fence.filter(|fence| !fences.is_done(*fence)) else { return Ok(Lift::Unchanged) };
        let ahead = self.stream.ahead.below(to, fences).into_iter().flat_map(|before| before.fences);
        let lift = standing.lifts.lift(fence, &ahead.collect::<Vec<_>>(), to);
        if lift != Lift::Unchanged {
            counters.boosts.add(1);
        }
        Ok(lift)
    }

    /// The error of this copy, if it could not be made after it had been accepted.
    #[doc(hidden)] // for the dispatcher of the front door
    #[must_use]
    pub fn loss(&self) -> Option<Error> {
        let standing = &self.stream.inner.records.standing;
        self.fence.filter(|fence| standing.is_lost(*fence)).and_then(|_| standing.check().err())
    }

    /// Waits until the copy has completed. Returns the error of the device, if there was one, and an error if a copy of
    /// the context could not be made (see [`crate::Statistics::lost`]).
    pub fn wait(&self) -> Result<()> {
        self.stream.inner.may_enter()?;
        self.wait_for_landing().and_then(|()| self.stream.inner.records.standing.check())
    }

    fn wait_for_landing(&self) -> Result<()> {
        let (driver, stream) = (&self.stream.inner.driver, self.stream.stream);
        if self.fence.is_none() {
            return hal::beside_captures(&**driver, || driver.stream_synchronize(stream));
        }
        let host = driver.host();
        loop {
            let deadline = host.now() + ASK_EVERY;
            match host.wait_until(Some(deadline), &mut || self.has_landed()) {
                Wait::Met => return Ok(()),
                Wait::Deadline | Wait::Stuck if hal::beside_captures(&**driver, || driver.stream_query(stream))? => {
                    return Ok(());
                }
                Wait::Deadline => {}
                // This is a proven deadlock; the driver reports it with its own error.
                Wait::Stuck => return driver.stream_synchronize(stream),
            }
        }
    }
}
