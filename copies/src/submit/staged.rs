//! Through pinned slots that several threads fill or empty (`staging/README.md`).
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use channels::{Shape, copy_shape};
use terms::Direction;

use crate::decide::{Plan, Setback};
use crate::inner::Inner;
use crate::staging::{Areas, Conductor, Means, Order, Pinned, Staging, are_resident, cut};
use crate::submit::asked::{Miss, Planned, Went};
use crate::submit::place::is_allocated;

impl Planned<'_> {
    /// # Safety
    /// As for [`super::submit`].
    pub(super) unsafe fn go_staged(&self) -> Went {
        let (inner, driver) = (self.inner(), &*self.inner().driver);
        let staging = inner.staging.as_ref().filter(|_| !inner.is_of_parent()).ok_or(Setback::Unstaged)?;
        let (shape, order) = (self.asked.cargo.first().shape.flattened(), self.order());
        if !self.is_stageable(&shape) {
            return Err(Setback::Unstaged.into());
        }
        let means = means(inner, staging, order.direction).ok_or(Setback::Unstaged)?;
        let pieces = cut(&shape, &order, staging.threads()).ok_or(Setback::Unstaged)?;
        self.await_earlier_work()?;
        let began = driver.host().now();
        let [target, source] = shape.extents();
        let host = if order.direction == Direction::HostToDevice { source } else { target };
        let areas = Areas::of(host.0, host.1);
        let mut conductor = Conductor::new(means, order, areas, pieces.clone());
        // SAFETY: passed on to the caller.
        let (first, went) = unsafe { conductor.go(self.asked.is_blocking()) };
        match went {
            Err(error) if first == 0 => return Err(Miss::Failed(error)),
            Err(error) => return Err(Miss::Begun(error)),
            Ok(()) if first == 0 => return Err(Setback::Unstaged.into()),
            Ok(()) => {}
        }
        // SAFETY: passed on to the caller.
        inner.natively(|| unsafe { self.finish_natively(&shape, &pieces[first..]) })?;
        inner.records.counters.staged_for(driver.host().now().since(began));
        Ok(None)
    }

    fn order(&self) -> Order {
        let highest = self.placed.known.company.map_or(self.asked.priority, |(_, highest)| highest);
        Order {
            direction: self.direction(),
            stream: self.asked.stream.stream,
            priority: self.asked.priority,
            raises: self.plan == Plan::Staged { raises: true },
            yields: highest > self.asked.priority,
        }
    }

    /// Whether the driver would accept the device's side, and the host's side is in memory if it is read. Several
    /// threads would read a cold file out of order.
    fn is_stageable(&self, shape: &Shape) -> bool {
        let [target, source] = shape.extents();
        let (device, host) = match self.direction() {
            Direction::HostToDevice => (target, Some(source)),
            _ => (source, None),
        };
        is_allocated(&*self.inner().driver, device.0, device.1) && host.is_none_or(|host| are_resident(host.0, host.1))
    }

    /// Waits as the driver's own call does: a host function of the stream may fill the source before.
    fn await_earlier_work(&self) -> Went<()> {
        let inner = self.inner();
        let before = self.mark()?;
        let waited = inner.driver.event_synchronize(before);
        inner.events.give(before);
        Ok(waited?)
    }

    /// Has the driver make the pieces that found no slot, or whose pages the system refused.
    unsafe fn finish_natively(&self, shape: &Shape, left: &[Shape]) -> Went<()> {
        let (driver, stream, direction) = (&*self.inner().driver, self.asked.stream.stream, self.direction());
        let left = match left.first() {
            Some(first) if shape.is_linear() => {
                let offset = first.target.address - shape.target.address;
                &[shape.bytes_from(offset, shape.bytes() - offset)]
            }
            _ => left,
        };
        self.inner().records.counters.left_over(left.iter().map(Shape::bytes).sum());
        // SAFETY: passed on to the caller: the pieces are parts of the copy.
        let made = left.iter().try_for_each(|piece| unsafe { copy_shape(driver, direction, piece, stream) });
        made.map_err(Miss::Begun)
    }
}

/// The means of a direction; `None` where there are none.
fn means<'a>(inner: &'a Inner, staging: &'a Staging, direction: Direction) -> Option<Means<'a>> {
    let pin = |bytes| inner.beside_all(|_| Pinned::new(&inner.driver, bytes));
    let (pool, ring) = staging.ready(&inner.driver, direction, pin)?;
    Some(Means {
        driver: &*inner.driver,
        events: &inner.events,
        records: &inner.records,
        bank: &inner.engine(direction).bank,
        highest: inner.options.priorities.highest(),
        wait_max: inner.options.kernel_wait_max,
        pool,
        ring,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hal::{Driver, Nanos};
    use options::Options;
    use terms::Priority;

    use super::*;
    use crate::native::Native;
    use crate::overtake::Overtake;
    use crate::request::Request;

    const BYTES: u64 = 1 << 20;

    fn layer(driver: &Arc<dyn Driver>, change: impl FnOnce(&mut Options)) -> Overtake {
        let mut options = Options { staging: true, staging_threads: 2, staging_bytes_min: BYTES, ..Options::default() };
        change(&mut options);
        Overtake::attach(driver, options).unwrap()
    }

    /// Copies to the device at the lowest priority. Returns the plan and the time that the call took.
    fn copy(overtake: &Overtake, driver: &Arc<dyn Driver>) -> (Plan, Nanos) {
        let stream = overtake.stream(Priority::LOWEST).unwrap();
        let (device, source) = (driver.mem_alloc(BYTES).unwrap(), vec![1_u8; BYTES as usize]);
        let before = driver.host().now();
        // SAFETY: both sides have so many bytes; a pageable source is read during the call.
        let handle = unsafe { stream.memcpy_htod_async(device, source.as_ptr(), BYTES) }.unwrap();
        let span = driver.host().now().since(before);
        stream.synchronize().unwrap();
        driver.mem_free(device).unwrap();
        (handle.plan(), span)
    }

    #[test]
    fn bulk_waits_while_a_more_urgent_copy_is_pending() {
        let (driver, held) = (crate::soft::driver(), Nanos::from_us(900));
        let overtake = layer(&driver, |_| ());
        let (_, alone) = copy(&overtake, &driver);
        let standing = &overtake.records().standing;
        let pending = standing.raise(Direction::HostToDevice, overtake.priorities().highest()).unwrap();
        let (bank, its_driver) = (Arc::clone(&overtake.inner().engine(Direction::HostToDevice).bank), driver.clone());
        let lowers = hal::spawn(&driver, "lowers", move || {
            its_driver.host().sleep(held);
            bank.lower(pending);
        });
        let (plan, beside) = copy(&overtake, &driver);
        lowers.unwrap().join(driver.host());
        assert_eq!(plan, Plan::Staged { raises: false });
        assert!(alone < held && beside >= held, "{alone} alone, {beside} beside a pending copy");
    }

    /// A word that stays up holds a staged copy no longer than a copy kernel.
    #[test]
    fn bulk_waits_no_longer_than_a_kernel_would() {
        let (driver, most) = (crate::soft::driver(), Nanos::from_us(300));
        let overtake = layer(&driver, |options| options.kernel_wait_max = most);
        let pending = overtake.records().standing.raise(Direction::HostToDevice, overtake.priorities().highest());
        let (_, span) = copy(&overtake, &driver);
        assert!(pending.is_some() && span >= most && span < most + Nanos::from_ms(1), "{span}");
    }

    /// The attributes of a batch say when its sources are read, and only the driver knows them.
    #[test]
    fn a_batch_is_left_to_the_driver() {
        let driver = crate::soft::driver();
        let overtake = layer(&driver, |_| ());
        let stream = overtake.stream(Priority::LOWEST).unwrap();
        let (device, source) = (driver.mem_alloc(2 * BYTES).unwrap(), vec![1_u8; 2 * BYTES as usize]);
        let halves = [0, BYTES].map(|at| Request::htod(device.offset(at), source[at as usize..].as_ptr(), BYTES));
        let calls = std::cell::Cell::new(0);
        let native = || {
            calls.set(calls.get() + 1);
            0
        };
        // SAFETY: the native call makes no copy, and no other way is taken.
        let handle = unsafe { stream.memcpy_through(&halves, &Native::asynchronous(&native)) }.unwrap();
        assert!(matches!(handle.plan(), Plan::Native(_)), "{:?}", handle.plan());
        assert_eq!((calls.get(), overtake.statistics().staged.copies), (1, 0));
        driver.mem_free(device).unwrap();
    }

    /// Without helpers the calling thread moves every piece.
    #[test]
    fn a_copy_completes_without_helpers() {
        let driver = crate::soft::driver();
        let overtake = layer(&driver, |_| ());
        copy(&overtake, &driver);
        let staging = overtake.inner().staging.as_ref().unwrap();
        let made = means(overtake.inner(), staging, Direction::HostToDevice).unwrap();
        staging.leave();
        assert!(means(overtake.inner(), staging, Direction::HostToDevice).is_none(), "it has left");
        let (device, source) = (driver.mem_alloc(BYTES).unwrap(), vec![7_u8; BYTES as usize]);
        let stream = overtake.stream(Priority::LOWEST).unwrap();
        let order = Order {
            direction: Direction::HostToDevice,
            stream: stream.raw(),
            priority: Priority::LOWEST,
            raises: false,
            yields: false,
        };
        let shape = channels::Shape::linear(device.0, source.as_ptr() as u64, BYTES);
        let mut conductor = Conductor::new(made, order, Areas::default(), cut(&shape, &order, 2).unwrap());
        // SAFETY: both sides have so many bytes, and live until the stream has been waited for.
        let (first, went) = unsafe { conductor.go(true) };
        assert!(first > 1 && went.is_ok(), "{first} pieces: {went:?}");
        let mut target = vec![0_u8; BYTES as usize];
        // SAFETY: as above.
        unsafe { driver.copy_dtoh(target.as_mut_ptr(), device, BYTES) }.unwrap();
        assert_eq!(target, source);
        driver.mem_free(device).unwrap();
    }
}
