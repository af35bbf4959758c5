//! One copy in pieces: one thread moves each piece between the program's memory and a slot.
#![allow(unsafe_code)] // moves bytes between addresses

use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

use channels::Shape;
use hal::Host;
use priority::Direction;

use super::areas::Areas;
use super::pages::{Access, Pages, provide};
use super::stores::{STREAMED_ROW_MIN, are_streamed, copy_streaming, copy_without_fault};

const UNTAKEN: u8 = 0;
const TAKEN: u8 = 1;
const MOVED: u8 = 2;
const REFUSED: u8 = 3;
const WITHDRAWN: u8 = 4;

/// A row further from the next than this is made present by itself, and not the gap between them.
const GAP_BYTES_MAX: u64 = 4096;

/// The result of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moved {
    /// Its bytes are in their place.
    Yes,
    /// The system did not make its pages present, or has refused one of them since. No thread has had a fault there.
    Refused,
}

/// The pieces of a copy, and how far each is.
pub(super) struct Call {
    pub(super) direction: Direction,
    pub(super) is_urgent: bool,
    areas: Areas,
    /// Whether the program handles faults. Then no thread but the one inside the call may have one.
    faults_are_handled: bool,
    /// Whether its targets in host memory, the program's or slots, are written past the caches.
    is_streamed: bool,
    pieces: Vec<Shape>,
    states: Vec<AtomicU8>,
    /// The slot of each piece that has one.
    slots: Vec<AtomicU64>,
    /// So many pieces have a slot.
    offered: AtomicUsize,
    /// The next piece for a thread of the pool.
    claimed: AtomicUsize,
    /// Threads of the pool that move a piece now, and the most that may.
    hands: AtomicUsize,
    hands_max: usize,
}

impl Call {
    /// A copy, in pieces of one slice each, none of them larger than a slot, for so many threads of the pool at once.
    pub(super) fn new(
        direction: Direction,
        (is_urgent, yields): (bool, bool),
        areas: Areas,
        pieces: Vec<Shape>,
        hands_max: usize,
    ) -> Call {
        let bytes: u64 = pieces.iter().map(Shape::bytes).sum();
        Call {
            direction,
            is_urgent,
            areas,
            faults_are_handled: os::faults::are_handled(),
            is_streamed: are_streamed(direction, bytes, yields),
            states: pieces.iter().map(|_| AtomicU8::new(UNTAKEN)).collect(),
            slots: pieces.iter().map(|_| AtomicU64::new(0)).collect(),
            pieces,
            offered: AtomicUsize::new(0),
            claimed: AtomicUsize::new(0),
            hands: AtomicUsize::new(0),
            hands_max,
        }
    }

    pub(super) fn pieces(&self) -> &[Shape] {
        &self.pieces
    }

    /// The piece as the driver moves it: the host's side is the slot at `packed`, without gaps.
    pub(super) fn packed(&self, index: usize, packed: u64) -> Shape {
        let mut shape = self.pieces[index];
        let side = match self.direction {
            Direction::HostToDevice => &mut shape.source,
            _ => &mut shape.target,
        };
        let width = shape.width_bytes;
        *side = channels::Side::host(packed).pitched(width, width * shape.rows);
        shape.flattened()
    }

    /// Gives the next piece its slot. From now on any thread may move it.
    ///
    /// # Safety
    /// The device has done with the slot at `packed`, and no other piece uses it. The caller of the copy has vouched
    /// for its own memory, and is inside its call until [`Call::withdraw`] has returned.
    pub(super) unsafe fn offer(&self, packed: u64) {
        let index = self.offered.load(Ordering::Relaxed);
        self.slots[index].store(packed, Ordering::Relaxed);
        self.offered.store(index + 1, Ordering::SeqCst);
    }

    /// The number of threads of the pool that may move pieces at once.
    pub(super) fn hands_max(&self) -> usize {
        self.hands_max
    }

    /// Whether there are pieces for one more thread of the pool.
    pub(super) fn has_offer(&self) -> bool {
        self.claimed.load(Ordering::Relaxed) < self.offered.load(Ordering::SeqCst)
            && self.hands.load(Ordering::Relaxed) < self.hands_max
    }

    /// A piece for a thread of the pool, which [`Call::work`]s on it next.
    pub(super) fn claim(&self) -> Option<usize> {
        let one_more = |hands| (hands < self.hands_max).then_some(hands + 1);
        self.hands.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        let offered = self.offered.load(Ordering::SeqCst);
        let next = |claimed| (claimed < offered).then_some(claimed + 1);
        let claimed = self.claimed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok();
        if claimed.is_none() {
            self.hands.fetch_sub(1, Ordering::Relaxed);
        }
        claimed
    }

    /// Moves a piece that a thread of the pool has claimed.
    pub(super) fn work(&self, index: usize, host: &dyn Host) {
        self.run(index, host, !self.faults_are_handled);
        self.hands.fetch_sub(1, Ordering::Relaxed);
    }

    /// Moves a piece that has been offered, if no other thread does.
    fn run(&self, index: usize, host: &dyn Host, may_fault: bool) {
        let state = &self.states[index];
        if state.compare_exchange(UNTAKEN, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return;
        }
        // SAFETY: the piece has been offered, and is this thread's until its state says more.
        let moved = unsafe { self.move_rows(index, may_fault) };
        host.copied(self.pieces[index].bytes());
        state.store(if moved { MOVED } else { REFUSED }, Ordering::Release);
    }

    /// Pages that were present may be gone or protected by the time that a thread touches them: another thread of the
    /// program raises a write barrier, or cuts a file short. A thread that may not fault leaves it to the kernel.
    unsafe fn move_rows(&self, index: usize, may_fault: bool) -> bool {
        let (shape, packed) = (&self.pieces[index], self.slots[index].load(Ordering::Relaxed));
        let (width, to_device) = (shape.width_bytes, self.direction == Direction::HostToDevice);
        let side = if to_device { shape.source } else { shape.target };
        let access = if to_device { Access::Read } else { Access::Write };
        let row = |row: u64| side.address + row * side.row_pitch_bytes;
        let provided = |start: u64, bytes: u64| provide(start, bytes, access, &self.areas);
        let pages = match side.row_pitch_bytes.saturating_sub(width) > GAP_BYTES_MAX {
            true => (0..shape.rows).map(|number| provided(row(number), width)).max(),
            false => Some(provided(side.address, row(shape.rows - 1) - side.address + width)),
        };
        if pages == Some(Pages::Refused) {
            return false;
        }
        let is_streamed = self.is_streamed && pages == Some(Pages::Present) && width >= STREAMED_ROW_MIN;
        for number in 0..shape.rows {
            let (theirs, ours) = (row(number) as *mut u8, (packed + number * width) as *mut u8);
            let (from, to) = if to_device { (theirs.cast_const(), ours) } else { (ours.cast_const(), theirs) };
            // SAFETY: the slot has room for the piece, and the caller vouches for the program's rows, whose pages are
            // present. A slot is memory of ours, so the two do not overlap.
            unsafe {
                match (may_fault, is_streamed) {
                    (false, _) if !copy_without_fault(self.direction, theirs, ours, width as usize) => return false,
                    (false, _) => {}
                    (true, true) => copy_streaming(from, to, width as usize),
                    (true, false) => std::ptr::copy_nonoverlapping(from, to, width as usize),
                }
            }
        }
        true
    }

    /// The result of a piece, if it has one.
    pub(super) fn result(&self, index: usize) -> Option<Moved> {
        match self.states[index].load(Ordering::Acquire) {
            MOVED => Some(Moved::Yes),
            REFUSED => Some(Moved::Refused),
            _ => None,
        }
    }

    /// The result of a piece that has been offered. The calling thread moves it itself if no other thread has begun.
    pub(super) fn settle(&self, index: usize, host: &dyn Host) -> Moved {
        self.run(index, host, true);
        host.wait_until(None, &mut || self.result(index).is_some());
        self.result(index).unwrap_or(Moved::Refused)
    }

    /// Takes back all pieces that no thread has begun, and waits for those that a thread has. Afterwards no thread
    /// touches the program's memory or a slot for this copy.
    pub(super) fn withdraw(&self, host: &dyn Host) {
        for state in &self.states {
            let _ = state.compare_exchange(UNTAKEN, WITHDRAWN, Ordering::Relaxed, Ordering::Relaxed);
        }
        let is_taken = |state: &AtomicU8| state.load(Ordering::Acquire) == TAKEN;
        if self.states.iter().any(is_taken) {
            host.wait_until(None, &mut || !self.states.iter().any(is_taken));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// So many threads have a piece at once, and the next one gets a piece when one of them has moved its own.
    #[test]
    fn no_more_threads_than_allowed_move_pieces_at_once() {
        const BYTES: usize = 4096;
        let (driver, source, mut slots) = (crate::soft::driver(), [[7_u8; BYTES]; 3], [[0_u8; BYTES]; 3]);
        let piece = |bytes: &[u8; BYTES]| Shape::linear(0x1000, bytes.as_ptr() as u64, BYTES as u64);
        let pieces = source.iter().map(piece).collect();
        let call = Call::new(Direction::HostToDevice, (false, false), Areas::default(), pieces, 2);
        assert!(!call.has_offer() && call.claim().is_none(), "no piece has a slot");
        // SAFETY: each piece has a slot of its own, and all memory outlives the call.
        slots.iter_mut().for_each(|slot| unsafe { call.offer(slot.as_mut_ptr() as u64) });
        assert_eq!([call.claim(), call.claim(), call.claim()], [Some(0), Some(1), None]);
        assert!(!call.has_offer(), "the third piece has to wait");
        call.work(1, driver.host());
        assert!(call.has_offer());
        assert_eq!([call.claim(), call.claim()], [Some(2), None]);
        [0, 2].into_iter().for_each(|index| call.work(index, driver.host()));
        assert!(!call.has_offer() && call.claim().is_none(), "all have been moved");
        assert_eq!(slots, source);
    }

    /// Whenever a copy is withdrawn, no thread has a piece of it afterwards, and none gets one.
    #[test]
    fn no_thread_moves_a_piece_after_the_copy_was_withdrawn() {
        const BYTES: usize = 4 << 20;
        let driver = crate::soft::driver();
        let mut moved = [0; 3];
        for delay in 0..20 {
            let source = vec![7_u8; 2 * BYTES];
            let slots: Arc<[AtomicU8]> = (0..2 * BYTES).map(|_| AtomicU8::new(0)).collect();
            let piece = |at| Shape::linear(0x1000, source.as_ptr() as u64 + (at * BYTES) as u64, BYTES as u64);
            let pieces = vec![piece(0), piece(1)];
            let call = Arc::new(Call::new(Direction::HostToDevice, (false, false), Areas::default(), pieces, 1));
            // SAFETY: each piece has a slot of its own, and all memory outlives the thread.
            (0..2).for_each(|at| unsafe { call.offer(slots[at * BYTES].as_ptr() as u64) });
            let (theirs, its_driver) = (Arc::clone(&call), Arc::clone(&driver));
            let thread = hal::spawn(&driver, "moves", move || {
                while let Some(index) = theirs.claim() {
                    theirs.work(index, its_driver.host());
                }
            });
            driver.host().sleep(hal::Nanos::from_us(delay * 50));
            call.withdraw(driver.host());
            let before = [0, 1].map(|index| call.result(index));
            thread.unwrap().join(driver.host());
            assert_eq!([0, 1].map(|index| call.result(index)), before, "after {delay} * 50 us");
            moved[before.iter().flatten().count()] += 1;
        }
        assert!(moved.iter().all(|times| *times > 0), "none, one and both pieces were moved before: {moved:?}");
    }
}
