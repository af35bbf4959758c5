//! The state of the process, of which there is one.
//!
//! It does not exist until the driver has been initialised ([`start`]), and is idle until the program creates a
//! context. The layer opens in a context as soon as it is created, because only then is it certain that no work is in
//! flight there. Copies in a context whose creation was not seen go natively, as do all copies in the child of a fork
//! and in an exiting process.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::SystemTime;

use copies::Priorities;
use hal::{CaptureStatus, Context, Driver, Result, Stream};
use once_cell::sync::OnceCell;
use os::fault::Source;
use threads::StreamLock;

use crate::captures::{Captured, Captures};
use crate::contexts::Contexts;
use crate::demand::{Ranked, Rule};
use crate::observe::{Mode, Observer};
use crate::report;
use crate::rules::Rules;
use crate::settings::{self, Settings};
use crate::streams::Streams;
use crate::thread;
use crate::trace;
use crate::waits::Recorded;

/// The parts that the library around the layer provides: the drop-in or the C library.
pub struct Start {
    /// Makes the driver behind the seam. Called once, when the layer first opens in a context.
    pub driver: fn() -> Result<Arc<dyn Driver>>,
    /// `preload`, `shadow`, `audit` or `c`.
    pub deployment: &'static std::ffi::CStr,
    /// The number of calls so far, by symbol.
    pub calls: fn() -> Vec<CallCount>,
}

/// The calls of one entry point.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct CallCount {
    /// The exported name.
    pub symbol: &'static str,
    /// Calls that the layer looked at.
    pub intercepted: u64,
    /// Calls that went to the driver without a look.
    pub passed_on: u64,
}

pub(crate) struct Process {
    pub(crate) start: Start,
    pub(crate) settings: Settings,
    pub(crate) began: SystemTime,
    /// The folders for live figures. They are named by a variable, which no thread of ours may read later: the program
    /// may be changing its variables then.
    pub(crate) live_folders: Vec<PathBuf>,
    pub(crate) rules: RwLock<Arc<Rules>>,
    pub(crate) has_rules: AtomicBool,
    pub(crate) driver: OnceCell<Arc<dyn Driver>>,
    /// The lock over the streams of the driver.
    pub(crate) stream_lock: OnceCell<Arc<StreamLock>>,
    pub(crate) contexts: Contexts,
    pub(crate) streams: Streams,
    pub(crate) captures: Captures,
    /// The rule of demand of the settings, which each copy asks.
    pub(crate) rule: Rule,
    pub(crate) ranked: Ranked,
    pub(crate) recorded: Recorded,
    pub(crate) observer: Option<Observer>,
    pub(crate) closed: Mutex<report::Closed>,
    pub(crate) closed_traces: Mutex<Vec<trace::Part>>,
}

static PROCESS: OnceCell<Process> = OnceCell::new();
static OFF: AtomicBool = AtomicBool::new(false);

#[expect(clippy::disallowed_methods, reason = "for readers of reports and traces: no thread waits by it")]
pub(crate) fn time_of_day() -> SystemTime {
    SystemTime::now()
}

/// The state of the process, if it has started and is neither a fork's child nor exiting.
pub(crate) fn process() -> Option<&'static Process> {
    if OFF.load(Ordering::Relaxed) { None } else { PROCESS.get() }
}

/// Starts the layer once the driver has been initialised. This opens no context, and starts no thread unless a report
/// is wanted.
pub fn start(start: Start) {
    start_with(start, None);
}

/// The same, with a TOML text of options that comes after file and variables.
pub(crate) fn start_with(start: Start, options: Option<&str>) {
    os::messages::install();
    let mut first = false;
    let process = PROCESS.get_or_init(|| {
        first = true;
        Process::new(start, options)
    });
    if first {
        // Later the program may have bound all its threads.
        os::threads::processors();
        os::faults::expect_handlers();
        process.watch_waits();
        process.settings.faults.iter().for_each(|fault| log::warn!("{fault}"));
        process.settings.warnings.iter().for_each(|warning| log::warn!("{warning}"));
        let untold = process.settings.unknown.iter().filter(|warning| !copies::variables::is_told(warning));
        untold.for_each(|warning| log::warn!("{warning}"));
        report::begin();
    }
}

impl Process {
    pub(crate) fn new(start: Start, options: Option<&str>) -> Process {
        let mut settings = Settings::of_this_process();
        if let Some(text) = options {
            settings.apply_toml(&Source { origin: settings::OPTIONS, text });
        }
        settings.options.trace |= trace::folder().is_some();
        Process {
            // The C library has no hooks.
            captures: Captures::new(start.deployment != c"c"),
            start,
            began: time_of_day(),
            live_folders: if settings.live { report::live::folders() } else { Vec::new() },
            has_rules: AtomicBool::new(!settings.rules.is_empty()),
            rules: RwLock::new(Arc::new(settings.rules.clone())),
            rule: Rule::new(settings.options.demand),
            observer: Observer::new(settings.observe),
            settings,
            driver: OnceCell::new(),
            stream_lock: OnceCell::new(),
            contexts: Contexts::default(),
            streams: Streams::default(),
            ranked: Ranked::default(),
            recorded: Recorded::default(),
            closed: Mutex::default(),
            closed_traces: Mutex::default(),
        }
    }

    pub(crate) fn driver(&self) -> Result<&Arc<dyn Driver>> {
        let driver = self.driver.get_or_try_init(self.start.driver)?;
        self.stream_lock.get_or_init(|| StreamLock::of(driver));
        Ok(driver)
    }

    /// The context of a stream; `None` where nobody knows.
    fn context_of(&self, stream: Stream) -> Option<Context> {
        match stream.is_default() {
            true => self.current_context(),
            false => self.driver.get()?.stream_context(stream).ok(),
        }
    }

    fn captured(&self, stream: Stream) -> Captured {
        let thread = if stream == Stream::PER_THREAD { thread::number().unwrap_or(0) } else { 0 };
        Captured { stream, context: self.context_of(stream), thread }
    }

    /// Before the layer opens anywhere there is no driver to ask, and none needs to know.
    fn end_unless_capturing(&self, stream: Stream) {
        let is_over = |driver: &Arc<dyn Driver>| driver.stream_capture_status(stream) == Ok(CaptureStatus::None);
        if self.driver.get().is_none_or(is_over) {
            self.captures.end(self.captured(stream));
        }
    }

    /// Whether the layer opens in no context.
    pub(crate) fn is_off(&self) -> bool {
        !self.settings.options.enabled || self.settings.observe == Mode::Only
    }

    pub(crate) fn priorities(&self) -> Priorities {
        self.settings.options.priorities
    }
}

/// The program is about to capture a stream.
pub fn capture_began(stream: Stream) {
    process().into_iter().for_each(|process| process.captures.begin(process.captured(stream)));
}

/// The driver has refused to end the capture of a stream, which may be over all the same.
pub fn capture_end_refused(stream: Stream) {
    process().into_iter().for_each(|process| process.end_unless_capturing(stream));
}

/// The program has ended the capture of a stream.
pub fn capture_ended(stream: Stream) {
    process().into_iter().for_each(|process| process.captures.end(process.captured(stream)));
}

/// This process is the child of a fork: from now on all copies go natively, if the layer of the parent had started.
/// Safe in a signal handler.
pub fn forked() {
    if PROCESS.get().is_some() {
        OFF.store(true, Ordering::SeqCst);
    }
}

/// The process is exiting: copies go natively. On return no thread of the layer is inside the driver.
pub fn exiting() {
    let Some(process) = process() else { return };
    OFF.store(true, Ordering::SeqCst);
    process.await_openings();
    report::end(process);
    report::live::end();
    trace::end(process);
}

/// The way in which the layer came into the process, if it has started: see [`Start::deployment`].
#[must_use]
pub fn deployment() -> Option<&'static str> {
    PROCESS.get().and_then(|process| process.start.deployment.to_str().ok())
}
