//! A channel: a stream that contains only copies.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::sync::{Arc, Mutex};

use hal::locks::{lock, unpoisoned};
use hal::{
    Code, DevicePtr, Driver, Event, EventFlags, MemOp, Nanos, Result, Shape, Stream, StreamFlags, Wait, WaitCondition,
};
use priority::Priority;
use semaphores::{Bank, Emulation, Step, Words};

use crate::bracket::bracket;
use crate::fold::Group;
use crate::pace::Pace;
use crate::submit::copy_shape;
use crate::turn::Turns;
use priority::Direction;

/// Launches a kernel that adds to a word, for the emulation that counts on the device.
pub trait Adder: Send + Sync {
    /// Launches the kernel in `stream`. It adds `value` to `word`.
    fn add(&self, stream: Stream, word: DevicePtr, value: i32) -> Result<()>;
}

/// The limits of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelOptions {
    /// The most operations that are queued; beyond that the submitter waits. It must stay below the hardware's limit
    /// of about 1 000.
    pub queued_max: u32,
    /// The first value of the operation count, which wraps. Only tests set it.
    pub counted_from: u32,
}

impl Default for ChannelOptions {
    fn default() -> ChannelOptions {
        ChannelOptions { queued_max: 512, counted_from: 0 }
    }
}

/// A channel reports its progress after this many operations.
const REPORT_EVERY: u32 = 32;

/// A submitter that waits for room asks the driver this often whether an error has occurred.
const ASK_EVERY: Nanos = Nanos::from_ms(10);

/// A channel of one device, one direction and one group of priorities.
pub struct Channel {
    driver: Arc<dyn Driver>,
    direction: Direction,
    group: Group,
    stream: Stream,
    progress: Words,
    options: ChannelOptions,
    turns: Turns,
    /// Locked only by the thread that has the turn.
    order: Mutex<Order>,
}

/// The state that only the submitter in turn touches.
struct Order {
    enter: Event,
    leave: Event,
    /// The stream of the last submission.
    last: Option<Stream>,
    submitted: u32,
    reported: u32,
}

/// A bracket being submitted: the operations not submitted yet, and whether the last submitted count went up.
struct Bracket {
    ops: Vec<MemOp>,
    up: bool,
}

impl Channel {
    /// Makes a channel in the current context.
    pub fn new(
        driver: &Arc<dyn Driver>,
        direction: Direction,
        group: Group,
        options: ChannelOptions,
    ) -> Result<Channel> {
        let progress = Words::new(driver, 1)?;
        progress.store(0, options.counted_from);
        let range = driver.priority_range()?;
        let stream = driver.stream_create(StreamFlags::NON_BLOCKING, range.least)?;
        let enter = driver.event_create(EventFlags::DISABLE_TIMING);
        let leave = driver.event_create(EventFlags::DISABLE_TIMING);
        match (enter, leave) {
            (Ok(enter), Ok(leave)) => {
                let order = Mutex::new(Order {
                    enter,
                    leave,
                    last: None,
                    submitted: options.counted_from,
                    reported: options.counted_from,
                });
                let (driver, turns) = (Arc::clone(driver), Turns::default());
                Ok(Channel { driver, direction, group, stream, progress, options, turns, order })
            }
            (enter, leave) => {
                let _ = driver.stream_destroy(stream);
                for event in [&enter, &leave].into_iter().flatten() {
                    let _ = driver.event_destroy(*event);
                }
                Err(enter.and(leave).expect_err("one of the two failed"))
            }
        }
    }

    /// For probes and tests.
    #[must_use]
    pub fn stream(&self) -> Stream {
        self.stream
    }

    /// The priorities that share this channel.
    #[must_use]
    pub fn group(&self) -> Group {
        self.group
    }

    /// Submits one copy, cut into `chunks`, for the application's stream `from`. The copy comes after all earlier
    /// work in `from` and before all later work there. It is refused while the channel holds copies of another stream
    /// that still waits for earlier work.
    ///
    /// After an error nothing more is submitted. `from` waits for the part that was submitted, and a count that went
    /// up goes down again behind that part. As with a failed driver call, the copy is done in part or not at all, and
    /// the caller may make it again.
    ///
    /// # Safety
    /// As for [`copy_shape`], for every chunk.
    pub unsafe fn submit(&self, copy: &Submission<'_>) -> std::result::Result<(), Refusal> {
        let turn = self.turns.wait(self.driver.host());
        let mut order = lock(&self.order);
        let to = self.stream;
        if self.is_unready_for(copy.from, &order)? {
            return Err(Refusal::Unready);
        }
        self.join(order.enter, copy.from, to)?;
        order.last = Some(copy.from);
        let mut bracket = Bracket { ops: Vec::with_capacity(8), up: false };
        // SAFETY: passed on to the caller.
        let submitted = unsafe { self.submit_steps(copy, to, &mut order, &mut bracket) };
        let lowered = if submitted.is_err() && bracket.up { self.count_down(copy, to) } else { Ok(()) };
        let joined = self.join(order.leave, to, copy.from);
        drop((order, turn));
        // Later work of `from` must not overtake the chunks. If the driver cannot order them, we wait for the chunks
        // here.
        let wait_here = |_| hal::beside_captures(&*self.driver, || self.driver.stream_synchronize(to));
        if let Err(error) = lowered {
            // The device may still come to the write that raises the word, so that is waited for. If it has failed, it
            // comes to none.
            let _ = wait_here(error);
            copy.bank.open_all();
        }
        Ok(submitted.and(joined.or_else(wait_here))?)
    }

    /// Whether copies of a stream other than `from` stand here and wait for earlier work of that stream. A copy of
    /// `from` must not stand behind them: their work may itself wait for later work of `from`, and then neither would
    /// ever run. A copy that goes natively is not in the way.
    fn is_unready_for(&self, from: Stream, order: &Order) -> Result<bool> {
        if order.last.is_some_and(|stream| stream != from) {
            // The event of the last submission covers the earlier ones: they are of the same stream, or were ready
            // when it was submitted.
            return Ok(!hal::beside_captures(&*self.driver, || self.driver.event_query(order.enter))?);
        }
        Ok(false)
    }

    /// Ends a bracket that a failed call has left half submitted.
    fn count_down(&self, copy: &Submission<'_>, to: Stream) -> Result<()> {
        let mut steps = Vec::new();
        copy.emulation.dec(copy.bank, self.level(copy), &mut steps);
        steps.into_iter().try_for_each(|step| match step {
            Step::Write(word, value) => self.driver.mem_op(to, MemOp::write32(word, value)),
            Step::Add(word, value) => copy.adder.add(to, word, value),
            Step::Wait(_) | Step::Copy(_) => Ok(()),
        })
    }

    fn level(&self, copy: &Submission<'_>) -> Priority {
        copy.priority.max(self.group.highest)
    }

    /// Makes later work of `to` wait for all present work of `from`.
    fn join(&self, event: Event, from: Stream, to: Stream) -> Result<()> {
        self.driver.event_record(event, from)?;
        self.driver.stream_wait_event(to, event)
    }

    unsafe fn submit_steps(
        &self,
        copy: &Submission<'_>,
        to: Stream,
        order: &mut Order,
        pending: &mut Bracket,
    ) -> Result<()> {
        for step in bracket(copy.bank, copy.emulation, self.level(copy), copy.chunks.len()) {
            match step {
                Step::Wait(word) => pending.ops.push(MemOp::wait32(word, 0, WaitCondition::Eq)),
                Step::Write(word, value) => pending.ops.push(MemOp::write32(word, value)),
                Step::Add(word, value) => {
                    self.flush(pending, copy, to, order)?;
                    copy.adder.add(to, word, value)?;
                    pending.up = value > 0;
                    self.count(1, to, order)?;
                }
                Step::Copy(chunk) => {
                    self.flush(pending, copy, to, order)?;
                    // SAFETY: passed on to the caller.
                    unsafe { copy_shape(&*self.driver, self.direction, &copy.chunks[chunk], to)? };
                    self.count(1, to, order)?;
                }
            }
        }
        self.flush(pending, copy, to, order)
    }

    /// Submits the memory operations gathered so far, in one call.
    fn flush(&self, pending: &mut Bracket, copy: &Submission<'_>, to: Stream, order: &mut Order) -> Result<()> {
        if let Some(pace) = copy.pace {
            pace.yield_to_urgent(self.driver.host());
        }
        match pending.ops.as_slice() {
            [] => return Ok(()),
            [op] => self.driver.mem_op(to, *op)?,
            several => self.driver.mem_op_batch(to, several)?,
        }
        let mut written = pending.ops.iter().filter_map(|op| match op {
            MemOp::Write { value, .. } => Some(*value != 0),
            MemOp::Wait { .. } => None,
        });
        pending.up = written.next_back().unwrap_or(pending.up);
        let count = pending.ops.len() as u32;
        pending.ops.clear();
        self.count(count, to, order)
    }

    /// Limits the queued operations: reports progress through a word, and waits when too many are outstanding.
    fn count(&self, operations: u32, to: Stream, order: &mut Order) -> Result<()> {
        order.submitted = order.submitted.wrapping_add(operations);
        if order.submitted.wrapping_sub(order.reported) < REPORT_EVERY {
            return Ok(());
        }
        order.reported = order.submitted;
        self.driver.mem_op(to, MemOp::write32(self.progress.host_address(0), order.submitted))?;
        self.wait_for_room(to, order.submitted)
    }

    fn wait_for_room(&self, to: Stream, submitted: u32) -> Result<()> {
        let host = self.driver.host();
        let mut room = || submitted.wrapping_sub(self.progress.load(0)) < self.options.queued_max;
        loop {
            // The software GPU proves a deadlock only while no thread waits for a deadline.
            let deadline = (!host.is_virtual()).then(|| host.now() + ASK_EVERY);
            match host.wait_until(deadline, &mut room) {
                Wait::Met => return Ok(()),
                // A failed context never makes room; this query then returns its error.
                Wait::Deadline => _ = hal::beside_captures(&*self.driver, || self.driver.stream_query(to))?,
                Wait::Stuck => {
                    self.driver.stream_query(to)?;
                    return Err(Code::LAUNCH_TIMEOUT.at("overtake channel").because("the channel will never drain"));
                }
            }
        }
    }

    /// Waits until everything submitted has completed.
    pub fn synchronize(&self) -> Result<()> {
        self.driver.stream_synchronize(self.stream)
    }
}

/// The reason why a channel did not take a copy. No part of it is on its way, or the copy may be made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Copies of another stream stand in the channel and wait for that stream.
    Unready,
    /// A driver call failed.
    Failed(hal::Error),
}

impl From<hal::Error> for Refusal {
    fn from(error: hal::Error) -> Refusal {
        Refusal::Failed(error)
    }
}

/// One copy for a channel.
pub struct Submission<'a> {
    /// The application's stream.
    pub from: Stream,
    /// The copy's priority.
    pub priority: Priority,
    /// The parts of the copy, in order.
    pub chunks: &'a [Shape],
    /// The semaphores that the copy respects.
    pub bank: &'a Bank,
    /// The way in which it waits and counts.
    pub emulation: &'a dyn Emulation,
    /// Used by the emulation that counts on the device.
    pub adder: &'a dyn Adder,
    /// Urgent callers go first; `None` for a copy that is urgent itself.
    pub pace: Option<&'a Pace>,
}

impl Drop for Channel {
    fn drop(&mut self) {
        // Submitted work still completes. An error means that the context is gone, and its handles with it.
        let order = unpoisoned(self.order.get_mut());
        let _ = self.driver.stream_synchronize(self.stream);
        let _ = self.driver.event_destroy(order.enter);
        let _ = self.driver.event_destroy(order.leave);
        let _ = self.driver.stream_destroy(self.stream);
    }
}
