//! The one state of the process, and its life.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hal::{Context, Device, Driver, Event, Result, Stream};
use once_cell::sync::OnceCell;

use crate::call::Call;

/// What the library that embeds the layer brings.
pub struct Start {
    /// Makes the driver that lies underneath: called once, when the layer first has work, on a thread of ours.
    pub driver: fn() -> Result<Arc<dyn Driver>>,
    /// `preload`, `shadow`, `audit` or `c`.
    pub deployment: &'static str,
    /// The calls by symbol so far.
    pub calls: fn() -> Vec<CallCount>,
}

/// How often one entry point was called.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct CallCount {
    /// The exported name.
    pub symbol: &'static str,
    /// Calls that the layer looked at.
    pub intercepted: u64,
    /// Calls that went to the driver unseen.
    pub passed_on: u64,
}

struct Process {
    start: Start,
}

static PROCESS: OnceCell<Process> = OnceCell::new();
static OFF: AtomicBool = AtomicBool::new(false);

/// The driver has been initialised. Cheap: nothing is opened, no thread starts.
pub fn start(start: Start) {
    let _ = PROCESS.set(Process { start });
}

/// One copy. Returns what the driver returned; `native` makes the real call, and is called at most once.
///
/// # Safety
/// The ranges of the call are valid as the real call demands.
#[allow(unsafe_code)]
pub unsafe fn copy(_call: &Call, native: &mut dyn FnMut() -> u32) -> u32 {
    native()
}

/// Several copies of one stream that have no order among them, made by one real call.
///
/// # Safety
/// As for [`copy`], for each.
#[allow(unsafe_code)]
pub unsafe fn copy_batch(_calls: &[Call], native: &mut dyn FnMut() -> u32) -> u32 {
    native()
}

/// The application has pinned host memory in the current context: copies may soon contend.
pub fn memory_pinned() {}

/// The application is about to destroy a stream.
pub fn stream_going(_stream: Stream) {}

/// The application is about to destroy a context.
pub fn context_going(_context: Context) {}

/// The application has retained a primary context.
pub fn primary_retained(_device: Device, _context: Context) {}

/// The application is about to release a primary context once.
pub fn primary_releasing(_device: Device) {}

/// The application is about to reset a primary context.
pub fn primary_resetting(_device: Device) {}

/// The application has recorded an event.
pub fn event_recorded(_event: Event, _stream: Stream) {}

/// The application has made a stream wait for an event.
pub fn stream_waits(_stream: Stream, _event: Event) {}

/// The application has begun to capture a stream.
pub fn capture_began() {}

/// The application has ended a capture.
pub fn capture_ended() {}

/// This is a child of a fork: everything passes through from now on. Async-signal-safe.
pub fn forked() {
    OFF.store(true, Ordering::SeqCst);
}

/// The process is exiting: no thread of ours may start any more.
pub fn exiting() {
    OFF.store(true, Ordering::SeqCst);
}

/// Who brought the layer, if it has started.
#[must_use]
pub fn deployment() -> Option<&'static str> {
    PROCESS.get().map(|process| process.start.deployment)
}
