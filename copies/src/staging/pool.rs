//! The threads that fill and empty slots. They never call the driver.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use hal::locks::lock;
use hal::{Driver, Host, Nanos, Result};
use threads::{Bell, Worker};

use super::call::Call;

/// A thread that has moved a piece looks for the next one for so long before it sleeps: to wake it takes as long as a
/// piece.
const LINGER: Nanos = Nanos::from_us(200);

/// There are at most so many threads.
const THREADS_MAX: usize = 64;

/// The copies under way, and the threads that look for pieces of them.
struct Work {
    /// Urgent ones first.
    calls: Mutex<Vec<Arc<Call>>>,
    /// Counts the changes of the list, for threads that look without the lock.
    changes: AtomicU64,
    /// The threads that look for a piece at the moment.
    idle: AtomicUsize,
    /// A bit for each thread that sleeps until its bell rings.
    asleep: AtomicU64,
    bells: Vec<Bell>,
}

/// The threads, as long as they are there.
pub(crate) struct Pool {
    work: Arc<Work>,
    workers: Mutex<Vec<Worker>>,
}

impl Pool {
    /// Starts the threads: fewer than asked for, or none, if the system refuses them.
    pub(super) fn new(driver: &Arc<dyn Driver>, threads: usize) -> Pool {
        let threads = threads.min(THREADS_MAX);
        let work = Arc::new(Work {
            calls: Mutex::default(),
            changes: AtomicU64::new(0),
            idle: AtomicUsize::new(0),
            asleep: AtomicU64::new(0),
            bells: (0..threads).map(|_| Bell::default()).collect(),
        });
        let started = (0..threads).map(|number| start(driver, &work, number));
        let workers = started.map_while(|worker| {
            worker.inspect_err(|error| log::warn!("pageable copies are staged by fewer threads: {error}")).ok()
        });
        let workers = Mutex::new(workers.collect());
        Pool { work, workers }
    }

    /// The number of threads.
    pub(super) fn threads(&self) -> usize {
        lock(&self.workers).len()
    }

    /// Wakes threads for a copy that begins, and has them look for its pieces until [`Pool::end`].
    pub(super) fn begin(&self, call: &Arc<Call>) {
        let work = &self.work;
        let mut calls = lock(&work.calls);
        let first = if call.is_urgent { 0 } else { calls.len() };
        calls.insert(first, Arc::clone(call));
        drop(calls);
        work.changes.fetch_add(1, Ordering::SeqCst);
        // The calling thread moves a piece itself if it comes first.
        let wanted = (call.pieces().len() - 1).min(call.hands_max()).min(work.bells.len());
        work.wake(wanted.saturating_sub(work.idle.load(Ordering::SeqCst)));
    }

    /// A piece of a copy has been offered. A thread that sleeps is woken for it, if no other one looks for pieces.
    pub(super) fn tell(&self, call: &Call) {
        self.work.wake_if_none_looks(call);
    }

    /// A copy is over.
    pub(super) fn end(&self, call: &Arc<Call>) {
        lock(&self.work.calls).retain(|other| !Arc::ptr_eq(other, call));
        self.work.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// Ends the threads. Pieces that they have not begun are left to the threads that handed them out.
    pub(super) fn leave(&self) {
        let workers = std::mem::take(&mut *lock(&self.workers));
        workers.iter().for_each(Worker::end);
    }
}

fn start(driver: &Arc<dyn Driver>, work: &Arc<Work>, number: usize) -> Result<Worker> {
    let [ends, moves] = [(); 2].map(|()| Arc::clone(work));
    let name = format!("overtake-stage-{number}");
    Worker::start_small(driver, &name, move || ends.bells[number].end(), move |host| moves.go_on(number, host), || ())
}

impl Work {
    /// Moves pieces until the thread is to end.
    fn go_on(&self, number: usize, host: &dyn Host) {
        let bell = &self.bells[number];
        bell.listen();
        let (mut own, mut rung) = (Own::default(), bell.count());
        while !bell.has_ended() {
            own.refresh(self, number);
            if let Some((call, index)) = own.claim() {
                self.wake_if_none_looks(call);
                call.work(index, host);
                continue;
            }
            let mut news = || bell.has_ended() || own.has_news(self);
            self.idle.fetch_add(1, Ordering::SeqCst);
            host.wait_until(Some(host.now() + LINGER), &mut news);
            self.idle.fetch_sub(1, Ordering::SeqCst);
            self.asleep.fetch_or(1 << number, Ordering::SeqCst);
            if !news() {
                bell.wait(host, None, &mut || bell.count() != rung);
                own = Own::default();
            }
            self.asleep.fetch_and(!(1 << number), Ordering::SeqCst);
            rung = bell.count();
        }
    }

    /// Wakes so many threads, or fewer if fewer sleep.
    fn wake(&self, count: usize) {
        for _ in 0..count {
            let asleep = self.asleep.load(Ordering::SeqCst);
            let number = asleep.trailing_zeros() as usize;
            if number >= self.bells.len() {
                return;
            }
            if self.asleep.fetch_and(!(1 << number), Ordering::SeqCst) >> number & 1 == 1 {
                self.bells[number].ring();
            }
        }
    }

    fn wake_if_none_looks(&self, call: &Call) {
        if self.idle.load(Ordering::SeqCst) == 0 && call.has_offer() {
            self.wake(1);
        }
    }
}

/// The copies that a thread knows.
struct Own {
    calls: Vec<Arc<Call>>,
    changes: u64,
}

impl Default for Own {
    fn default() -> Own {
        Own { calls: Vec::new(), changes: u64::MAX }
    }
}

impl Own {
    /// Looks at the list, if it has changed.
    fn refresh(&mut self, work: &Work, number: usize) {
        let changes = work.changes.load(Ordering::SeqCst);
        if changes == self.changes {
            return;
        }
        self.changes = changes;
        self.calls = lock(&work.calls).clone();
        let urgent = self.calls.iter().take_while(|call| call.is_urgent).count();
        let bulk = &mut self.calls[urgent..];
        // Threads share themselves out among bulk copies.
        let first = number % bulk.len().max(1);
        bulk.rotate_left(first);
    }

    fn claim(&self) -> Option<(&Call, usize)> {
        self.calls.iter().find_map(|call| Some((&**call, call.claim()?)))
    }

    fn has_news(&self, work: &Work) -> bool {
        work.changes.load(Ordering::SeqCst) != self.changes || self.calls.iter().any(|call| call.has_offer())
    }
}

#[cfg(test)]
mod tests {
    #![allow(unsafe_code)] // offers slots

    use std::sync::atomic::AtomicU8;

    use channels::Shape;
    use hal::Wait;
    use priority::Direction;

    use super::super::areas::Areas;
    use super::super::call::Moved;
    use super::*;
    use crate::soft;

    /// A thread that has found nothing for a while sleeps, and is woken for each piece that comes later.
    #[test]
    fn a_thread_that_sleeps_is_woken_for_a_later_piece() {
        const PIECES: usize = 5;
        const BYTES: usize = 4096;
        let (driver, source) = (soft::driver(), [7_u8; BYTES]);
        let (pool, host) = (Pool::new(&driver, 2), driver.host());
        let slots: Vec<AtomicU8> = (0..PIECES * BYTES).map(|_| AtomicU8::new(0)).collect();
        let piece = Shape::linear(0x1000, source.as_ptr() as u64, BYTES as u64);
        let pieces = vec![piece; PIECES];
        let call = Arc::new(Call::new(Direction::HostToDevice, (false, false), Areas::default(), pieces, 2));
        for index in 0..PIECES {
            host.sleep(LINGER + LINGER);
            // SAFETY: each piece has a slot of its own, and all memory outlives the threads.
            unsafe { call.offer(slots[index * BYTES].as_ptr() as u64) };
            if index == 0 {
                pool.begin(&call)
            } else {
                pool.tell(&call)
            }
            let moved = host.wait_until(Some(host.now() + LINGER), &mut || call.result(index).is_some());
            assert_eq!((moved, call.result(index)), (Wait::Met, Some(Moved::Yes)), "piece {index}");
        }
        pool.end(&call);
        pool.leave();
    }
}
