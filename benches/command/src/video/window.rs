//! Ordering before submission: the program holds its own bulk back while a picture is under way, and hands the driver
//! no more of it than a window. No part of overtake is open.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hal::{MemOp, Nanos, Result, Stream};
use measure::flow::{Cargo, Flow};
use measure::ground::Ground;

/// A piece of a request: a picture waits for so many bytes of each flow, and of each window.
const PIECE_BYTES: u64 = 4 << 20;
/// Pieces of a flow that the driver has at once: with one the engine would run dry between two.
const WINDOW: u32 = 2;
/// Bulk goes on after this time, even if a picture is under way.
const PATIENCE: Nanos = Nanos::from_ms(1_000);

/// The pictures that are under way.
#[derive(Debug, Default)]
pub struct Window {
    pictures: AtomicU32,
}

/// A picture that is under way.
#[derive(Debug)]
pub struct UnderWay<'w>(&'w Window);

impl Window {
    /// A picture begins.
    pub fn begin(&self) -> UnderWay<'_> {
        self.pictures.fetch_add(1, Ordering::SeqCst);
        UnderWay(self)
    }

    fn is_free(&self) -> bool {
        self.pictures.load(Ordering::SeqCst) == 0
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.pictures.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A flow whose submissions wait for their turn. Requests of one copy go piece by piece.
pub struct Held {
    pub flow: Arc<dyn Flow>,
    pub window: Arc<Window>,
    /// Whether a request is one copy, which can be cut.
    pub is_cut: bool,
    submitted: AtomicU32,
}

impl Held {
    pub fn new(flow: Arc<dyn Flow>, window: &Arc<Window>, is_cut: bool) -> Held {
        Held { flow, window: Arc::clone(window), is_cut, submitted: AtomicU32::new(0) }
    }

    /// The pieces of a request.
    fn pieces(&self) -> u64 {
        if self.is_cut { self.cargo().bytes.div_ceil(PIECE_BYTES) } else { 1 }
    }

    /// Waits until no picture is under way, and the window has room.
    fn wait(&self) {
        let submitted = self.submitted.load(Ordering::Relaxed);
        let word = self.ground().rig().word(self.cargo().word);
        let may_go = || self.window.is_free() && submitted.wrapping_sub(word.load(Ordering::Acquire)) < WINDOW;
        let _ends_in_time = self.ground().rig().wait_for(PATIENCE, &mut || may_go());
    }

    /// A word behind each piece counts it.
    fn note(&self) -> Result<()> {
        let number = self.submitted.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let address = self.ground().rig().word_address(self.cargo().word);
        self.ground().driver().mem_op(self.stream(), MemOp::write32(address, number))
    }
}

impl Flow for Held {
    fn ground(&self) -> &Ground {
        self.flow.ground()
    }

    fn cargo(&self) -> Cargo {
        self.flow.cargo()
    }

    fn stream(&self) -> Stream {
        self.flow.stream()
    }

    fn copy(&self) -> Result<()> {
        let Cargo { direction, lane, bytes, .. } = self.cargo();
        for piece in 0..self.pieces() {
            self.wait();
            match self.is_cut {
                false => self.flow.copy()?,
                true => {
                    let offset = piece * PIECE_BYTES;
                    let bytes = PIECE_BYTES.min(bytes - offset);
                    self.ground().copy(direction, lane, offset, bytes, self.stream())?;
                }
            }
            self.note()?;
        }
        Ok(())
    }

    /// The pieces have counted themselves.
    fn count(&self, _sequence: u32) -> Result<()> {
        Ok(())
    }

    fn done(&self) -> u32 {
        (u64::from(self.flow.done()) / self.pieces()) as u32
    }

    fn reset(&self) {
        self.submitted.store(0, Ordering::Relaxed);
        self.flow.reset();
    }
}
