//! The reports that programs leave.

use std::path::PathBuf;
use std::process::Command;

use libtest_mimic::Failed;

use super::{Linked, Place, common, ours};

/// The last report is written at the end, and counts all copies.
pub(super) fn of_copies(place: &Place, linked: Linked) -> Result<(), Failed> {
    let parts = ["\"final\":true", "\"deployment\":\"c\"", "\"urgent\":{\"copies\":"];
    holds(place, "copies.c", linked, &parts, |_| ())
}

/// Copies that have a priority are told as such, though nothing had to yield to them.
pub(super) fn alone_with_a_priority(place: &Place) -> Result<(), Failed> {
    let parts =
        ["(2 of them have a priority of their own, which nothing had to yield to)", "\"help\":{\"answer\":\"cannot\""];
    holds(place, "alone.c", Linked::Shared, &parts, |program| {
        let program = program.env("LD_PRELOAD", common::built("libovertake_preload.so"));
        program.env("OVERTAKE_OBSERVE", "also");
    })
}

/// Runs a program, whose report has these parts.
fn holds(
    place: &Place,
    source: &str,
    linked: Linked,
    parts: &[&str],
    change: impl FnOnce(&mut Command),
) -> Result<(), Failed> {
    let binary = place.build(&ours(source), linked)?;
    let folder = binary.with_extension("reports");
    std::fs::create_dir_all(&folder)?;
    let mut program = place.program(&binary, true);
    change(program.env("OVERTAKE_REPORT_DIR", &folder));
    common::run(&mut program)?;
    let files: Vec<PathBuf> = std::fs::read_dir(&folder)?.flatten().map(|entry| entry.path()).collect();
    let [file] = &files[..] else { return Err(format!("{files:?}").into()) };
    let report = std::fs::read_to_string(file)?;
    match parts.iter().find(|part| !report.contains(**part)) {
        Some(part) => Err(format!("{part} is not in {report}").into()),
        None => Ok(()),
    }
}
