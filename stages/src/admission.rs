//! An admission: limits how much of the work that asks it runs at the same time.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::future::Future;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::primitive::{AtomicU64, Mutex, Ordering, lock};
use crate::refused::Error;
use crate::waiting::{Waited, Waiting};

/// An admission to a number of places. It gives them by rank, the greatest first; within a rank to the one whose last
/// place was given longest ago, and then in the order in which they were asked for.
///
/// A place that is free again goes to the first that waits: one that comes later cannot take it in between.
#[derive(Debug)]
pub struct Admission(Mutex<Line>);

#[derive(Debug)]
struct Line {
    /// While a place is free, none waits.
    free: u32,
    asked: u64,
    given: u64,
    waiting: BTreeMap<Order, Arc<Asked>>,
}

/// The rank, the number of the last place of the one that asks, and the number of the question.
type Order = (Reverse<u32>, u64, u64);

/// A question for a place.
#[derive(Debug)]
struct Asked {
    /// The number of its place, or 0 as long as it has none.
    place: AtomicU64,
    sleeper: Mutex<Option<Waker>>,
}

impl Asked {
    fn is_admitted(&self) -> bool {
        self.place.load(Ordering::Acquire) != 0
    }

    /// Whether it has been admitted; if not, the waker is woken when it is.
    fn is_admitted_or_register(&self, waker: &Waker) -> bool {
        // Wakers are code of others, and no lock is held across it.
        let own = waker.clone();
        let before = lock(&self.sleeper).replace(own);
        drop(before);
        self.is_admitted()
    }

    fn admit(&self, place: u64) {
        self.place.store(place, Ordering::Release);
        let sleeper = lock(&self.sleeper).take();
        sleeper.into_iter().for_each(Waker::wake);
    }
}

impl Line {
    /// The number of a place that is given.
    fn give(&mut self) -> u64 {
        self.given += 1;
        self.given
    }
}

impl Admission {
    /// An admission to so many places.
    #[must_use]
    pub fn new(most: NonZeroU32) -> Arc<Admission> {
        Arc::new(Admission(Mutex::new(Line { free: most.get(), asked: 0, given: 0, waiting: BTreeMap::new() })))
    }

    /// A place, if one is free.
    #[must_use]
    pub fn try_admit(self: &Arc<Admission>) -> Option<Admitted> {
        let mut line = lock(&self.0);
        line.free = line.free.checked_sub(1)?;
        let number = line.give();
        drop(line);
        Some(Admitted { admission: Arc::clone(self), number })
    }

    /// Asks for a place. `last` is the number of the place that the caller had last ([`Admitted::number`]), and before
    /// its first one [`Admission::given`] at its beginning.
    pub fn ask(self: &Arc<Admission>, rank: u32, last: u64) -> Admitting {
        let asked = Arc::new(Asked { place: AtomicU64::new(0), sleeper: Mutex::new(None) });
        let mut line = lock(&self.0);
        line.asked += 1;
        let order = (Reverse(rank), last, line.asked);
        if line.free > 0 {
            line.free -= 1;
            asked.place.store(line.give(), Ordering::Release);
        } else {
            line.waiting.insert(order, Arc::clone(&asked));
        }
        drop(line);
        Admitting { admission: Arc::clone(self), order, asked, is_over: false }
    }

    /// How many places have been given.
    #[must_use]
    pub fn given(&self) -> u64 {
        lock(&self.0).given
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
        let first = first.map(|(_, asked)| (asked, line.give()));
        drop(line);
        if let Some((asked, place)) = first {
            asked.admit(place);
        }
    }
}

/// A place of an [`Admission`]. Dropping it gives it back.
#[derive(Debug)]
pub struct Admitted {
    admission: Arc<Admission>,
    number: u64,
}

impl Admitted {
    /// Places are numbered as they are given, from 1 on.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.admission.give_back();
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
        let number = self.asked.place.load(Ordering::Acquire);
        is_mine.then(|| Admitted { admission: Arc::clone(&self.admission), number })
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
