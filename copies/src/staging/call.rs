//! One copy in pieces: each is moved between the program's memory and a slot by one thread.
#![allow(unsafe_code)] // moves bytes between addresses

use std::sync::atomic::{AtomicU8, Ordering};

use channels::Shape;
use hal::Host;
use terms::Direction;

use super::pages::{Access, populate};

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
    /// The system did not make its pages present, so no thread has touched them.
    Refused,
}

/// The pieces of a copy, and how far each is.
pub(super) struct Call {
    pub(super) direction: Direction,
    pub(super) is_urgent: bool,
    pieces: Vec<Shape>,
    states: Vec<AtomicU8>,
}

impl Call {
    /// A copy, in pieces of one slice each, none of them larger than a slot.
    pub(super) fn new(direction: Direction, is_urgent: bool, pieces: Vec<Shape>) -> Call {
        let states = pieces.iter().map(|_| AtomicU8::new(UNTAKEN)).collect();
        Call { direction, is_urgent, pieces, states }
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

    /// Moves a piece, if no other thread does.
    ///
    /// # Safety
    /// `packed` is a slot that no other piece uses and that the device has done with. The caller of the copy has
    /// vouched for its own memory, and is inside its call until [`Call::withdraw`] has returned.
    pub(super) unsafe fn run(&self, index: usize, packed: u64, host: &dyn Host) {
        let state = &self.states[index];
        if state.compare_exchange(UNTAKEN, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return;
        }
        // SAFETY: passed on to the caller.
        let moved = unsafe { self.move_rows(index, packed) };
        host.copied(self.pieces[index].bytes());
        state.store(if moved { MOVED } else { REFUSED }, Ordering::Release);
    }

    unsafe fn move_rows(&self, index: usize, packed: u64) -> bool {
        let shape = &self.pieces[index];
        let (width, to_device) = (shape.width_bytes, self.direction == Direction::HostToDevice);
        let side = if to_device { shape.source } else { shape.target };
        let access = if to_device { Access::Read } else { Access::Write };
        let row = |row: u64| side.address + row * side.row_pitch_bytes;
        let is_present = match side.row_pitch_bytes.saturating_sub(width) > GAP_BYTES_MAX {
            true => (0..shape.rows).all(|number| populate(row(number), width, access)),
            false => populate(side.address, row(shape.rows - 1) - side.address + width, access),
        };
        for number in (0..shape.rows).filter(|_| is_present) {
            let (theirs, ours) = (row(number) as *mut u8, (packed + number * width) as *mut u8);
            let (from, to) = if to_device { (theirs.cast_const(), ours) } else { (ours.cast_const(), theirs) };
            // SAFETY: the slot has room for the piece, and the caller vouches for the program's rows, whose pages are
            // present. A slot is memory of ours, so the two do not overlap.
            unsafe { std::ptr::copy_nonoverlapping(from, to, width as usize) };
        }
        is_present
    }

    /// The result of a piece, if it has one.
    pub(super) fn result(&self, index: usize) -> Option<Moved> {
        match self.states[index].load(Ordering::Acquire) {
            MOVED => Some(Moved::Yes),
            REFUSED => Some(Moved::Refused),
            _ => None,
        }
    }

    /// The result of a piece, which the calling thread moves itself if no other thread has begun.
    ///
    /// # Safety
    /// As for [`Call::run`].
    pub(super) unsafe fn settle(&self, index: usize, packed: u64, host: &dyn Host) -> Moved {
        // SAFETY: passed on to the caller.
        unsafe { self.run(index, packed, host) };
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
