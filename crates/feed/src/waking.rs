//! Futures of a feed. A kernel cannot wake a future of the host, so a thread polls the feed while one sleeps, and wakes
//! it when the feed has changed.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use hal::Host;
use hal::locks::lock;
use overtake_pipelines::Error;
use threads::{Bell, Worker};

use crate::shared::{Line, Seen};

/// A task that sleeps until the feed is not as it has seen it.
struct Sleeper {
    waker: Waker,
    seen: Seen,
}

/// What the futures of an end and its thread share.
#[derive(Default)]
struct Slot {
    /// Rings when the sleeper has changed.
    bell: Bell,
    sleeper: Mutex<Option<Sleeper>>,
    /// The feed will never change: a model of time has proven it.
    is_stuck: AtomicBool,
}

impl Slot {
    /// The thread polls for this sleeper from now on, or for none.
    fn put(&self, sleeper: Option<Sleeper>) {
        let before = std::mem::replace(&mut *lock(&self.sleeper), sleeper);
        drop(before); // a waker is code of others: without the lock
        self.bell.ring();
    }

    fn seen(&self) -> Option<Seen> {
        lock(&self.sleeper).as_ref().map(|sleeper| sleeper.seen)
    }

    fn wake(&self) {
        let sleeper = lock(&self.sleeper).take();
        if let Some(Sleeper { waker, .. }) = sleeper {
            waker.wake();
        }
    }

    /// The thread: polls the feed while there is a sleeper, until the bell asks it to end.
    fn look(&self, line: &Line, host: &dyn Host) {
        self.bell.listen();
        while !self.bell.has_ended() {
            let rung = self.bell.count();
            let news = || self.bell.count() != rung;
            let Some(seen) = self.seen() else {
                self.bell.wait(host, None, &mut || news());
                continue;
            };
            let changed = line.until_news(None, &news, || {
                let is_new = line.seen() != seen;
                Ok((is_new || news()).then_some(is_new))
            });
            self.is_stuck.store(changed.is_err(), Ordering::Release);
            if !matches!(changed, Ok(Some(false))) {
                self.wake();
            }
        }
    }
}

/// Wakes the futures of one end of a feed. Its thread starts when a future has to wait for the first time.
///
/// An end drops it before its own part of the feed: the last part must not go on this thread, which would wait for
/// itself.
#[derive(Default)]
pub(super) struct Waking {
    slot: Arc<Slot>,
    thread: Option<Worker>,
}

/// The task sleeps no more.
struct Awake(Arc<Slot>);

impl Drop for Awake {
    fn drop(&mut self) {
        self.0.put(None);
    }
}

impl Waking {
    /// Tries again and again until there is an answer, and sleeps between.
    pub async fn until<T>(
        &mut self,
        line: &Line,
        mut attempt: impl FnMut() -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        let _awake = Awake(Arc::clone(&self.slot));
        poll_fn(|context| match self.poll(line, context, &mut attempt) {
            Ok(Some(answer)) => Poll::Ready(Ok(answer)),
            Ok(None) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        })
        .await
    }

    fn poll<T>(
        &mut self,
        line: &Line,
        context: &Context<'_>,
        attempt: &mut impl FnMut() -> Result<Option<T>, Error>,
    ) -> Result<Option<T>, Error> {
        // Before the attempt: a change after it wakes the task.
        let seen = line.seen();
        line.settle();
        if let Some(answer) = attempt()? {
            return Ok(Some(answer));
        }
        if self.slot.is_stuck.swap(false, Ordering::AcqRel) {
            return Err(Error::Stuck);
        }
        if self.thread.is_none() {
            self.thread = Some(self.start(line)?);
        }
        self.slot.put(Some(Sleeper { waker: context.waker().clone(), seen }));
        Ok(None)
    }

    fn start(&self, line: &Line) -> hal::Result<Worker> {
        let (bell, slot, its) = (Arc::clone(&self.slot), Arc::clone(&self.slot), Line::clone(line));
        let body = move |host: &dyn Host| slot.look(&its, host);
        Worker::start(line.context.driver(), "overtake feed", move || bell.bell.end(), body, || ())
    }
}
