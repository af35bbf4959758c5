//! What both ends of a pipeline share.

use std::sync::{Arc, Mutex, RwLock};

use copies::{Direction, Expected, Priority};
use hal::Nanos;
use hal::locks::lock;
use overtake_tasks::task::{self, Tasks};
use stages::{Admission, Admitted, Admitting, Ring};

use crate::book::{Book, Side};
use crate::fault::{Error, Failure};
use crate::options::PipelineOptions;
use crate::patience::InHost;

/// The parts of a pipeline that both of its ends share. Work under way keeps it, and with it the buffers.
pub(crate) struct Shared<B> {
    pub options: PipelineOptions,
    pub tasks: Tasks,
    /// Each is used by one end at a time, so its lock is never waited for.
    pub buffers: Vec<RwLock<B>>,
    pub ring: Arc<Ring>,
    /// Several members may fill a frame, and several empty it.
    pub has_many: bool,
    book: Mutex<Book>,
    /// Its copies, if its rate is known.
    _expected: Vec<Expected>,
}

impl<B> Shared<B> {
    pub fn new(
        tasks: &Tasks,
        options: PipelineOptions,
        buffers: Vec<B>,
        ring: Arc<Ring>,
        has_many: bool,
    ) -> hal::Result<Shared<B>> {
        let PipelineOptions { stages, behind, work_span, records_max, .. } = options;
        let book = Mutex::new(Book::new(stages, behind, options.on_time(), work_span, records_max));
        let buffers = buffers.into_iter().map(RwLock::new).collect();
        let _expected = expected(tasks, &options)?;
        Ok(Shared { options, tasks: tasks.clone(), buffers, ring, has_many, book, _expected })
    }

    pub fn now(&self) -> Nanos {
        self.tasks.within().driver().host().now()
    }

    /// Refuses the child of a fork, where another thread of the parent may have held any lock: each call asks first.
    #[inline]
    pub fn may_enter(&self) -> Result<(), task::Error> {
        self.tasks.within().may_enter()
    }

    /// The same as [`Shared::book`] for a caller that has not asked. In the child of a fork it does nothing.
    pub fn book_here<T: Default>(&self, step: impl FnOnce(&mut Book) -> T) -> T {
        self.may_enter().map_or_else(|_| T::default(), |()| self.book(step))
    }

    /// A step of the book. No driver call and no code of others runs inside.
    pub fn book<T>(&self, step: impl FnOnce(&mut Book) -> T) -> T {
        step(&mut lock(&self.book))
    }

    /// Frames that all their consumers have released end, where there may be several.
    pub fn settle(&self) {
        if self.has_many {
            let (now, ring) = (self.now(), &self.ring);
            self.book(|book| book.settle(|stage| ring.is_released(stage), now));
        }
    }

    /// The priority of a frame's tasks: one more than the pipeline's while its deadline is near.
    pub fn priority(&self, buffer: u8) -> Priority {
        let own = self.options.priority;
        let Some(within) = self.options.raise_within else { return own };
        let now = self.now();
        let is_near = self.book_here(|book| book.left(buffer, now)).is_some_and(|left| left <= within);
        let next = Priority::new(own.get().saturating_add(1)).filter(|_| is_near);
        next.filter(|next| *next <= self.tasks.within().layers()[0].priorities().highest()).unwrap_or(own)
    }

    /// The priority whose copies the pipeline expects as long as it lives.
    pub fn announced(&self) -> Option<Priority> {
        self.options.period.map(|_| self.options.priority)
    }

    /// A place of the admission, if there is one and a place is free.
    pub fn try_admit(&self) -> Option<Admitted> {
        self.options.admission.as_ref().and_then(Admission::try_admit)
    }

    /// Asks for a place of the admission, if there is one. `last` is the number of the consumer's last place.
    pub fn ask(&self, last: u64) -> Option<Admitting> {
        let rank = u32::from(self.options.priority.get());
        self.options.admission.as_ref().map(|admission| admission.ask(rank, last))
    }

    /// A call of the ring that waits. `failed` is the side that fails stages for the caller.
    pub fn wait<T>(
        &self,
        failed: Side,
        call: impl FnOnce(&InHost<'_>) -> Result<T, stages::Error>,
    ) -> Result<T, Error> {
        self.tasks.within().awaited(|host| call(&InHost(host))).map_err(|error| self.error(error, failed))
    }

    /// The error of a ring's call. `failed` is the side that fails stages for the caller.
    pub fn error(&self, error: stages::Error, failed: Side) -> Error {
        match error {
            stages::Error::Refused(refused) => Error::Refused(refused),
            stages::Error::Deserted => Error::Ended,
            stages::Error::Stuck => Error::Stuck,
            stages::Error::Spoilt { position } => {
                let known = self.book(|book| book.failure(failed, position));
                let (frame, cause) = known.map_or((None, None), |(frame, cause)| (Some(frame), cause));
                Error::Failed(Failure { pipeline: self.options.name.clone(), frame, cause })
            }
        }
    }
}

/// The copies that a pipeline of a known rate tells the copy layer of, for as long as it lives.
fn expected(tasks: &Tasks, options: &PipelineOptions) -> hal::Result<Vec<Expected>> {
    let layer = &tasks.within().layers()[0];
    let both = [Direction::HostToDevice, Direction::DeviceToHost].into_iter().filter(|_| options.period.is_some());
    let tolerance = options.tolerance.unwrap_or(Nanos::ZERO);
    both.map(|direction| Ok(layer.expect(options.priority, Some(direction))?.tolerating(tolerance))).collect()
}
