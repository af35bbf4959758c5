//! The report of this process, as a file for `overtake run`.
//!
//! If `OVERTAKE_REPORT_DIR` is set, `<pid>.json` is written there at exit, and about twice a second while it changes: a
//! killed process leaves its last version.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use hal::locks::lock;
use os::threads;
use serde::Serialize;

pub(crate) use closed::Closed;

use crate::demand::Rank;
use crate::help::{Help, help};
use crate::observed::Observed;
use crate::process::{CallCount, Process, process, time_of_day};
use crate::record::{Amount, DeviceRecord, FORMAT, RUN_FOLDER, ReasonRecord};
use crate::verdict::{Finding, verdict};

/// The variable that names the folder for reports.
const FOLDER_VARIABLE: &str = "OVERTAKE_REPORT_DIR";

/// The time between updates of a report.
const PERIOD: Duration = Duration::from_millis(500);

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
    devices: Vec<DeviceRecord>,
    automatic: Automatic,
    /// Copies that came to no context.
    passed_on: Vec<ReasonRecord>,
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
    first: Amount,
    bulk: Amount,
    waits: u64,
}

impl Automatic {
    fn of(process: &Process) -> Automatic {
        let class = |rank| {
            let (copies, bytes) = process.ranked.of(rank).sum();
            Amount { copies, bytes }
        };
        let rule = process.settings.options.automatic.name();
        let waits = process.ranked.waits.load(Ordering::Relaxed);
        Automatic { rule, first: class(Rank::First), bulk: class(Rank::Bulk), waits }
    }
}

/// Every context of the process; closed ones are summed up.
pub(crate) fn parts(process: &Process) -> Vec<DeviceRecord> {
    let (mut parts, open): (Vec<DeviceRecord>, _) = {
        // Under this lock a context is in exactly one of the two lists.
        let closed = lock(&process.closed);
        (closed.parts().cloned().collect(), process.locals())
    };
    parts.extend(open.iter().map(|local| DeviceRecord::of(local)));
    parts
}

/// The same, for a thread that must not wait, summed up by device. `None` while another thread changes the lists.
pub(crate) fn parts_at_once(process: &Process) -> Option<Vec<DeviceRecord>> {
    let closed = process.closed.try_lock().ok()?;
    let open = process.locals_at_once()?;
    let mut sums = BTreeMap::<i32, DeviceRecord>::new();
    for part in closed.parts().cloned().chain(open.iter().map(|local| DeviceRecord::of(local))) {
        match sums.get_mut(&part.device) {
            Some(sum) => sum.add(&part),
            None => drop(sums.insert(part.device, part)),
        }
    }
    Some(sums.into_values().collect())
}

/// The state of the layer, in words.
fn state(process: &Process, devices: &[DeviceRecord]) -> &'static str {
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
    let verdict = verdict(&DeviceRecord::sum(&devices), observed.as_ref());
    let command: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut warnings: Vec<String> = process.settings.faults.iter().map(ToString::to_string).collect();
    warnings.extend(process.settings.warnings.iter().chain(&process.settings.unknown).cloned());
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
    let Some(folder) = folder() else { return };
    if !folder.is_dir() && !is_of_a_run(&folder) {
        log::warn!("there is no report of this process, because {FOLDER_VARIABLE}={} is no folder", folder.display());
    }
    // Without the thread the report is written at exit only.
    let _ = threads::start("overtake-report", threads::STACK_BYTES, keep_up_to_date);
}

/// Whether `overtake run` made the folder. When that has ended, a process of its program finds it gone, and rightly so.
fn is_of_a_run(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(RUN_FOLDER))
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
pub mod live;
mod seen;
#[cfg(test)]
mod tests;
