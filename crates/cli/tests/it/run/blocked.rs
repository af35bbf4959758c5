//! The report of calls that block, with programs of `crates/preload/tests/c/blocked.c`, whose places are known.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::compare::program;
use super::real::really;
use super::stand_ins::compile;
use crate::common::{Folder, text};

const PAGEABLE: &str = "the memory is pageable: the call returns when the driver, with one thread, has read or written";
const BEHIND: &str = "the copy was urgent, and bulk of another stream was in flight";
const WAITS: &str = "the call waits for the copy, and for all work before it in its stream";
const INSIDE: &str = "the call had to wait inside the driver";

type Expected = (&'static str, &'static str, Option<u64>, &'static str);

const TRIES: u32 = 5;

/// Every program, the place with most time, its calls if they are known, and the reason.
const PROGRAMS: [Expected; 13] = [
    ("upload_of_pageable_memory", "blocked upload_of_pageable_memory+", Some(1), PAGEABLE),
    ("download_to_pageable_memory", "blocked download_to_pageable_memory+", Some(1), PAGEABLE),
    ("upload_that_seems_not_to_wait", "blocked upload_that_seems_not_to_wait+", Some(1), PAGEABLE),
    ("rows_of_pageable_memory", "blocked rows_of_pageable_memory+", Some(1), PAGEABLE),
    ("small_upload_behind_bulk", "blocked small_upload_behind_bulk+", Some(1), BEHIND),
    ("small_download_behind_bulk", "blocked small_download_behind_bulk+", Some(1), BEHIND),
    ("upload_that_is_waited_for", "blocked upload_that_is_waited_for+", Some(1), WAITS),
    ("small_download_after_other_work", "blocked small_download_after_other_work+", Some(1), WAITS),
    ("copies_into_a_full_stream", "blocked copies_into_a_full_stream+", None, INSIDE),
    ("in_another_thread", "blocked upload_of_another_thread+", Some(1), PAGEABLE),
    ("in_a_library", "plugin.so plugin_loads+", Some(1), PAGEABLE),
    ("without_a_name", "blocked+0x", Some(1), PAGEABLE),
    ("two_places", "blocked download_to_pageable_memory+", Some(12), PAGEABLE),
];

/// A library with one function that copies. The program has loaded its driver.
const PLUGIN: &str = "\
#include <stddef.h>
unsigned int cuMemcpyHtoD_v2(unsigned long long target, const void *source, size_t bytes);
void plugin_loads(unsigned long long target, const void *source, size_t bytes)
{
    if (cuMemcpyHtoD_v2(target, source, bytes) != 0)
        __builtin_trap();
}
";

fn blocked(folder: &Folder) -> PathBuf {
    let plugin = compile(folder, "plugin.so", PLUGIN, &["-shared", "-fPIC"]);
    program(folder, "blocked", &["-rdynamic", "-ldl", &format!("-DPLUGIN=\"{}\"", plugin.display())])
}

/// The lines of a report about the place with most time.
fn first_place(report: &str) -> Vec<&str> {
    let mut lines = report.lines().skip_while(|line| !line.starts_with("calls that copy and blocked for 1 ms"));
    lines.next();
    let mut first = Vec::from_iter(lines.next());
    first.extend(lines.take_while(|line| line.starts_with("    ")));
    first
}

#[test]
fn each_stall_is_told_with_its_place_and_its_reason() {
    let folder = Folder::new("run-blocked");
    let program = blocked(&folder);
    // On a busy machine another call may take longest, because its thread lost its processor.
    let told = |expected: &Expected| (0..TRIES).find_map(|_| tells(&folder, &program, expected).ok());
    let untold = PROGRAMS.iter().filter(|expected| told(expected).is_none());
    let wrong: Vec<String> = untold.filter_map(|expected| tells(&folder, &program, expected).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether a run of the program is reported as expected; else the report.
fn tells(folder: &Folder, program: &Path, (scenario, place, calls, reason): &Expected) -> Result<(), String> {
    let words = ["--observe", "--report", "--json", "run.json", "--", program.to_str().unwrap(), scenario];
    let output = really(folder, &words);
    let said = text(&output.stderr);
    assert_eq!(text(&output.stdout), format!("{scenario}: done\n"), "{said}");
    let lines = first_place(said);
    let has = |start: &str| lines.iter().any(|line| line.trim_start().starts_with(start));
    let is_at = lines.get(1).is_some_and(|line| line.starts_with(&format!("    at {place}")));
    let site = &read(&folder.path().join("run.json"))["total"]["observed"]["sites"][0];
    let is_counted = calls.is_none_or(|calls| site["calls"] == calls) && site["blocked_us"].as_u64() >= Some(1_000);
    match is_at && has(&format!("because {reason}")) && has("try: ") && is_counted {
        true => Ok(()),
        false => Err(format!("{scenario}: {site:#}\n{said}")),
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}
