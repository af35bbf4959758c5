//! An admission: limits how much of the work that asks it runs at the same time.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::future::Future;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::primitive::{AtomicU32, Mutex, Ordering, lock};
use crate::refused::Error;
use crate::waiting::{Waited, Waiting};

/// An admission to a number of places. It gives them by rank, the greatest first, and within a rank in the order in
/// which they were asked for.
///
/// A place that is free again goes to the first that waits: one that comes later cannot take it in between.
#[derive(Debug)]
pub struct Admission(Mutex<Line>);

#[derive(Debug)]
struct Line {
    /// While a place is free, none waits.
    free: u32,
    asked: u64,
    waiting: BTreeMap<Order, Arc<Asked>>,
}

/// The rank, and the number of the question.
type Order = (Reverse<u32>, u64);

/// A question for a place.
#[derive(Debug)]
struct Asked {
    is_admitted: AtomicU32,
    sleeper: Mutex<Option<Waker>>,
}

impl Asked {
    fn is_admitted(&self) -> bool {
        self.is_admitted.load(Ordering::Acquire) != 0
    }

    /// Whether it has been admitted; if not, the waker is woken when it is.
    fn is_admitted_or_register(&self, waker: &Waker) -> bool {
        // Wakers are code of others, and no lock is held across it.
        let own = waker.clone();
        let before = lock(&self.sleeper).replace(own);
        drop(before);
        self.is_admitted()
    }

    fn admit(&self) {
        self.is_admitted.store(1, Ordering::Release);
        let sleeper = lock(&self.sleeper).take();
        sleeper.into_iter().for_each(Waker::wake);
    }
}

impl Admission {
    /// An admission to so many places.
    #[must_use]
    pub fn new(most: NonZeroU32) -> Arc<Admission> {
        Arc::new(Admission(Mutex::new(Line { free: most.get(), asked: 0, waiting: BTreeMap::new() })))
    }

    /// A place, if one is free.
    #[must_use]
    pub fn try_admit(self: &Arc<Admission>) -> Option<Admitted> {
        let mut line = lock(&self.0);
        line.free = line.free.checked_sub(1)?;
        drop(line);
        Some(Admitted(Arc::clone(self)))
    }

    /// Asks for a place.
    pub fn ask(self: &Arc<Admission>, rank: u32) -> Admitting {
        let asked = Arc::new(Asked { is_admitted: AtomicU32::new(0), sleeper: Mutex::new(None) });
        let mut line = lock(&self.0);
        line.asked += 1;
        let order = (Reverse(rank), line.asked);
        if line.free > 0 {
            line.free -= 1;
            asked.is_admitted.store(1, Ordering::Release);
        } else {
            line.waiting.insert(order, Arc::clone(&asked));
        }
        drop(line);
        Admitting { admission: Arc::clone(self), order, asked, is_over: false }
    }

    /// How many wait for a place.
    #[must_use]
    pub fn waiting(&self) -> usize {
        lock(&self.0).waiting.len()
    }

    /// Not inlined: frames without an admission would carry it with them.
    #[inline(never)]
    fn give_back(&self) {
        let mut line = lock(&self.0);
        let first = line.waiting.pop_first();
        line.free += u32::from(first.is_none());
        drop(line);
        if let Some((_, asked)) = first {
            asked.admit();
        }
    }
}

/// A place of an [`Admission`]. Dropping it gives it back.
#[derive(Debug)]
pub struct Admitted(Arc<Admission>);

impl Drop for Admitted {
    fn drop(&mut self) {
        self.0.give_back();
    }
}

/// A place that has been asked for, as a wait or as a future. Dropping it takes the question back.
#[derive(Debug)]
#[must_use = "its place in the line is given up when it is dropped"]
pub struct Admitting {
    admission: Arc<Admission>,
    order: Order,
    asked: Arc<Asked>,
    /// The place has been handed out.
    is_over: bool,
}

impl Admitting {
    /// Waits for the place. `None` if the deadline passes first: it is asked for no more.
    pub fn wait(mut self, waiting: &dyn Waiting, deadline_ns: Option<u64>) -> Result<Option<Admitted>, Error> {
        let asked = &self.asked;
        let mut is_over = |waker: Option<&Waker>| match waker {
            Some(waker) => asked.is_admitted_or_register(waker),
            None => asked.is_admitted(),
        };
        match waiting.until(deadline_ns, &mut is_over) {
            Waited::Met | Waited::Deadline => Ok(self.take()),
            Waited::Stuck => Err(Error::Stuck),
        }
    }

    fn take(&mut self) -> Option<Admitted> {
        let is_mine = self.asked.is_admitted() && !std::mem::replace(&mut self.is_over, true);
        is_mine.then(|| Admitted(Arc::clone(&self.admission)))
    }
}

impl Future for Admitting {
    type Output = Admitted;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Admitted> {
        match self.asked.is_admitted_or_register(context.waker()) {
            true => Poll::Ready(self.take().expect("a future is not asked again when it is ready")),
            false => Poll::Pending,
        }
    }
}

impl Drop for Admitting {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let was_waiting = lock(&self.admission.0).waiting.remove(&self.order).is_some();
        if !was_waiting {
            // A place has been given to it meanwhile.
            self.admission.give_back();
        }
    }
}
