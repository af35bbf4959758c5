//! The stages that are under way, and the end of the kernel.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use contexts::CudaContext;
use copies::PriorityStream;
use copies::copy::CopyHandle;
use hal::locks::lock;
use hal::{Host, Nanos, Stream, Wait};
use os::forks::Process;
use overtake_pipelines::{Error, Failure};
use stages::Arrival;

use crate::FeedOptions;
use crate::memory::{Memory, Word};

/// A thread looks again and again for so long before it naps.
const LOOKS_SPAN: Nanos = Nanos::from_us(50);
const NAP: Nanos = Nanos::from_us(50);
/// The driver is asked whether the kernel has failed this often.
const ASK_EVERY: Nanos = Nanos::from_ms(1);
/// A kernel that is told to end has so long before its memory is given up.
const END_SPAN: Nanos = Nanos::from_ms(2_000);

/// A stage that the kernel has not released.
pub(super) struct UnderWay {
    pub arrival: Arrival,
    pub upload: CopyHandle,
}

/// All that a thread may wait for, as it was once.
struct Seen {
    turns: u32,
    released: u32,
    has_ended: bool,
}

#[derive(Default)]
struct State {
    under_way: VecDeque<UnderWay>,
    /// The stages that the kernel has released; it comes round.
    released: u32,
    has_ended: bool,
    fault: Option<hal::Error>,
}

/// The parts that the three ends share. The last one that goes ends the kernel.
pub(super) struct Shared {
    pub options: FeedOptions,
    pub context: CudaContext,
    pub upload: PriorityStream,
    pub kernel: Stream,
    /// `None` once it is given up, because the kernel does not end.
    pub memory: Option<Memory>,
    pub is_started: bool,
    /// A child of a fork has no kernel, and leaves the parent's alone.
    process: Process,
    /// Changes of the host's own, for the threads of the other ends.
    turns: AtomicU32,
    state: Mutex<State>,
}

impl Shared {
    pub fn new(
        options: FeedOptions,
        context: &CudaContext,
        upload: PriorityStream,
        kernel: Stream,
        memory: Memory,
    ) -> Shared {
        let (memory, process, turns) = (Some(memory), Process::this(), AtomicU32::new(0));
        let (context, state) = (context.clone(), Mutex::default());
        Shared { options, context, upload, kernel, memory, is_started: false, process, turns, state }
    }

    pub fn memory(&self) -> &Memory {
        self.memory.as_ref().expect("it is given up when this is dropped")
    }

    pub fn host(&self) -> &dyn Host {
        self.context.driver().host()
    }

    /// The kernel ends at its next look, whether stages are left or not. A plain store: it cannot fail, and waits for
    /// nothing.
    pub fn quit(&self) {
        if self.process.is_this() {
            self.memory().word(Word::Quits).store(1, Ordering::Release);
        }
    }

    /// One of the host's ends has done something that others may wait for.
    pub fn turn(&self) {
        self.turns.fetch_add(1, Ordering::Release);
    }

    /// A stage is under way.
    pub fn submitted(&self, under_way: UnderWay) {
        lock(&self.state).under_way.push_back(under_way);
    }

    /// Brings the arrivals of the stages that the kernel has released, or all of them once it has ended.
    pub fn settle(&self) {
        let memory = self.memory();
        let mut state = lock(&self.state);
        // In this order: the last release was written before the end.
        state.has_ended |= memory.load(Word::Ended) != 0;
        let released = memory.load(Word::Released);
        // The kernel may have released a stage before its commit has returned.
        let count = (released.wrapping_sub(state.released) as usize).min(state.under_way.len());
        let done: Vec<UnderWay> = state.under_way.drain(..count).collect();
        state.released = state.released.wrapping_add(count as u32);
        let lost = if state.has_ended { std::mem::take(&mut state.under_way) } else { VecDeque::new() };
        drop(state);
        for UnderWay { arrival, upload } in done {
            match upload.loss() {
                None => arrival.arrive(),
                Some(_) => arrival.fail(),
            }
        }
        drop(lost);
    }

    /// Whether the kernel has ended, or failed.
    pub fn has_ended(&self) -> bool {
        lock(&self.state).has_ended
    }

    /// Asks the driver whether the kernel's stream is done, or has failed.
    pub fn ask(&self) {
        let asked = self.context.call(|driver| driver.stream_query(self.kernel));
        let mut state = lock(&self.state);
        match asked {
            Ok(is_done) => state.has_ended |= is_done,
            Err(error) => {
                state.has_ended = true;
                state.fault.get_or_insert(error);
            }
        }
    }

    /// The failure of the kernel, if it has failed.
    pub fn fault(&self) -> Option<hal::Error> {
        lock(&self.state).fault.clone()
    }

    /// All that a thread may wait for, as it is now.
    fn seen(&self) -> Seen {
        let (turns, released) = (self.turns.load(Ordering::Acquire), self.memory().load(Word::Released));
        Seen { turns, released, has_ended: self.has_ended() }
    }

    /// Tries until there is an answer, or until the deadline has passed.
    pub fn until<T>(
        &self,
        deadline: Option<Nanos>,
        mut attempt: impl FnMut() -> Result<Option<T>, Error>,
    ) -> Result<Option<T>, Error> {
        let (began, mut asked) = (self.host().now(), Nanos::ZERO);
        loop {
            let seen = self.seen();
            self.settle();
            if let Some(answer) = attempt()? {
                return Ok(Some(answer));
            }
            let waited = self.wait_for_change(deadline, seen);
            let now = self.host().now();
            if waited == Wait::Stuck || now.since(began + asked) >= ASK_EVERY {
                asked = now.since(began);
                self.ask();
                if waited == Wait::Stuck && !self.has_ended() {
                    return Err(Error::Stuck);
                }
            } else if waited == Wait::Deadline && deadline.is_some_and(|deadline| now >= deadline) {
                self.settle();
                return attempt();
            } else if waited == Wait::Deadline {
                self.host().sleep(NAP);
            }
        }
    }

    fn wait_for_change(&self, deadline: Option<Nanos>, seen: Seen) -> Wait {
        let (host, memory) = (self.host(), self.memory());
        let looks_end = (!host.is_virtual()).then(|| host.now() + LOOKS_SPAN);
        let end = [deadline, looks_end].into_iter().flatten().min();
        host.wait_until(end, &mut || {
            self.turns.load(Ordering::Acquire) != seen.turns
                || memory.load(Word::Released) != seen.released
                || (memory.load(Word::Ended) != 0) != seen.has_ended
        })
    }

    /// The error of a ring's call.
    pub fn error(&self, error: stages::Error) -> Error {
        match error {
            stages::Error::Refused(refused) => Error::Refused(refused),
            stages::Error::Deserted => self.ended(),
            stages::Error::Stuck => Error::Stuck,
            stages::Error::Spoilt { .. } if self.has_ended() => self.ended(),
            stages::Error::Spoilt { position } => {
                Error::Failed(Failure { pipeline: self.options.name.clone(), frame: Some(position), cause: None })
            }
        }
    }

    /// Why there are no further stages.
    pub fn ended(&self) -> Error {
        self.fault().map_or(Error::Ended, Error::Driver)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if !self.process.is_this() {
            return std::mem::forget(self.memory.take());
        }
        if self.is_started {
            self.quit();
            let end = self.host().now() + END_SPAN;
            while !self.has_ended() && self.host().now() < end {
                self.settle();
                self.ask();
                self.host().sleep(NAP);
            }
            if !self.has_ended() {
                log::error!(
                    "the kernel of feed {:?} has not ended, although it was told to: its memory is given up, because \
                     to free it would wait for the kernel",
                    self.options.name
                );
                // Its stream too: nothing else is in it.
                return std::mem::forget(self.memory.take());
            }
        }
        // An error means that the context is gone, and the stream with it.
        let _ = self.context.call(|driver| driver.stream_destroy(self.kernel));
    }
}

/// Shared by the ends.
pub(super) type Line = Arc<Shared>;
