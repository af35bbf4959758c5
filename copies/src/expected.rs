//! Expectations: a caller announces that copies of a priority will come.

use std::fmt;
use std::sync::Arc;

use hal::Nanos;
use priority::{Direction, Priority};

use crate::inner::Inner;
use crate::records::{Reservation, Traffic};

/// An announcement that copies of a priority will come, from [`crate::Overtake::expect`] until this is dropped.
///
/// Bulk yields only to copies that have been announced, because yielding costs it a tenth of its bandwidth. An open
/// [`crate::PriorityStream`] announces its copies for as long as it exists. An owner of several streams makes quiet
/// ones ([`crate::Overtake::quiet_stream`]), and holds an expectation only while it has such work. Each owner holds its
/// own; they add up.
///
/// An urgent copy then starts within microseconds, which costs bulk some bandwidth. If an owner's copies may wait a
/// little ([`Expected::tolerating`]), bulk keeps nearly all of it.
///
/// Both sides count: a copy yields if a more urgent one is expected, and holds others back if a less urgent one is. So
/// the owner of bulk on quiet streams announces its own priority too, which by itself costs bulk nothing. Copies that
/// were not announced are made all the same.
///
/// # Example
/// ```
/// # use overtake_copies as overtake;
/// use overtake::copy::{Plan, Reason};
/// use overtake::{Direction, Options, Overtake, Priority};
/// # use overtake::hal::{Device, Driver, HostAllocFlags};
/// # let driver: std::sync::Arc<dyn Driver> = std::sync::Arc::new(softgpu::SoftGpu::builder().build());
/// # let overtake = Overtake::open(&driver, Device(0), Options::default())?;
/// # let (host, device) = (driver.host_alloc(4 << 20, HostAllocFlags::PORTABLE)?, driver.mem_alloc(4 << 20)?);
/// let bulk = overtake.stream(Priority::LOWEST)?;
/// let urgent = overtake.priorities().highest();
/// let _lane = overtake.quiet_stream(urgent)?;
/// // SAFETY: both sides have 4 MiB and live as long as the process; nothing else uses them.
/// let plan = || unsafe { bulk.memcpy_htod_async(device, host, 4 << 20) }.map(|copy| copy.plan());
/// assert_eq!(plan()?, Plan::Native(Reason::Alone));
/// let expected = overtake.expect(urgent, Some(Direction::HostToDevice))?;
/// assert_eq!(plan()?, Plan::Kernel { raises: false });
/// drop(expected);
/// assert_eq!(plan()?, Plan::Native(Reason::Alone));
/// # bulk.synchronize()?;
/// # Ok::<(), hal::Error>(())
/// ```
#[must_use = "the copies are expected until it is dropped"]
pub struct Expected {
    inner: Arc<Inner>,
    priority: Priority,
    direction: Option<Direction>,
    /// The wait that each copy may have; zero if none.
    tolerated: Nanos,
}

impl Expected {
    pub(crate) fn new(inner: &Arc<Inner>, priority: Priority, direction: Option<Direction>) -> Expected {
        let expected = Expected { inner: Arc::clone(inner), priority, direction, tolerated: Nanos::ZERO };
        expected.traffic().for_each(|traffic| traffic.reserve(expected.reservation()));
        expected
    }

    /// Each of its copies accepts to wait this long for bulk on its engine. While all expected copies above them accept
    /// a wait, the copy engine makes copies that have to yield: bulk in both directions at once then keeps nine tenths
    /// of its bandwidth instead of two thirds (`reports/tolerance`). Zero accepts no wait, as an owner that
    /// states nothing. The option `wait_budget_us` may not leave bulk whole, and chunks need channels.
    ///
    /// A bulk copy that takes no longer than that stays whole: a copy of 4 MiB if 150 us are tolerated, while no other
    /// stream has bulk in flight on the engine. Behind two streams of bulk, an urgent copy waits for at most three of
    /// their copies, and behind three streams for four, so these have to be shorter accordingly (`docs/decisions`).
    /// Each urgent stream needs its own hardware queue. A write that the program enqueues after an urgent copy waits
    /// for one more turn of each stream of bulk; an event does not.
    ///
    /// Other bulk copies go in chunks of half that length. If copies of two or three streams take turns on the engine,
    /// chunks are a third or a quarter of it. Those in the first half of a copy are shorter still, so that the copies
    /// of such streams end one after another. A copy in flight does not change.
    ///
    /// # Example
    /// ```
    /// # use overtake_copies as overtake;
    /// use overtake::copy::{Plan, Reason};
    /// use overtake::{Direction, Options, Overtake, Priority};
    /// # use overtake::hal::{Device, Driver, HostAllocFlags, Nanos};
    /// # let driver: std::sync::Arc<dyn Driver> = std::sync::Arc::new(softgpu::SoftGpu::builder().build());
    /// # let overtake = Overtake::open(&driver, Device(0), Options::default())?;
    /// # let (host, device) = (driver.host_alloc(64 << 20, HostAllocFlags::PORTABLE)?, driver.mem_alloc(64 << 20)?);
    /// let (bulk, urgent) = (overtake.stream(Priority::LOWEST)?, overtake.priorities().highest());
    /// // SAFETY: both sides have 64 MiB and live as long as the process; nothing else uses them.
    /// let plan = |bytes| unsafe { bulk.memcpy_htod_async(device, host, bytes) }.map(|copy| copy.plan());
    /// let camera = overtake.expect(urgent, Some(Direction::HostToDevice))?.tolerating(Nanos::from_us(160));
    /// assert_eq!(plan(4 << 20)?, Plan::Native(Reason::WithinBudget));
    /// assert_eq!(plan(64 << 20)?, Plan::Engine { raises: false });
    /// let other = overtake.expect(urgent, Some(Direction::HostToDevice))?; // tolerates none
    /// assert_eq!(plan(4 << 20)?, Plan::Kernel { raises: false });
    /// drop(other);
    /// assert_eq!(plan(4 << 20)?, Plan::Native(Reason::WithinBudget));
    /// # drop(camera);
    /// # bulk.synchronize()?;
    /// # Ok::<(), hal::Error>(())
    /// ```
    pub fn tolerating(mut self, wait: Nanos) -> Expected {
        let before = self.reservation();
        self.tolerated = wait;
        self.traffic().for_each(|traffic| traffic.state(before, self.reservation()));
        self
    }

    fn reservation(&self) -> Reservation {
        Reservation { priority: self.priority, wait: self.tolerated }
    }

    /// That of the directions whose copies have priorities, among those that it is for.
    fn traffic(&self) -> impl Iterator<Item = &Traffic> {
        let (one, inner) = (self.direction, &self.inner);
        inner
            .managed()
            .filter(move |direction| one.is_none_or(|one| one == *direction))
            .map(|direction| inner.records.traffic(direction))
    }

    /// The priority of the copies.
    #[must_use]
    pub fn priority(&self) -> Priority {
        self.priority
    }

    /// Their direction; `None` if they may go both ways.
    #[must_use]
    pub fn direction(&self) -> Option<Direction> {
        self.direction
    }
}

impl fmt::Debug for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Expected { priority, direction, .. } = self;
        f.debug_struct("Expected").field("priority", priority).field("direction", direction).finish_non_exhaustive()
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        if self.inner.is_of_parent() {
            return std::mem::forget(Arc::clone(&self.inner));
        }
        self.traffic().for_each(|traffic| traffic.release(self.reservation()));
    }
}
