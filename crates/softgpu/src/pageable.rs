//! Copies from and to pageable memory, as the driver makes them: one thread, piece by piece, through memory of its own.

use std::collections::VecDeque;

use hal::Stream;

use crate::gpu::SoftGpu;
use crate::host::{Await, HostTurn};
use crate::model::{Class, OpKey, Outcome, Request, StreamKey, WriteBack, scatter};
use crate::parameters::span_ns;

/// A thread that was kept out by a copy in pieces is let in before the next one, if that does not take longer.
const WAKE_NS: u64 = 10_000;
/// Pieces of one copy that the device has at once.
const IN_FLIGHT: usize = 2;

impl SoftGpu {
    /// Makes a copy in pieces. To the device it returns when the last byte of the source has been read, and from the
    /// device when the last byte of the target has been written.
    pub(crate) fn copy_in_pieces(
        &self,
        turn: &mut HostTurn<'_>,
        request: &Request,
        (stream, class): (Stream, Class),
        synchronous: bool,
    ) -> Outcome<()> {
        self.await_earlier_work(turn, stream, synchronous)?;
        if class == Class::H2d {
            return self.alone(turn, stream, |turn| self.pieces_to_device(turn, request, stream, synchronous));
        }
        self.take_staging(turn)?;
        let made = self.alone(turn, stream, |turn| self.pieces_to_host(turn, request, stream));
        let caller = turn.caller(self.process);
        turn.model().staging_free(caller);
        made
    }

    /// Makes the pieces, while calls of other threads that enter the stream wait. Then those that wait come first.
    fn alone(
        &self,
        turn: &mut HostTurn<'_>,
        stream: Stream,
        pieces: impl FnOnce(&mut HostTurn<'_>) -> Outcome<()>,
    ) -> Outcome<()> {
        let caller = turn.caller(self.process);
        let mut key = turn.model().stream(caller, stream)?;
        while !turn.model().has_no_pieces(key) {
            self.await_whole(turn, key)?;
            key = turn.model().stream(caller, stream)?;
        }
        turn.model().pieces_begin(key);
        let made = pieces(turn);
        let caller = turn.caller(self.process);
        match turn.model().pieces_end(caller, key) {
            true => made.and(self.pass(turn, WAKE_NS)),
            false => made,
        }
    }

    /// Waits for the end of a copy in pieces that is under way in this stream, or in one that is ordered with it.
    pub(crate) fn await_whole(&self, turn: &mut HostTurn<'_>, key: StreamKey) -> Outcome<()> {
        turn.model().pieces_await(self.process, true);
        let outcome = turn.block(Await::Whole(key));
        turn.model().pieces_await(self.process, false);
        outcome
    }

    /// Waits for the work that is in the stream. No byte of a source is read before.
    fn await_earlier_work(&self, turn: &mut HostTurn<'_>, stream: Stream, synchronous: bool) -> Outcome<()> {
        let caller = turn.caller(self.process);
        let key = turn.model().stream(caller, stream)?;
        match turn.model().last_to_wait_for(caller, key) {
            Some(op) if synchronous => self.block_alone(turn, Await::Op(op)),
            Some(op) => self.block(turn, Await::Op(op)),
            None => Ok(()),
        }
    }

    fn pieces_to_device(
        &self,
        turn: &mut HostTurn<'_>,
        request: &Request,
        stream: Stream,
        synchronous: bool,
    ) -> Outcome<()> {
        let host = turn.model().parameters.host.clone();
        let engine_gbps = turn.model().parameters.engine.h2d_gbps;
        turn.spend(host.pageable_ns.saturating_sub(host.copy_ns));
        let mut flying = VecDeque::new();
        for (offset, bytes) in pieces(request.bytes(), host.pageable_piece_bytes) {
            let gbps = if offset == 0 { host.pageable_cached_gbps } else { host.pageable_gbps };
            let span = span_ns(bytes, gbps);
            // The engine moves the first bytes of a piece while the thread reads the last ones.
            let overlap = span_ns(bytes, engine_gbps).min(span);
            self.pass(turn, span - overlap)?;
            flying.push_back(self.piece(turn, &request.piece(offset, bytes), stream)?.0);
            self.pass(turn, overlap)?;
            if flying.len() > IN_FLIGHT
                && let Some(first) = flying.pop_front()
            {
                turn.block(Await::Op(first))?;
            }
        }
        match flying.pop_back() {
            Some(last) if synchronous && request.bytes() <= host.pageable_landed_bytes_max => {
                self.block(turn, Await::Op(last))
            }
            _ => Ok(()),
        }
    }

    fn pieces_to_host(&self, turn: &mut HostTurn<'_>, request: &Request, stream: Stream) -> Outcome<()> {
        let host = turn.model().parameters.host.clone();
        self.pass(turn, host.pageable_d2h_ns)?;
        let mut left = pieces(request.bytes(), host.pageable_piece_bytes);
        let mut flying = VecDeque::new();
        loop {
            while flying.len() < IN_FLIGHT
                && let Some((offset, bytes)) = left.next()
            {
                let piece = request.piece(offset, bytes);
                let (op, write_back) = self.piece(turn, &piece, stream)?;
                flying.push_back((op, piece, write_back));
            }
            let Some((op, piece, write_back)) = flying.pop_front() else { return Ok(()) };
            self.block(turn, Await::Op(op))?;
            self.pass(turn, span_ns(piece.bytes(), host.pageable_d2h_gbps))?;
            if let Some((staging, target)) = write_back {
                scatter(&piece, &staging, target);
            }
        }
    }

    /// Spends the caller's time, and lets the other threads and the device have theirs meanwhile.
    fn pass(&self, turn: &mut HostTurn<'_>, span: u64) -> Outcome<()> {
        turn.spend(span);
        let at = turn.caller(self.process).at;
        turn.model().wake_at(at);
        turn.block(Await::Time(at))
    }

    /// Gives a piece to the device.
    fn piece(&self, turn: &mut HostTurn<'_>, piece: &Request, stream: Stream) -> Outcome<(OpKey, Option<WriteBack>)> {
        let caller = turn.caller(self.process);
        // Another thread may have destroyed the stream since the last piece.
        let key: StreamKey = turn.model().stream(caller, stream)?;
        let plan = turn.model().copy_plan(caller, piece)?;
        let write_back = plan.write_back.clone();
        Ok((turn.model().copy_submit(caller, key, plan), write_back))
    }

    /// Takes the driver's staging memory to the host. It is not fair: a thread that has to wait is woken a while after
    /// it has become free, and by then the thread that had it may have it again.
    fn take_staging(&self, turn: &mut HostTurn<'_>) -> Outcome<()> {
        if turn.model().staging_take(self.process, false) {
            return Ok(());
        }
        turn.model().staging_wait(self.process, true);
        let outcome = loop {
            if let Err(failure) = turn.block(Await::Staging(self.process)) {
                break Err(failure);
            }
            if turn.model().staging_take(self.process, true) {
                break Ok(());
            }
        };
        turn.model().staging_wait(self.process, false);
        outcome
    }
}

/// Offset and bytes of each piece.
fn pieces(bytes: u64, piece_bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let piece_bytes = piece_bytes.max(1);
    (0..bytes.div_ceil(piece_bytes)).map(move |number| {
        let offset = number * piece_bytes;
        (offset, piece_bytes.min(bytes - offset))
    })
}
