//! Through pinned slots, which several threads fill or empty (`staging/README.md`).
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::sync::Arc;

use channels::{Shape, copy_shape};
use hal::Event;
use priority::Direction;
use threads::stream_lock::Exclusive;

use crate::decide::{Plan, Setback, cost};
use crate::guard::Guard;
use crate::inner::Inner;
use crate::reach::Use;
use crate::records::Stay;
use crate::registered;
use crate::staging::{Areas, Conductor, Means, Order, SHARED_PIECE_BYTES_MAX, Staging, are_resident, cut, pin};
use crate::submit::asked::{Miss, Planned, Went};

/// While slots are being made, the driver makes so many bytes at a time. A smaller copy it makes whole. With 4 MiB at a
/// time the first 64 MiB to the host took 1.13 times as long as natively on an H100.
const MEANWHILE_BYTES: u64 = 16 << 20;

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
        let is_ready = staging.ready(order.direction).is_some();
        if !is_ready {
            begin(inner, staging, order.direction);
        }
        let may_wait = || staging.is_being_made() && shape.bytes() > MEANWHILE_BYTES;
        if !(is_ready || may_wait()) {
            return Err(Setback::Unstaged.into());
        }
        let pieces = cut(&shape, &order, staging.threads()).ok_or(Setback::Unstaged)?;
        self.await_earlier_work(staging.may_be_kept(order.direction, shape.bytes()))?;
        let mut whole = Some(self.exclude_others().map_err(|_| Setback::Unstaged)?);
        self.asked.stream.note_engine();
        let began = driver.host().now();
        // SAFETY: passed on to the caller.
        let before = unsafe { self.begin_natively(staging, &shape, &pieces)? };
        // SAFETY: passed on to the caller.
        let staged = unsafe { self.stage(staging, &shape, &order, &pieces[before..], &mut whole) }.map_err(
            |error| match before {
                0 => error,
                _ => error.begun(),
            },
        )?;
        if before + staged == 0 {
            return Err(Setback::Unstaged.into());
        }
        let left = &pieces[before + staged..];
        // SAFETY: passed on to the caller.
        self.asked.stream.natively(|| unsafe { self.make_natively(&shape, left) })?;
        let waits = self.asked.is_blocking() && (staged == 0 || !left.is_empty());
        let last = waits.then(|| self.mark()).transpose().map_err(Miss::Begun)?;
        drop(whole);
        last.map_or(Ok(()), |last| self.wait_for(last)).map_err(Miss::begun)?;
        inner.records.counters.staged_ns.add(driver.host().now().since(began).0);
        Ok(None)
    }

    /// Makes pieces through slots, as far as it can. Returns the number of those that have been made. Other threads are
    /// kept out of the stream until that has all of them.
    ///
    /// # Safety
    /// As for [`super::submit`].
    unsafe fn stage(
        &self,
        staging: &Staging,
        shape: &Shape,
        order: &Order,
        pieces: &[Shape],
        whole: &mut Option<Exclusive<'_>>,
    ) -> Went<usize> {
        let means = means(self.inner(), staging, order.direction).filter(|_| !pieces.is_empty());
        let Some(means) = means else { return Ok(0) };
        let [target, source] = shape.extents();
        let host = if order.direction == Direction::HostToDevice { source } else { target };
        let areas = Areas::of(host.0, host.1);
        let mut conductor = Conductor::new(means, *order, areas, pieces.to_vec(), whole.take());
        // Its pieces take turns, each ended by its fence. All have landed when the call returns.
        let traffic = self.inner().records.traffic(order.direction);
        let stay = Stay::Whole(cost(SHARED_PIECE_BYTES_MAX, &self.inner().options));
        let counted = order.yields.then(|| traffic.begin(order.priority, order.stream, stay));
        let is_blocking = self.asked.is_blocking();
        // SAFETY: passed on to the caller.
        let (first, went) = hal::beside_captures(&*self.inner().driver, || unsafe { conductor.go(is_blocking) });
        *whole = conductor.into_exclusive();
        counted.into_iter().for_each(|(copy, _)| traffic.end(copy));
        match went {
            Err(error) if first == 0 => Err(Miss::Failed(error)),
            Err(error) => Err(Miss::Begun(error)),
            Ok(()) => Ok(first),
        }
    }

    /// Has the driver make pieces while slots for the others are being made. Returns their number.
    ///
    /// # Safety
    /// As for [`super::submit`].
    unsafe fn begin_natively(&self, staging: &Staging, shape: &Shape, pieces: &[Shape]) -> Went<usize> {
        let mut made = 0;
        while made < pieces.len() && staging.ready(self.direction()).is_none() && staging.is_being_made() {
            let mut bytes = 0;
            let next = pieces[made..].iter().take_while(|piece| {
                bytes += piece.bytes();
                bytes <= MEANWHILE_BYTES
            });
            let end = made + next.count().max(1);
            // SAFETY: passed on to the caller.
            self.asked.stream.natively(|| unsafe { self.make_natively(shape, &pieces[made..end]) })?;
            made = end;
        }
        Ok(made)
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

    /// Whether the driver would accept both sides, and the host's side is in memory if it is read. Several threads
    /// would read a cold file out of order.
    fn is_stageable(&self, shape: &Shape) -> bool {
        let [target, source] = shape.extents();
        let reads_host = self.direction() == Direction::HostToDevice;
        let (device, host) = if reads_host { (target, source) } else { (source, target) };
        let (inner, to) = (self.inner(), Use { writes: reads_host, may_be_far: false });
        inner.home.reaches(&*inner.driver, device, to)
            && !registered::is_partly(&*inner.driver, &(host.0..host.0.saturating_add(host.1)))
            && (!reads_host || are_resident(host.0, host.1))
    }

    /// Waits as the driver's own call does: a host function of the stream may fill the source before. A copy that the
    /// driver may keep is left to it instead.
    fn await_earlier_work(&self, may_be_kept: bool) -> Went<()> {
        let (driver, stream) = (&*self.inner().driver, self.asked.stream.stream);
        // The stream is asked, because an event behind nothing is not complete at once.
        if may_be_kept && !hal::beside_captures(driver, || driver.stream_query(stream))? {
            return Err(Setback::Unstaged.into());
        }
        self.wait_for(self.mark()?)
    }

    fn wait_for(&self, event: Event) -> Went<()> {
        let inner = self.inner();
        let waited = hal::beside_captures(&*inner.driver, || inner.driver.event_synchronize(event));
        inner.events.give(event);
        Ok(waited?)
    }

    /// Has the driver make pieces that follow each other: those before the slots are there, those that find none, and
    /// those whose pages the system refuses.
    unsafe fn make_natively(&self, shape: &Shape, pieces: &[Shape]) -> Went<()> {
        let (driver, stream, direction) = (&*self.inner().driver, self.asked.stream.stream, self.direction());
        let bytes = pieces.iter().map(Shape::bytes).sum();
        let pieces = match pieces.first() {
            Some(first) if shape.is_linear() => &[shape.bytes_from(first.target.address - shape.target.address, bytes)],
            _ => pieces,
        };
        self.inner().records.counters.unstaged_bytes.add(bytes);
        // SAFETY: passed on to the caller: the pieces are parts of the copy.
        let made = pieces.iter().try_for_each(|piece| unsafe { copy_shape(driver, direction, piece, stream) });
        made.map_err(Miss::Begun)
    }
}

/// Has a thread make the slots of a direction, if none does so already.
fn begin(inner: &Inner, staging: &Arc<Staging>, direction: Direction) {
    let (context, guard, driver) = (inner.context.clone(), inner.guard.clone(), Arc::clone(&inner.driver));
    staging.begin(&inner.driver, direction, move |bytes| {
        let blocking =
            |guard: &Arc<Guard>| guard.blocking(|body| context.visit(|| hal::beside_captures(&*driver, body)));
        let _blocking = guard.as_ref().map(blocking);
        context.call(|_| pin(&driver, bytes))
    });
}

/// The means of a direction; `None` where there are none.
fn means<'a>(inner: &'a Inner, staging: &'a Staging, direction: Direction) -> Option<Means<'a>> {
    let (pool, ring) = staging.ready(direction)?;
    Some(Means {
        driver: &*inner.driver,
        events: &inner.events,
        records: &inner.records,
        bank: &inner.engine(direction).bank,
        highest: inner.options.priorities.highest(),
        holds_off: inner.leaves_urgent_copies,
        wait_max: inner.options.profile.kernel_wait_max,
        pool,
        ring,
    })
}

#[cfg(test)]
mod tests;
