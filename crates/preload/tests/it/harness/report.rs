//! The drop-in's reports about the processes that it was in.

use std::path::Path;

use serde_json::Value;

use crate::harness::deployment::Deployment;

/// The expected content of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Any reports.
    Anything,
    /// No report: no process has used CUDA.
    Silence,
    /// No report, because none was requested.
    Unasked,
    /// Any reports. The drop-in may say on the error output that it stands back, and why.
    Warnings,
    /// As `Warnings`; the drop-in says that the variable of blocking launches is the reason.
    LaunchesBlock,
    /// Urgent copies, and bulk copies by kernel.
    Moved,
    /// As `Moved`; the program ends while its threads go on copying, so the number of copies is not known.
    Moving,
    /// As `Moved`, with at least so many urgent copies.
    Urgent(u64),
    /// At least so many waits that lifted copies.
    Waited(u64),
    /// As `Moved`, with copies that came to no context.
    Elsewhere,
    /// As `Moved`, with copies that were passed on because their stream captured.
    Captured,
    /// As `Moved`; a child that inherited CUDA has moved nothing.
    Forked,
}

/// Sums over the reports of some processes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Processes that have reported.
    pub reports: u64,
    /// Urgent copies that raised a word.
    pub urgent: u64,
    /// Bulk copies by kernel.
    pub kernel: u64,
    /// Bulk copies by guarded kernel.
    pub guarded: u64,
    /// Guarded copies that the copy engine made instead.
    pub rescued: u64,
    /// Copies that went to the driver unchanged.
    pub passed_on: u64,
    /// Processes in which the layer stood down.
    pub stood_down: u64,
}

impl Work {
    /// Sums up the reports in a folder.
    pub fn reported(folder: &Path) -> Result<Work, String> {
        let reports = read(folder)?;
        let passed_on = items(&reports, "devices").filter_map(|device| device["passed_on"].as_array()).flatten();
        Ok(Work {
            reports: reports.len() as u64,
            urgent: copies(&reports, "urgent"),
            kernel: copies(&reports, "kernel"),
            guarded: items(&reports, "devices").filter_map(|device| device["guarded"]["copies"].as_u64()).sum(),
            rescued: items(&reports, "devices").filter_map(|device| device["guard_rescues"].as_u64()).sum(),
            passed_on: passed_on.filter_map(|row| row["copies"].as_u64()).sum(),
            stood_down: reports.iter().filter(|report| has_stood_down(report)).count() as u64,
        })
    }

    pub fn plus(self, other: Work) -> Work {
        Work {
            reports: self.reports + other.reports,
            urgent: self.urgent + other.urgent,
            kernel: self.kernel + other.kernel,
            guarded: self.guarded + other.guarded,
            rescued: self.rescued + other.rescued,
            passed_on: self.passed_on + other.passed_on,
            stood_down: self.stood_down + other.stood_down,
        }
    }
}

/// Reads the reports in a folder and checks them.
pub fn check(folder: &Path, expect: Expect, deployment: Deployment) -> Result<(), String> {
    let reports = read(folder)?;
    if matches!(expect, Expect::Silence | Expect::Unasked) || deployment == Deployment::Off {
        return match reports.len() {
            0 => Ok(()),
            count => Err(format!("{count} reports where there should be none")),
        };
    }
    for report in &reports {
        let said = report["deployment"].as_str();
        require(said == Some(deployment.reported()), || format!("the deployment is called {said:?}"))?;
        if report["final"] == true && expect != Expect::Moving {
            accounts_for_every_copy(report)?;
        }
    }
    if deployment == Deployment::Observed {
        return reports.iter().try_for_each(only_watched);
    }
    has(&reports, expect)
}

/// Checks the sums over all reports.
fn has(reports: &[Value], expect: Expect) -> Result<(), String> {
    match expect {
        Expect::Anything | Expect::Warnings | Expect::LaunchesBlock | Expect::Silence | Expect::Unasked => Ok(()),
        Expect::Moved | Expect::Moving => moved(reports),
        Expect::Elsewhere => {
            moved(reports)?;
            let reasons = ["context not current", "foreign stream", "context not open", "thread ending"];
            reasons.iter().try_for_each(|reason| {
                let rows = items(reports, "passed_on").filter(|row| row["reason"] == *reason);
                let count: u64 = rows.filter_map(|row| row["copies"].as_u64()).sum();
                require(count > 0, || format!("no copy was passed on for the reason `{reason}`"))
            })
        }
        Expect::Urgent(least) => {
            moved(reports)?;
            let urgent = copies(reports, "urgent");
            require(urgent >= least, || format!("{urgent} copies were urgent, not {least}"))
        }
        Expect::Waited(least) => {
            let waits: u64 = reports.iter().filter_map(|report| report["automatic"]["waits"].as_u64()).sum();
            require(waits >= least, || format!("{waits} waits lifted copies, not {least}"))
        }
        Expect::Captured => {
            moved(reports)?;
            require(passed_on(reports, "capturing") > 0, || "no copy was passed on for its capture".to_owned())
        }
        Expect::Forked => {
            moved(reports)?;
            let heirs = reports.iter().filter(|report| report["state"] == "forked").cloned();
            let heirs: Vec<Value> = heirs.collect();
            require(copies(&heirs, "urgent") + copies(&heirs, "kernel") == 0, || "a child counts copies".to_owned())
        }
    }
}

/// The layer has opened nowhere.
fn only_watched(report: &Value) -> Result<(), String> {
    let is_closed = report["devices"].as_array().is_some_and(Vec::is_empty);
    let state = report["state"].as_str();
    require(is_closed && state != Some("open"), || format!("the layer is {state:?}, with {}", report["devices"]))
}

/// Most copies of a program with pageable memory have been staged.
pub fn has_staged(folder: &Path) -> Result<(), String> {
    let reports = read(folder)?;
    let refused = passed_on(&reports, "not staged") + 4 * passed_on(&reports, "capturing");
    let staged = copies(&reports, "staged");
    require(staged > 2 * refused, || format!("{staged} copies were staged, and {refused} were not"))
}

/// Copies have gone as the program's traffic has them go.
fn moved(reports: &[Value]) -> Result<(), String> {
    require(copies(reports, "urgent") > 0, || "no copy was urgent".to_owned())?;
    require(copies(reports, "kernel") > 0, || "no bulk copy went by kernel".to_owned())?;
    require(calls(reports) > 0, || "no call was intercepted".to_owned())?;
    require(!reports.iter().any(has_stood_down), || "the drop-in has stood down".to_owned())
}

/// Hooks count calls; contexts and reasons count copies. Each copy is in both counts, by the way that it went or by the
/// reason for passing it on.
fn accounts_for_every_copy(report: &Value) -> Result<(), String> {
    let one = std::slice::from_ref(report);
    let is_copy = |call: &&Value| call["symbol"].as_str().is_some_and(|symbol| symbol.starts_with("cuMemcpy"));
    let number = |call: &Value| Some(call["intercepted"].as_u64()? + call["passed_on"].as_u64()?);
    let made: u64 = items(one, "calls").filter(is_copy).filter_map(number).sum();
    let ways: u64 = ["urgent", "kernel", "engine", "staged"].iter().map(|way| copies(one, way)).sum();
    let by_devices = items(one, "devices").filter_map(|device| device["passed_on"].as_array()).flatten();
    let reasons = by_devices.chain(items(one, "passed_on")).filter_map(|row| row["copies"].as_u64());
    let accounted = ways + reasons.sum::<u64>();
    require(made == accounted, || format!("{made} copies were made, and {accounted} are accounted for"))
}

/// Checks that messages found no room, and that the reports count them. A few rescued copies alone lead to no message:
/// on a slow host they do not count, and the layer does not stand down.
pub fn dropped_messages(folder: &Path) -> Result<(), String> {
    let reports = read(folder)?;
    let sum = |name: &str| -> u64 { items(&reports, "devices").filter_map(|device| device[name].as_u64()).sum() };
    let nothing_to_say = sum("guard_rescues") > 0 && sum("stand_downs") == 0;
    let dropped: u64 = reports.iter().filter_map(|report| report["messages_dropped"].as_u64()).sum();
    require(dropped > 0 || nothing_to_say, || "no message was dropped, or none was counted".to_owned())
}

fn require(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}

fn read(folder: &Path) -> Result<Vec<Value>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.map(|entry| entry.expect("an entry of the folder").path());
    let reports = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let value = |path: std::path::PathBuf| -> Result<Value, String> {
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
    };
    reports.map(value).collect()
}

fn items<'a>(reports: &'a [Value], name: &str) -> impl Iterator<Item = &'a Value> {
    reports.iter().filter_map(move |report| report[name].as_array()).flatten()
}

fn copies(reports: &[Value], way: &str) -> u64 {
    items(reports, "devices").filter_map(|device| device["copies"][way]["copies"].as_u64()).sum()
}

fn passed_on(reports: &[Value], reason: &str) -> u64 {
    let rows = items(reports, "devices").filter_map(|device| device["passed_on"].as_array()).flatten();
    rows.filter(|row| row["reason"] == reason).filter_map(|row| row["copies"].as_u64()).sum()
}

fn calls(reports: &[Value]) -> u64 {
    items(reports, "calls").filter_map(|call| call["intercepted"].as_u64()).sum()
}

fn has_stood_down(report: &Value) -> bool {
    items(std::slice::from_ref(report), "devices").any(|device| device["stood_down"] == true)
}
