//! Threads that keep streams saturated.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hal::{HostThread, Stream};

use crate::facts::Direction;
use crate::rig::{BULK, Rig, Word};

/// A thread that keeps a stream saturated, and counts its copies.
pub struct Feeder {
    stop: Arc<AtomicBool>,
    bytes: Arc<AtomicU64>,
    thread: HostThread<()>,
}

impl Feeder {
    /// `group` submits one group of copies and returns its bytes. After each group the progress word is written, and
    /// at most `outstanding` groups are queued.
    pub fn start(
        rig: &Rig,
        stream: Stream,
        outstanding: u32,
        mut group: impl FnMut(&Rig) -> u64 + Send + 'static,
    ) -> Feeder {
        let (stop, bytes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, fed, own) = (Arc::clone(&stop), Arc::clone(&bytes), rig.clone());
        let progress = rig.word(2);
        progress.store(0);
        let thread = hal::spawn(&rig.driver, "feeder", move || {
            own.driver.context_set_current(Some(own.context)).unwrap();
            let mut issued = 0u32;
            let mut full = || {
                own.driver.host().wait_until(None, &mut || {
                    stopped.load(Ordering::Acquire) || issued.wrapping_sub(progress.load()) < outstanding
                });
                issued += 1;
                (!stopped.load(Ordering::Acquire)).then_some(issued)
            };
            while let Some(issued) = full() {
                fed.fetch_add(group(&own), Ordering::AcqRel);
                own.write(stream, progress.address(), issued);
            }
            own.driver.stream_synchronize(stream).unwrap();
        })
        .unwrap();
        Feeder { stop, bytes, thread }
    }

    /// Bulk in chunks, each behind a wait for the word, eight in a group and at most three groups queued.
    pub fn gated(rig: &Rig, stream: Stream, direction: Direction, chunk: u64, word: Word) -> Feeder {
        let mut offset = 0;
        Feeder::start(rig, stream, 3, move |rig| {
            for _ in 0..8 {
                rig.wait_zero(stream, word.address());
                rig.copy(direction, rig.bulk, walk(&mut offset, chunk), chunk, stream);
            }
            8 * chunk
        })
    }

    /// The bytes submitted so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }

    pub fn finish(self, rig: &Rig) {
        self.stop.store(true, Ordering::Release);
        self.thread.join(rig.driver.host());
    }
}

/// Moves on through the bulk buffer.
pub fn walk(offset: &mut u64, chunk: u64) -> u64 {
    if *offset + chunk > BULK {
        *offset = 0;
    }
    *offset += chunk;
    *offset - chunk
}
