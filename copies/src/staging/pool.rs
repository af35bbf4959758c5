//! The threads that fill and empty slots. They call no driver.
#![allow(unsafe_code)] // signal masks, and the promise of the threads that hand work out

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use hal::locks::lock;
use hal::{Driver, Host, Nanos, Result};
use terms::Direction;
use threads::{Bell, Worker};

use super::call::Call;

/// A thread that has moved a piece looks for the next one for so long before it sleeps: to wake it takes as long as a
/// piece.
const LINGER: Nanos = Nanos::from_us(100);

/// A piece to move.
struct Task {
    call: Arc<Call>,
    index: usize,
    packed: u64,
}

/// The pieces that no thread has begun, and the threads' bells.
struct Work {
    /// Urgent ones, and bulk.
    queues: Mutex<[VecDeque<Task>; 2]>,
    /// The number of them by direction, for threads that look without the lock.
    queued: [AtomicUsize; 2],
    bells: Vec<Bell>,
    next_bell: AtomicUsize,
    /// Only the first so many threads work to the host: more would take bandwidth of memory from each other.
    to_host_max: usize,
}

/// The threads, as long as they are there.
pub(crate) struct Pool {
    work: Arc<Work>,
    workers: Mutex<Vec<Worker>>,
}

impl Pool {
    /// Starts the threads: fewer than asked for, or none, if the system refuses them.
    pub(super) fn new(driver: &Arc<dyn Driver>, threads: usize, to_host_max: usize) -> Pool {
        let work = Arc::new(Work {
            queues: Mutex::default(),
            queued: [const { AtomicUsize::new(0) }; 2],
            bells: (0..threads).map(|_| Bell::default()).collect(),
            next_bell: AtomicUsize::new(0),
            to_host_max,
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

    /// Has a thread move a piece, unless the calling thread does so first.
    ///
    /// # Safety
    /// As for [`Call::run`].
    pub(super) unsafe fn push(&self, call: &Arc<Call>, index: usize, packed: u64) {
        let work = &self.work;
        if work.bells.is_empty() {
            return;
        }
        let task = Task { call: Arc::clone(call), index, packed };
        work.queued[side(call.direction)].fetch_add(1, Ordering::SeqCst);
        lock(&work.queues)[usize::from(!call.is_urgent)].push_back(task);
        let bells = if call.direction == Direction::DeviceToHost { work.to_host_max } else { work.bells.len() };
        let next = work.next_bell.fetch_add(1, Ordering::Relaxed);
        work.bells[next % bells.clamp(1, work.bells.len())].ring();
    }

    /// Ends the threads. Pieces that they have not begun are left to the threads that handed them out.
    pub(super) fn leave(&self) {
        let workers = std::mem::take(&mut *lock(&self.workers));
        workers.iter().for_each(Worker::end);
    }
}

fn side(direction: Direction) -> usize {
    usize::from(direction == Direction::DeviceToHost)
}

fn start(driver: &Arc<dyn Driver>, work: &Arc<Work>, number: usize) -> Result<Worker> {
    let [ends, moves] = [(); 2].map(|()| Arc::clone(work));
    let name = format!("overtake-stage-{number}");
    Worker::start(driver, &name, move || ends.bells[number].end(), move |host| moves.go_on(number, host), || ())
}

impl Work {
    /// Moves pieces until the thread is to end.
    fn go_on(&self, number: usize, host: &dyn Host) {
        block_signals();
        let bell = &self.bells[number];
        bell.listen();
        while !bell.has_ended() {
            let seen = bell.count();
            let mut has_moved = false;
            while let Some(task) = self.pop(number).filter(|_| !bell.has_ended()) {
                // SAFETY: the thread that handed the piece out keeps the rules of `Call::run`.
                unsafe { task.call.run(task.index, task.packed, host) };
                has_moved = true;
            }
            let news = || self.has_task(number) || bell.has_ended();
            if has_moved {
                host.wait_until(Some(host.now() + LINGER), &mut || news());
            }
            if !news() {
                bell.wait(host, None, &mut || bell.count() != seen);
            }
        }
    }

    fn has_task(&self, number: usize) -> bool {
        let queued = |side: usize| self.queued[side].load(Ordering::SeqCst) > 0;
        queued(0) || (number < self.to_host_max && queued(1))
    }

    /// The next piece for that thread: urgent ones first.
    fn pop(&self, number: usize) -> Option<Task> {
        let fits = |task: &Task| task.call.direction == Direction::HostToDevice || number < self.to_host_max;
        let mut queues = lock(&self.queues);
        let task = queues.iter_mut().find_map(|queue| {
            let at = queue.iter().position(fits)?;
            queue.remove(at)
        })?;
        self.queued[side(task.call.direction)].fetch_sub(1, Ordering::SeqCst);
        Some(task)
    }
}

/// Signals of the program are for threads of the program.
fn block_signals() {
    let mut all = std::mem::MaybeUninit::uninit();
    // SAFETY: sigfillset initialises the set; a null pointer asks for no former mask.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), std::ptr::null_mut());
    }
}
