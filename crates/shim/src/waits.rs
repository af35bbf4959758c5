//! Threads that wait, under the rule of demand.
//!
//! A copy that was bulk when its stream was busy may still be in flight after the stream has been quiet for long enough
//! to come first. If a thread waits for the copy, it is raised to that level. Only copies ahead of the awaited point
//! are raised, and none above the level of its own stream's demand: a wait for a busy stream raises nothing above bulk.
//!
//! The point of an event is that of its last record. Orders between streams through events are not followed.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use copies::options::Automatic;
use copies::{Awaited, Priority};
use hal::locks::lock;
use hal::{Event, Stream};

use crate::context::Adopted;
use crate::observe::{self, Waiting};
use crate::process::{Process, process};
use crate::streams::Anywhere;

/// Whether the rule is on. With other rules a wait costs one load.
static WANTED: AtomicBool = AtomicBool::new(false);

/// Records are kept for so many events, the latest.
const EVENTS_MAX: usize = 64;

/// Events that were recorded behind copies on their way.
#[derive(Default)]
pub(crate) struct Recorded {
    marks: Mutex<Vec<Mark>>,
    /// Their number, which most calls find to be 0.
    count: AtomicUsize,
}

struct Mark {
    event: Event,
    stream: Weak<Adopted>,
    ahead: Awaited,
}

impl Recorded {
    /// The event is recorded anew: behind these copies, if there are any.
    fn note(&self, event: Event, mark: Option<Mark>) {
        if mark.is_none() && self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut marks = lock(&self.marks);
        marks.retain(|other| other.event != event);
        if marks.len() >= EVENTS_MAX {
            marks.remove(0);
        }
        marks.extend(mark);
        self.count.store(marks.len(), Ordering::Relaxed);
    }

    fn take(&self, event: Event) -> Option<Mark> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut marks = lock(&self.marks);
        let place = marks.iter().position(|mark| mark.event == event)?;
        let mark = marks.remove(place);
        self.count.store(marks.len(), Ordering::Relaxed);
        Some(mark)
    }
}

impl Process {
    /// The process decides by demand.
    pub(crate) fn watch_waits(&self) {
        WANTED.store(self.settings.options.automatic == Automatic::Demand, Ordering::Relaxed);
    }

    /// The level of the stream's demand now. `None` if something else than demand gives its copies their priority.
    fn level(&self, adopted: &Adopted) -> Option<Priority> {
        let demand = adopted.given().is_none() && adopted.own.is_none();
        let rank = || adopted.demand.rank(self.rule, adopted.copies.now());
        demand.then(|| self.of_rank(rank())).flatten()
    }

    fn lift(&self, adopted: &Adopted, ahead: impl FnOnce(Priority) -> Option<Awaited>) {
        let Some(level) = self.level(adopted).filter(|level| *level > Priority::LOWEST) else { return };
        if ahead(level).is_some_and(|ahead| adopted.copies.lift_awaited(&ahead, level)) {
            self.ranked.waits.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The stream, if it has copied.
    fn known(&self, stream: Stream) -> Option<Arc<Adopted>> {
        self.streams.find(&Anywhere::of(stream, || self.current_context()).ok()?)
    }
}

fn wanted() -> Option<&'static Process> {
    process().filter(|_| WANTED.load(Ordering::Relaxed))
}

/// The calling thread is about to wait for all work in a stream.
pub fn stream_awaited(stream: Stream) -> Option<Waiting> {
    if let Some(process) = wanted() {
        let known = process.known(stream);
        known.into_iter().for_each(|adopted| process.lift(&adopted, |level| adopted.copies.ahead_below(level)));
    }
    observe::stream_awaited(stream)
}

/// Work that is no copy is about to enter a stream.
pub fn stream_works(stream: Stream) {
    observe::stream_works(stream);
}

/// The calling thread is about to wait for all work in its context.
pub fn context_awaited() -> Option<Waiting> {
    if let Some(process) = wanted()
        && let Some(context) = process.current_context()
    {
        for adopted in process.streams.all(context) {
            process.lift(&adopted, |level| adopted.copies.ahead_below(level));
        }
    }
    observe::context_awaited()
}

/// An event is about to be recorded in a stream.
pub fn event_recorded(event: Event, stream: Stream) {
    observe::event_recorded(event, stream);
    let Some(process) = wanted() else { return };
    let mark = process.known(stream).and_then(|adopted| {
        let ahead = adopted.copies.ahead_below(process.priorities().highest())?;
        Some(Mark { event, stream: Arc::downgrade(&adopted), ahead })
    });
    process.recorded.note(event, mark);
}

/// An event is about to be destroyed. Its handle may come again for another one.
pub fn event_going(event: Event) {
    wanted().into_iter().for_each(|process| drop(process.recorded.take(event)));
}

/// The calling thread is about to wait for an event.
pub fn event_awaited(event: Event) -> Option<Waiting> {
    if let Some(process) = wanted()
        && let Some(Mark { stream, ahead, .. }) = process.recorded.take(event)
        && let Some(adopted) = stream.upgrade()
    {
        process.lift(&adopted, |_| Some(ahead));
    }
    observe::event_awaited(event)
}
