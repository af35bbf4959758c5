//! In chunks, through a channel.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use channels::{Refusal, Shape, Submission, chunk};

use crate::decide::{Setback, kernel_can};
use crate::emulated;
use crate::records::Room;
use crate::submit::asked::{Planned, Went};
use crate::submit::tracked::StreamHold;

impl Planned<'_> {
    /// # Safety
    /// As for [`super::submit`].
    pub(super) unsafe fn go_by_channel(&self) -> Went {
        // SAFETY: passed on to the caller.
        self.go_tracked(|tracked, whole| unsafe { self.queue(tracked.room, whole) })
    }

    unsafe fn queue<'s>(&'s self, room: Option<Room>, whole: &mut StreamHold<'s>) -> Went<()> {
        let (inner, engine, priority) = (self.inner(), self.engine(), self.asked.priority);
        let room = room.unwrap_or_else(|| self.asked.room(self.direction()));
        let budget = self.asked.budget(self.direction(), room);
        let unstated = inner.options.profile.chunk_max;
        let has_room = || budget.admits_chunks(unstated) || !budget.has_room_for_chunks(unstated);
        if kernel_can(&self.placed.known) && !has_room() {
            // Whole copies of other streams have come meanwhile.
            return Err(Setback::Occupied.into());
        }
        let last = budget.chunk(unstated);
        let [first, last] = [budget.first_chunk(last), last].map(|length| engine.chunk_bytes(length));
        *whole = Some(self.exclude_others()?);
        let shapes = self.asked.cargo.shapes();
        let chunks: Vec<Shape> = shapes.flat_map(|shape| chunk::cut_rising(&shape, first, last)).collect();
        inner.records.counters.chunks.add(chunks.len() as u64);
        let submission = Submission {
            from: self.asked.stream.stream,
            priority,
            chunks: &chunks,
            bank: &engine.bank,
            emulation: emulated::operations(&inner.options),
            adder: &inner.counting,
            // A copy of the most urgent priority does not wait for other callers.
            pace: self.waits_at().map(|_| &inner.pace),
        };
        for number in engine.channels(priority) {
            let channel = engine.channel(&inner.driver, self.direction(), priority, number)?;
            // SAFETY: passed on to the caller; chunks are parts of the shapes.
            match unsafe { channel.submit(&submission) } {
                // The next channel may have no copies of a stream that waits.
                Err(Refusal::Unready) => {}
                submitted => return Ok(submitted?),
            }
        }
        Err(Refusal::Unready.into())
    }
}
