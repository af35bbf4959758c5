//! The report of this process, as a file for `overtake run`.
//!
//! If `OVERTAKE_REPORT_DIR` is set, `<pid>.json` is written there at exit, and about twice a second while it changes: a
//! killed process leaves its last version.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use copies::{ClassSnapshot, Direction, Statistics};
use hal::locks::lock;
use os::threads;
use serde::Serialize;

pub(crate) use closed::Closed;

use crate::context::Local;
use crate::demand::Rank;
use crate::help::{Help, help};
use crate::observed::Observed;
use crate::process::{CallCount, Process, process, time_of_day};
use crate::verdict::{Finding, verdict};

/// The variable that names the folder for reports.
const FOLDER_VARIABLE: &str = "OVERTAKE_REPORT_DIR";

/// The time between updates of a report.
const PERIOD: Duration = Duration::from_millis(500);

/// The version of the format.
const FORMAT: u32 = 1;

/// The whole report.
#[derive(Serialize)]
pub(crate) struct Report {
    format: u32,
    pid: u32,
    parent: u32,
    program: String,
    command: Vec<String>,
    started_unix_ms: u64,
    written_unix_ms: u64,
    #[serde(rename = "final")]
    is_final: bool,
    state: &'static str,
    deployment: String,
    devices: Vec<Part>,
    automatic: Automatic,
    /// Copies that came to no context.
    passed_on: Vec<PassedOn>,
    calls: Vec<CallCount>,
    warnings: Vec<String>,
    verdict: Vec<Finding>,
    /// What was seen of the copies, and whether overtake helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    observed: Option<Observed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<Help>,
    /// Messages that found no room on the error output.
    messages_dropped: u64,
}

/// The rule for copies to which nothing else gave a priority, and the copies that came first and that were bulk by it.
/// Those are counted with the rule of demand, and so are the waits of threads that lifted copies.
#[derive(Clone, Copy, Debug, Serialize)]
struct Automatic {
    rule: &'static str,
    first: Class,
    bulk: Class,
    waits: u64,
}

impl Automatic {
    fn of(process: &Process) -> Automatic {
        let class = |rank| {
            let (copies, bytes) = process.ranked.of(rank).sum();
            Class { copies, bytes }
        };
        let rule = process.settings.options.automatic.name();
        let waits = process.ranked.waits.load(Ordering::Relaxed);
        Automatic { rule, first: class(Rank::First), bulk: class(Rank::Bulk), waits }
    }
}

/// The figures of one context, or the sums of several closed ones.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Part {
    device: i32,
    name: String,
    /// Where the system has it, such as `0000:18:00.0`.
    pci: String,
    contexts: u64,
    copies: Copies,
    moved: Vec<Moved>,
    passed_on: Vec<PassedOn>,
    unstaged_bytes: u64,
    staged_us: u64,
    guarded: Class,
    guard_rescues: u64,
    first_launches: u64,
    lost: u64,
    stand_downs: u64,
    resumptions: u64,
    on_device: Class,
    between_devices: Class,
    chunks: u64,
    rescues: u64,
    boosts: u64,
    errors: u64,
    stood_down: bool,
    latencies: Vec<Latency>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Copies {
    urgent: Class,
    kernel: Class,
    engine: Class,
    staged: Class,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Class {
    copies: u64,
    bytes: u64,
}

/// Copies by direction and way; counted under `copies` and `passed_on` too.
#[derive(Clone, Copy, Debug, Serialize)]
struct Moved {
    direction: &'static str,
    way: &'static str,
    copies: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct PassedOn {
    reason: &'static str,
    copies: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Latency {
    priority: u8,
    count: u64,
    /// Those of several contexts do not add up.
    p50_us: Option<f64>,
    p99_us: Option<f64>,
    max_us: f64,
    sum_us: f64,
    /// In the ranges of [`copies::BOUNDS_US`].
    buckets: [u64; copies::BOUNDS_US.len() + 1],
}

impl Class {
    fn add(&mut self, other: Class) {
        self.copies += other.copies;
        self.bytes += other.bytes;
    }
}

impl Latency {
    fn add(&mut self, other: &Latency) {
        if other.count == 0 {
            return;
        }
        let is_first = self.count == 0;
        self.p50_us = other.p50_us.filter(|_| is_first);
        self.p99_us = other.p99_us.filter(|_| is_first);
        self.count += other.count;
        self.max_us = self.max_us.max(other.max_us);
        self.sum_us += other.sum_us;
        self.buckets.iter_mut().zip(other.buckets).for_each(|(sum, count)| *sum += count);
    }
}

impl From<&copies::Moved> for Moved {
    fn from(moved: &copies::Moved) -> Moved {
        let (direction, class) = (moved.direction.map_or("unknown", Direction::name), moved.class);
        Moved { direction, way: moved.way, copies: class.copies, bytes: class.bytes }
    }
}

impl From<ClassSnapshot> for Class {
    fn from(class: ClassSnapshot) -> Class {
        Class { copies: class.copies, bytes: class.bytes }
    }
}

impl Part {
    pub(crate) fn of(local: &Local) -> Part {
        let statistics = local.overtake.statistics();
        let latency = |(priority, latency): (&u8, &copies::Latency)| Latency {
            priority: *priority,
            count: latency.count,
            p50_us: Some(latency.p50_us),
            p99_us: Some(latency.p99_us),
            max_us: latency.max_us,
            sum_us: latency.sum_us,
            buckets: latency.buckets,
        };
        let passed_on = |(reason, class): (&copies::copy::Reason, &ClassSnapshot)| PassedOn {
            reason: reason.name(),
            copies: class.copies,
            bytes: class.bytes,
        };
        let Statistics { urgent, kernel, engine, staged, .. } = statistics;
        Part {
            device: local.device.0,
            name: local.name.clone(),
            pci: local.pci.clone(),
            contexts: 1,
            copies: Copies {
                urgent: urgent.into(),
                kernel: kernel.into(),
                engine: engine.into(),
                staged: staged.into(),
            },
            moved: statistics.moved.iter().map(Moved::from).collect(),
            passed_on: statistics.native.iter().map(passed_on).collect(),
            unstaged_bytes: statistics.unstaged_bytes,
            staged_us: statistics.staged_us,
            guarded: statistics.guarded.into(),
            guard_rescues: statistics.guard_rescues,
            first_launches: statistics.first_launches,
            lost: statistics.lost,
            stand_downs: statistics.stand_downs,
            resumptions: statistics.resumptions,
            on_device: statistics.on_device.into(),
            between_devices: statistics.between_devices.into(),
            chunks: statistics.chunks,
            rescues: statistics.rescues,
            boosts: statistics.boosts,
            errors: statistics.errors,
            stood_down: statistics.stood_down,
            latencies: statistics.latencies.iter().map(latency).collect(),
        }
    }

    /// Adds the figures of another context of the same device.
    fn add(&mut self, other: &Part) {
        self.contexts += other.contexts;
        self.copies.urgent.add(other.copies.urgent);
        self.copies.kernel.add(other.copies.kernel);
        self.copies.engine.add(other.copies.engine);
        self.copies.staged.add(other.copies.staged);
        self.guarded.add(other.guarded);
        self.on_device.add(other.on_device);
        self.between_devices.add(other.between_devices);
        self.unstaged_bytes += other.unstaged_bytes;
        self.staged_us += other.staged_us;
        self.guard_rescues += other.guard_rescues;
        self.first_launches += other.first_launches;
        self.lost += other.lost;
        self.stand_downs += other.stand_downs;
        self.resumptions += other.resumptions;
        self.chunks += other.chunks;
        self.rescues += other.rescues;
        self.boosts += other.boosts;
        self.errors += other.errors;
        self.stood_down |= other.stood_down;
        for passed in &other.passed_on {
            match self.passed_on.iter_mut().find(|sum| sum.reason == passed.reason) {
                Some(sum) => (sum.copies, sum.bytes) = (sum.copies + passed.copies, sum.bytes + passed.bytes),
                None => self.passed_on.push(*passed),
            }
        }
        for moved in &other.moved {
            match self.moved.iter_mut().find(|sum| (sum.direction, sum.way) == (moved.direction, moved.way)) {
                Some(sum) => (sum.copies, sum.bytes) = (sum.copies + moved.copies, sum.bytes + moved.bytes),
                None => self.moved.push(*moved),
            }
        }
        for latency in &other.latencies {
            match self.latencies.iter_mut().find(|sum| sum.priority == latency.priority) {
                Some(sum) => sum.add(latency),
                None => self.latencies.push(*latency),
            }
        }
    }

    /// Adds the counts of this context to the sums.
    pub(crate) fn add_to(&self, totals: &mut crate::table::Totals) {
        totals.stood_down |= u32::from(self.stood_down);
        totals.urgent_copies += self.copies.urgent.copies;
        totals.urgent_bytes += self.copies.urgent.bytes;
        totals.kernel_copies += self.copies.kernel.copies;
        totals.kernel_bytes += self.copies.kernel.bytes;
        // Staged copies are on the copy engine in pieces.
        totals.engine_copies += self.copies.engine.copies + self.copies.staged.copies;
        totals.engine_bytes += self.copies.engine.bytes + self.copies.staged.bytes;
        totals.passed_on_copies += self.passed_on.iter().map(|class| class.copies).sum::<u64>();
        totals.passed_on_bytes += self.passed_on.iter().map(|class| class.bytes).sum::<u64>();
        totals.chunks += self.chunks;
        totals.rescues += self.rescues;
        totals.errors += self.errors;
    }
}

/// Every context of the process; closed ones are summed up.
pub(crate) fn parts(process: &Process) -> Vec<Part> {
    let (mut parts, open): (Vec<Part>, _) = {
        // Under this lock a context is in exactly one of the two lists.
        let closed = lock(&process.closed);
        (closed.parts().cloned().collect(), process.locals())
    };
    parts.extend(open.iter().map(|local| Part::of(local)));
    parts
}

/// The same, for a thread that must not wait, summed up by device. `None` while another thread changes the lists.
pub(crate) fn parts_at_once(process: &Process) -> Option<Vec<Part>> {
    let closed = process.closed.try_lock().ok()?;
    let open = process.locals_at_once()?;
    let mut sums = BTreeMap::<i32, Part>::new();
    for part in closed.parts().cloned().chain(open.iter().map(|local| Part::of(local))) {
        match sums.get_mut(&part.device) {
            Some(sum) => sum.add(&part),
            None => drop(sums.insert(part.device, part)),
        }
    }
    Some(sums.into_values().collect())
}

/// The state of the layer, in words.
fn state(process: &Process, devices: &[Part]) -> &'static str {
    match () {
        () if !process.settings.options.enabled => "off",
        () if process.is_off() => seen::OBSERVED,
        () if devices.iter().any(|part| part.stood_down) => "stood down",
        () if devices.is_empty() => "idle",
        () => "open",
    }
}

/// The report at this moment.
pub(crate) fn report(process: &Process, is_final: bool) -> Report {
    let devices = parts(process);
    let state = state(process, &devices);
    let calls = (process.start.calls)();
    let observed = seen::observed(process, &calls);
    let verdict = verdict(&facts::facts(&devices, observed.clone()));
    let command: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut warnings: Vec<String> = process.settings.faults.iter().map(ToString::to_string).collect();
    warnings.extend(process.settings.warnings.iter().cloned());
    warnings.extend(process.refusals());
    Report {
        format: FORMAT,
        pid: std::process::id(),
        parent: std::os::unix::process::parent_id(),
        program: command.first().cloned().unwrap_or_default(),
        command,
        started_unix_ms: unix_ms(process.began),
        written_unix_ms: unix_ms(time_of_day()),
        is_final,
        state,
        deployment: process.start.deployment.to_string_lossy().into_owned(),
        devices,
        automatic: Automatic::of(process),
        passed_on: seen::passed_on(process),
        calls,
        warnings,
        verdict,
        help: observed.as_ref().map(help),
        observed,
        messages_dropped: os::messages::dropped(),
    }
}

fn unix_ms(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

fn folder() -> Option<PathBuf> {
    os::variable::path(FOLDER_VARIABLE).map(PathBuf::from)
}

/// Starts the thread that keeps the report up to date, if a report is wanted. It calls no driver, and nothing waits for
/// it: no host need know it.
pub(crate) fn begin() {
    if folder().is_some() {
        // Without the thread the report is written at exit only.
        let _ = threads::start("overtake-report", threads::STACK_BYTES, keep_up_to_date);
    }
}

#[expect(clippy::disallowed_methods, reason = "it calls no driver, and nothing waits for it")]
fn keep_up_to_date() {
    let mut before = None;
    while let Some(process) = process() {
        let calls: u64 = (process.start.calls)().iter().map(|count| count.intercepted + count.passed_on).sum();
        let news = (calls, process.locals().len(), lock(&process.closed).begun);
        if before.replace(news) != Some(news) {
            write(process, false);
        }
        std::thread::sleep(PERIOD);
    }
}

/// Writes the last report.
pub(crate) fn end(process: &Process) {
    write(process, true);
}

/// Locked by the writing thread; true after the last report.
static WRITING: Mutex<bool> = Mutex::new(false);

fn write(process: &Process, is_final: bool) {
    let Some(folder) = folder() else { return };
    if let Some(error) = write_once(process, is_final, &folder) {
        log::warn!("there is no report of this process, because {} cannot be written: {error}", folder.display());
    }
}

/// Writes once. Returns an error only the first time.
fn write_once(process: &Process, is_final: bool, folder: &Path) -> Option<std::io::Error> {
    let mut ended = lock(&WRITING);
    if *ended {
        return None;
    }
    *ended = is_final;
    let error = write_to(folder, &report(process, is_final)).err()?;
    // Later attempts would fail too, so only the first error is returned. A removed folder is no error: the report is
    // no longer wanted.
    *ended = true;
    (error.kind() != std::io::ErrorKind::NotFound).then_some(error)
}

/// Replaces the file as a whole, so that no reader sees half a report.
fn write_to(folder: &Path, report: &Report) -> std::io::Result<()> {
    let name = folder.join(format!("{}.json", report.pid));
    os::file::write_whole(&name, &serde_json::to_vec(report)?)
}

mod closed;
mod facts;
pub mod live;
mod seen;
#[cfg(test)]
mod tests;
