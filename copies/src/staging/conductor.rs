//! The thread that makes a staged copy: it hands pieces to the pool's threads, and slots to the device, in order.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::collections::VecDeque;
use std::sync::Arc;

use channels::{Shape, chunk, copy_shape};
use hal::{Driver, Event, Nanos, Result, Stream};
use priority::{Direction, Priority};
use semaphores::{Bank, Pending};
use threads::stream_lock::Exclusive;

use super::areas::Areas;
use super::call::{Call, Moved};
use super::pool::Pool;
use super::ring::{Ring, SLOT_BYTES, Slot};
use crate::pool;
use crate::records::{Fence, Records};

/// Pieces are at least this large: smaller ones cost a driver call each and move little.
const PIECE_BYTES_MIN: u64 = 256 << 10;

/// While a copy of another priority may come, pieces are at most this large: it waits for one.
pub(crate) const SHARED_PIECE_BYTES_MAX: u64 = 512 << 10;

/// A copy whose pieces would be smaller than this, because of its shape, is left to the driver.
const AVERAGE_BYTES_MIN: u64 = 32 << 10;

/// Pieces that the device may have at once, to the device and to the host: one that moves, and others for the time of a
/// driver call. To the host there are more, so that the engine writes to slots that have left the caches of the cores.
const IN_FLIGHT_MAX: [usize; 2] = [4, 8];
/// With two, a pinned copy of 64 KiB to an H100 took 2.1 times its idle time in place of 1.8, and bulk had 27 GB/s in
/// place of 22.
const SHARED_IN_FLIGHT_MAX: usize = 1;

/// So many threads move pieces then. More would take cores from the threads that make urgent copies: with four in place
/// of eight their p99 was 49 us in place of 127, and bulk had 32 GB/s in place of 27.
const SHARED_HANDS_MAX: usize = 4;

/// A copy waits so long for a slot while it has none. Then the driver makes the rest.
const PATIENCE: Nanos = Nanos::from_ms(2);
const LOOK: Nanos = Nanos::from_us(20);

/// While a fence is awaited, the driver is asked whether the device is lost: first after this time.
const DOUBT: Nanos = Nanos::from_ms(1);
/// And this often in the end.
const DOUBT_MAX: Nanos = Nanos::from_ms(64);

/// The order in which copies go.
#[derive(Clone, Copy)]
pub(crate) struct Order {
    pub(crate) direction: Direction,
    pub(crate) stream: Stream,
    pub(crate) priority: Priority,
    /// Whether copies of other streams are below it.
    pub(crate) raises: bool,
    /// Whether copies of other streams are above it.
    pub(crate) yields: bool,
}

/// Cuts a copy into pieces of one slice each for so many threads. `None` for a shape of too many small rows or slices.
pub(crate) fn cut(shape: &Shape, order: &Order, threads: usize) -> Option<Vec<Shape>> {
    let most = if order.yields { SHARED_PIECE_BYTES_MAX } else { SLOT_BYTES };
    let shares = (shape.bytes() / (2 * (threads as u64 + 1))).next_multiple_of(PIECE_BYTES_MIN / 2);
    let slices = u64::from(!shape.is_linear()) * shape.depth;
    if slices > 0 && shape.bytes() / slices < AVERAGE_BYTES_MIN {
        return None;
    }
    let bytes = shares.clamp(PIECE_BYTES_MIN, most);
    let pieces = |slice| chunk::cut(&shape.rows_from(slice, 0, shape.rows), bytes);
    Some(if shape.is_linear() { chunk::cut(shape, bytes) } else { (0..shape.depth).flat_map(pieces).collect() })
}

/// The mark behind a piece that the device has.
#[derive(Clone, Copy)]
enum Landing {
    Event(Event),
    /// A word that lets other streams have their turn at the engine, and that is read without a driver call.
    Fence(Fence),
}

/// A piece that the device has.
struct Flying {
    index: usize,
    slot: Slot,
    landed: Landing,
}

/// The means of a copy: those of its direction.
#[derive(Clone, Copy)]
pub(crate) struct Means<'a> {
    pub(crate) driver: &'a dyn Driver,
    pub(crate) events: &'a pool::Pool<Event>,
    pub(crate) records: &'a Records,
    pub(crate) bank: &'a Bank,
    /// The priority that waits for none.
    pub(crate) highest: Priority,
    /// Whether urgent copies hold the pieces off. By kernel they do not, and on the engine they wait for few.
    pub(crate) holds_off: bool,
    /// The time that a copy may wait for more urgent ones.
    pub(crate) wait_max: Nanos,
    pub(crate) pool: &'a Pool,
    pub(crate) ring: &'a Ring,
}

/// A copy under way.
pub(crate) struct Conductor<'a, 'g> {
    means: Means<'a>,
    order: Order,
    call: Arc<Call>,
    /// Pieces that threads fill, or empty, with their slots: in order.
    moving: VecDeque<(usize, Slot)>,
    /// Pieces that the device has, in order.
    flying: VecDeque<Flying>,
    /// The next piece to give to the device.
    next: usize,
    /// Up while the device has pieces of an urgent copy.
    raised: Option<Pending>,
    /// The time that it may still wait for more urgent copies.
    wait_left: Nanos,
    /// Keeps other threads out of the stream until that has all pieces, and no piece is needed from it again.
    exclusive: Option<Exclusive<'g>>,
}

impl<'a, 'g> Conductor<'a, 'g> {
    pub(crate) fn new(
        means: Means<'a>,
        order: Order,
        areas: Areas,
        pieces: Vec<Shape>,
        exclusive: Option<Exclusive<'g>>,
    ) -> Conductor<'a, 'g> {
        let threads = means.pool.threads();
        let hands_max = if order.yields { threads.min(SHARED_HANDS_MAX) } else { threads };
        Conductor {
            means,
            order,
            call: Arc::new(Call::new(order.direction, (order.raises, order.yields), areas, pieces, hands_max)),
            moving: VecDeque::new(),
            flying: VecDeque::new(),
            next: 0,
            raised: None,
            wait_left: means.wait_max,
            exclusive,
        }
    }

    /// Makes the copy, piece by piece, as far as it can. Returns the first piece that is not made; with `lands` all
    /// others have arrived, and else those to the device may be on their way.
    ///
    /// # Safety
    /// The host's side is valid as its caller's copy demands, until this has returned.
    pub(crate) unsafe fn go(&mut self, lands: bool) -> (usize, Result<()>) {
        let to_host = self.order.direction == Direction::DeviceToHost;
        // SAFETY: passed on to the caller.
        let made = unsafe { if to_host { self.go_to_host() } else { self.go_to_device() } };
        let host = self.means.driver.host();
        self.call.withdraw(host);
        self.means.pool.end(&self.call);
        self.moving.drain(..).for_each(|(_, slot)| self.means.ring.give(slot));
        // The next copy of the stream waits for this one in any case, so to land costs little.
        let stays = to_host || lands || self.raised.is_some() || self.order.yields;
        let landed = if stays { self.land_all() } else { Ok(()) };
        while let Some(Flying { slot, landed, .. }) = self.flying.pop_front() {
            self.keep(slot, landed);
        }
        self.lower();
        match made {
            Ok(first) => (first, landed),
            Err(error) => (self.next, Err(error)),
        }
    }

    /// Keeps other threads out of the stream, unless that has all pieces.
    pub(crate) fn into_exclusive(self) -> Option<Exclusive<'g>> {
        self.exclusive
    }

    /// # Safety
    /// As for [`Conductor::go`].
    unsafe fn go_to_device(&mut self) -> Result<usize> {
        let count = self.call.pieces().len();
        let mut offered = 0;
        while self.next < count {
            let before = offered;
            while let Some(slot) = (offered < count).then(|| self.slot()).flatten() {
                // SAFETY: the slot is this piece's; the piece is withdrawn before `go` returns.
                unsafe { self.offer(offered, slot) };
                offered += 1;
            }
            if before == 0 && offered > 0 {
                self.means.pool.begin(&self.call);
            }
            let Some(index) = self.moving.front().map(|(index, _)| *index) else {
                if self.await_slot()? {
                    continue;
                }
                break;
            };
            if self.call.settle(index, self.means.driver.host()) == Moved::Refused {
                break;
            }
            while self.flying.len() >= self.in_flight_max() {
                self.land()?;
            }
            if let Some((index, slot)) = self.moving.pop_front() {
                self.send(index, slot)?;
            }
        }
        Ok(self.next)
    }

    /// # Safety
    /// As for [`Conductor::go`].
    unsafe fn go_to_host(&mut self) -> Result<usize> {
        let count = self.call.pieces().len();
        let mut emptied = 0;
        while emptied < count {
            let is_first = self.next == 0;
            while self.next < count && self.flying.len() < self.in_flight_max() {
                let Some(slot) = self.slot() else { break };
                self.send(self.next, slot)?;
            }
            if is_first && self.next > 0 {
                self.means.pool.begin(&self.call);
            }
            if let Some(Flying { index, slot, .. }) = self.land_front()? {
                // SAFETY: the slot is this piece's; the piece is withdrawn before `go` returns.
                unsafe { self.offer(index, slot) };
            } else if let Some((index, _)) = self.moving.front() {
                self.call.settle(*index, self.means.driver.host());
            } else if !self.await_slot()? {
                break;
            }
            while let Some(moved) = self.moving.front().and_then(|(index, _)| self.call.result(*index)) {
                if moved == Moved::Refused {
                    return Ok(emptied);
                }
                self.moving.pop_front().into_iter().for_each(|(_, slot)| self.means.ring.give(slot));
                emptied += 1;
            }
        }
        Ok(emptied)
    }

    /// Gives the next piece its slot, for the threads.
    ///
    /// # Safety
    /// As for [`Call::offer`].
    unsafe fn offer(&mut self, index: usize, slot: Slot) {
        // SAFETY: passed on to the caller.
        unsafe { self.call.offer(slot.address) };
        self.moving.push_back((index, slot));
        self.means.pool.tell(&self.call);
    }

    /// A slot, unless this copy has its share of them.
    fn slot(&self) -> Option<Slot> {
        let share = (self.means.ring.count() * 3 / 4).max(1);
        let is_free = self.moving.len() + self.flying.len() < share;
        let events = self.means.events;
        is_free.then(|| self.means.ring.take(self.means.driver, events, self.order.raises)).flatten()
    }

    /// Waits until there may be a slot. `false` if none came in time.
    fn await_slot(&mut self) -> Result<bool> {
        if !self.flying.is_empty() {
            return self.land().map(|()| true);
        }
        let host = self.means.driver.host();
        let end = host.now() + PATIENCE;
        while host.now() < end {
            if let Some(slot) = self.slot() {
                self.means.ring.give(slot);
                return Ok(true);
            }
            host.sleep(LOOK);
        }
        Ok(false)
    }

    fn in_flight_max(&self) -> usize {
        let is_to_host = self.order.direction == Direction::DeviceToHost;
        if self.order.yields { SHARED_IN_FLIGHT_MAX } else { IN_FLIGHT_MAX[usize::from(is_to_host)] }
    }

    /// Gives a piece to the device, behind all before it in the stream.
    fn send(&mut self, index: usize, slot: Slot) -> Result<()> {
        self.let_urgent_copies_pass();
        let Order { direction, stream, priority, raises, .. } = self.order;
        if raises && self.raised.is_none() {
            self.raised = self.means.records.standing.raise(direction, priority);
        }
        let shape = self.call.packed(index, slot.address);
        let driver = self.means.driver;
        // SAFETY: the slot stays pinned, and is given to no other piece before the mark behind the copy. The caller
        // vouches for the device's side.
        if let Err(error) = unsafe { copy_shape(driver, direction, &shape, stream) } {
            self.means.ring.give(slot);
            return Err(error);
        }
        let landed = match self.write_fence() {
            Some(fence) => Landing::Fence(fence),
            // Without an event the end of the copy is never known, and the slot is lost.
            None => Landing::Event(self.means.events.mark(driver, stream)?),
        };
        self.flying.push_back(Flying { index, slot, landed });
        self.next = index + 1;
        // A piece that cannot be emptied is read again, by the driver.
        if direction == Direction::HostToDevice && self.next == self.call.pieces().len() {
            self.exclusive = None;
        }
        Ok(())
    }

    /// Has a word written behind the copy if other streams are to have their turn at the engine. `None` if it is not:
    /// they wait longer. A call less for each piece than with an event, and none to wait: urgent copies need the
    /// driver's lock too.
    fn write_fence(&self) -> Option<Fence> {
        let (records, stream) = (self.means.records, self.order.stream);
        let fence = if self.order.yields && !stream.is_legacy() { records.fences.take()? } else { return None };
        let written = self.means.driver.mem_op(stream, records.fences.write(fence));
        let undo = |_: &hal::Error| {
            records.counters.failed();
            records.fences.release(fence);
        };
        written.inspect_err(undo).ok().map(|()| fence)
    }

    /// Waits while a more urgent copy is pending, as long as a copy kernel would.
    fn let_urgent_copies_pass(&mut self) {
        let Order { priority, direction, yields, .. } = self.order;
        let bank = self.means.bank;
        if yields && self.means.holds_off {
            self.means.records.traffic(direction).end_lull();
        }
        if priority >= self.means.highest || bank.gate_word(priority) == 0 {
            return;
        }
        let host = self.means.driver.host();
        let before = host.now();
        host.wait_until(Some(before + self.wait_left), &mut || bank.gate_word(priority) == 0);
        self.wait_left = self.wait_left - host.now().since(before);
    }

    /// Waits for the first piece that the device has, and gives its slot back.
    fn land(&mut self) -> Result<()> {
        let landed = self.land_front()?;
        landed.into_iter().for_each(|flying| self.means.ring.give(flying.slot));
        Ok(())
    }

    fn land_front(&mut self) -> Result<Option<Flying>> {
        let Some(flying) = self.flying.pop_front() else { return Ok(None) };
        if let Err(error) = self.wait_for(flying.landed) {
            self.keep(flying.slot, flying.landed);
            return Err(error);
        }
        match flying.landed {
            Landing::Event(event) => self.means.events.give(event),
            Landing::Fence(fence) => self.means.records.fences.release(fence),
        }
        if self.flying.is_empty() {
            self.lower();
        }
        Ok(Some(flying))
    }

    /// Keeps a slot that the device may still use. The next copy that wants it asks its event. One with a fence is
    /// lost, as the device is.
    fn keep(&self, slot: Slot, landed: Landing) {
        if let Landing::Event(event) = landed {
            self.means.ring.give_after(slot, event);
        }
    }

    fn wait_for(&self, landing: Landing) -> Result<()> {
        let (driver, fences) = (self.means.driver, &self.means.records.fences);
        match landing {
            Landing::Event(event) => driver.event_synchronize(event),
            Landing::Fence(fence) => {
                let host = driver.host();
                let mut doubt = DOUBT;
                while !fences.is_done(fence) {
                    host.wait_until(Some(host.now() + doubt), &mut || fences.is_done(fence));
                    if !fences.is_done(fence) {
                        driver.stream_query(self.order.stream)?;
                    }
                    // A long wait sleeps between looks, a short one does not.
                    doubt = DOUBT_MAX.min(doubt + doubt);
                }
                Ok(())
            }
        }
    }

    fn land_all(&mut self) -> Result<()> {
        while !self.flying.is_empty() {
            self.land()?;
        }
        Ok(())
    }

    fn lower(&mut self) {
        let bank = self.means.bank;
        self.raised.take().into_iter().for_each(|pending| bank.lower(pending));
    }
}
