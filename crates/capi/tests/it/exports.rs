//! The exports, the needs and the soname of the library are those of its page, and its header agrees.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;
use testkit::needs;

use crate::common;

/// Every symbol that the library exports. A name that was released stays.
const EXPORTS: [&str; 121] = [
    "overtake_access_close",
    "overtake_access_wait_for",
    "overtake_admission_free",
    "overtake_admission_open",
    "overtake_adopt_stream",
    "overtake_after_fork",
    "overtake_answer_free",
    "overtake_answer_launch",
    "overtake_answer_launch_step",
    "overtake_answer_launch_uses",
    "overtake_answer_log",
    "overtake_answer_run",
    "overtake_answer_run_step",
    "overtake_answer_run_uses",
    "overtake_array_adopt",
    "overtake_array_bring",
    "overtake_array_free",
    "overtake_array_new",
    "overtake_array_open",
    "overtake_array_release",
    "overtake_array_view",
    "overtake_arrays_close",
    "overtake_arrays_open",
    "overtake_arrays_read_statistics",
    "overtake_arrays_read_times",
    "overtake_arrays_wait",
    "overtake_arrays_wait_for",
    "overtake_before_fork",
    "overtake_capsule_delete",
    "overtake_capsule_destroy",
    "overtake_close",
    "overtake_compute",
    "overtake_copy_queue_close",
    "overtake_copy_queue_copy",
    "overtake_copy_queue_flush",
    "overtake_copy_queue_literal",
    "overtake_copy_queue_open",
    "overtake_copy_queue_set",
    "overtake_deployment",
    "overtake_dispatcher_close",
    "overtake_dispatcher_dot",
    "overtake_dispatcher_open",
    "overtake_dispatcher_open_on",
    "overtake_dispatcher_read_statistics",
    "overtake_error_name",
    "overtake_error_text",
    "overtake_group_before",
    "overtake_group_begin",
    "overtake_group_behind",
    "overtake_group_end",
    "overtake_kernel_adopt",
    "overtake_kernel_free",
    "overtake_kernel_load",
    "overtake_lane_again",
    "overtake_lane_completes",
    "overtake_lane_copy",
    "overtake_lane_device",
    "overtake_lane_priority",
    "overtake_lane_stream",
    "overtake_lane_sync_point",
    "overtake_lane_turn",
    "overtake_last_error",
    "overtake_let_go",
    "overtake_memcpy_2d_async",
    "overtake_memcpy_async",
    "overtake_memcpy_batch_async",
    "overtake_open",
    "overtake_pipeline_acquire",
    "overtake_pipeline_captured",
    "overtake_pipeline_commit",
    "overtake_pipeline_complete",
    "overtake_pipeline_copy",
    "overtake_pipeline_free",
    "overtake_pipeline_give_up",
    "overtake_pipeline_hand_over",
    "overtake_pipeline_leave",
    "overtake_pipeline_open",
    "overtake_pipeline_read_statistics",
    "overtake_pipeline_release",
    "overtake_pipeline_replay",
    "overtake_pipeline_submit",
    "overtake_pipeline_take_record",
    "overtake_pipeline_wait",
    "overtake_pop_priority",
    "overtake_priorities",
    "overtake_push_priority",
    "overtake_read_statistics",
    "overtake_release_stream",
    "overtake_report_json",
    "overtake_set_last_error",
    "overtake_set_log_callback",
    "overtake_set_rules",
    "overtake_set_stream_priority",
    "overtake_set_thread_priority",
    "overtake_stream_priority",
    "overtake_submit",
    "overtake_task_before",
    "overtake_task_cancel",
    "overtake_task_free",
    "overtake_task_hold",
    "overtake_task_is_done",
    "overtake_task_raise",
    "overtake_task_release",
    "overtake_task_wait",
    "overtake_task_wait_for",
    "overtake_task_when_done",
    "overtake_tasks_free",
    "overtake_tasks_named",
    "overtake_tasks_open",
    "overtake_tasks_start",
    "overtake_tasks_stop",
    "overtake_tasks_wait",
    "overtake_tasks_wait_for",
    "overtake_template_add",
    "overtake_template_fix",
    "overtake_template_free",
    "overtake_template_new",
    "overtake_template_replay",
    "overtake_token_new",
    "overtake_version",
    "overtake_version_text",
];

/// Libraries that every system has.
const MAY_NEED: [&str; 6] = ["libgcc_s.so.1", "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux"];

fn library() -> std::path::PathBuf {
    common::built("libovertake_c.so")
}

fn output(program: &str, arguments: &[&str], file: &Path) -> String {
    common::succeed(Command::new(program).args(arguments).arg(file)).unwrap_or_else(|why| panic!("{why}"))
}

fn header() -> String {
    std::fs::read_to_string(common::here().join("include/overtake.h")).expect("the committed header")
}

fn the_exported_symbols_are_the_listed_ones() {
    let listing = output("nm", &["-D", "--defined-only"], &library());
    let exported: BTreeSet<&str> = listing.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert_eq!(exported, BTreeSet::from(EXPORTS));
}

fn the_archive_defines_each_of_them() {
    let listing = output("nm", &["--defined-only", "--extern-only", "--quiet"], &common::built("libovertake_c.a"));
    let defined: BTreeSet<&str> = listing.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    let missing: Vec<&str> = EXPORTS.into_iter().filter(|name| !defined.contains(name)).collect();
    assert_eq!(missing, [""; 0]);
}

/// Whether a symbol of a file belongs to the software GPU.
fn has_soft_gpu(file: &Path) -> bool {
    output("nm", &[], file).contains("softgpu")
}

fn neither_library_contains_the_software_gpu() {
    assert!(has_soft_gpu(&common::built("libcuda.so")), "the check finds the software GPU in its own library");
    for library in ["libovertake_c.so", "libovertake_preload.so"] {
        assert!(!has_soft_gpu(&common::built(library)), "{library}");
    }
}

fn the_library_needs_libraries_of_every_system_and_carries_its_version() {
    let dynamic = output("readelf", &["-dW"], &library());
    let named = |tag: &str| -> Vec<String> {
        let lines = dynamic.lines().filter(|line| line.contains(tag));
        lines.filter_map(|line| Some(line.split_once('[')?.1.trim_end_matches(']').to_owned())).collect()
    };
    for needed in named("(NEEDED)") {
        assert!(MAY_NEED.iter().any(|name| needed.starts_with(name)), "{needed}");
    }
    assert_eq!(named("(SONAME)"), ["libovertake.so.0"]);
    assert!(dynamic.contains("NODELETE"), "dlclose would unmap code that threads run in");
}

fn the_header_declares_every_export_and_says_how_threads_may_call_it() {
    let header = header();
    let functions: BTreeSet<&str> = declarations(&header).map(|(name, _)| name).collect();
    assert_eq!(functions, BTreeSet::from(EXPORTS));
    for (name, comment) in declarations(&header) {
        assert!(comment.contains("* Threads: "), "{name}");
    }
}

/// Functions of the header: the name, and the comment before it.
fn declarations(header: &str) -> impl Iterator<Item = (&str, &str)> {
    header.split("/**").skip(1).filter_map(|part| {
        let (comment, code) = part.split_once("*/")?;
        let name = ["const char *", "int ", "void "].iter().find_map(|kind| code.trim_start().strip_prefix(kind))?;
        name.starts_with("overtake_").then_some((name.split_once('(')?.0, comment))
    })
}

fn the_numbers_of_the_header_are_those_of_the_library() {
    use overtake_c::tasks::{dispatcher, patience, submit};
    use overtake_c::{copies, exports};
    let before = [
        ("OVERTAKE_VERSION_MAJOR", exports::OVERTAKE_VERSION_MAJOR),
        ("OVERTAKE_VERSION_MINOR", exports::OVERTAKE_VERSION_MINOR),
        ("OVERTAKE_VERSION_PATCH", exports::OVERTAKE_VERSION_PATCH),
        ("OVERTAKE_PRIORITY_BY_RULES", exports::OVERTAKE_PRIORITY_BY_RULES),
        ("OVERTAKE_PRIORITY_LOWEST", exports::OVERTAKE_PRIORITY_LOWEST),
        ("OVERTAKE_LOG_ERROR", exports::OVERTAKE_LOG_ERROR),
        ("OVERTAKE_LOG_WARNING", exports::OVERTAKE_LOG_WARNING),
        ("OVERTAKE_LOG_INFO", exports::OVERTAKE_LOG_INFO),
        ("OVERTAKE_LOG_DEBUG", exports::OVERTAKE_LOG_DEBUG),
    ];
    let after = [
        ("OVERTAKE_COPY_HOST_TO_DEVICE", copies::OVERTAKE_COPY_HOST_TO_DEVICE),
        ("OVERTAKE_COPY_DEVICE_TO_HOST", copies::OVERTAKE_COPY_DEVICE_TO_HOST),
        ("OVERTAKE_COPY_DEVICE_TO_DEVICE", copies::OVERTAKE_COPY_DEVICE_TO_DEVICE),
        ("OVERTAKE_COPY_DEFAULT", copies::OVERTAKE_COPY_DEFAULT),
        ("OVERTAKE_FOR_EVER", patience::OVERTAKE_FOR_EVER as i32),
        ("OVERTAKE_ORDER_DEFAULT", dispatcher::OVERTAKE_ORDER_DEFAULT),
        ("OVERTAKE_ORDER_PHYSX", dispatcher::OVERTAKE_ORDER_PHYSX),
        ("OVERTAKE_TASK_UPLOAD", submit::OVERTAKE_TASK_UPLOAD),
        ("OVERTAKE_TASK_KERNEL", submit::OVERTAKE_TASK_KERNEL),
        ("OVERTAKE_TASK_DOWNLOAD", submit::OVERTAKE_TASK_DOWNLOAD),
        ("OVERTAKE_TASK_HOST", submit::OVERTAKE_TASK_HOST),
        ("OVERTAKE_TASK_LIGHT", submit::OVERTAKE_TASK_LIGHT),
        ("OVERTAKE_TASK_JOIN", submit::OVERTAKE_TASK_JOIN),
    ];
    let header = header();
    let defined: Vec<(&str, i32)> = header.lines().filter_map(number).collect();
    let expected: Vec<(&str, i32)> =
        before.into_iter().chain(of_errors()).chain(after).chain(of_arrays()).chain(of_pipelines()).collect();
    assert_eq!(defined, expected, "as the preprocessor sees them, in the header's order");
}

fn of_arrays() -> [(&'static str, i32); 24] {
    use overtake_c::arrays::{store, uses};
    [
        ("OVERTAKE_SELECTION_MIN_TRANSFER_SIZE", store::OVERTAKE_SELECTION_MIN_TRANSFER_SIZE),
        ("OVERTAKE_SELECTION_SINGLE", store::OVERTAKE_SELECTION_SINGLE),
        ("OVERTAKE_SELECTION_ROUND_ROBIN", store::OVERTAKE_SELECTION_ROUND_ROBIN),
        ("OVERTAKE_SELECTION_STREAM_AWARE", store::OVERTAKE_SELECTION_STREAM_AWARE),
        ("OVERTAKE_SELECTION_MIN_MIN_TRANSFER_TIME", store::OVERTAKE_SELECTION_MIN_MIN_TRANSFER_TIME),
        ("OVERTAKE_SELECTION_MIN_MAX_TRANSFER_TIME", store::OVERTAKE_SELECTION_MIN_MAX_TRANSFER_TIME),
        ("OVERTAKE_USE_READ", uses::OVERTAKE_USE_READ),
        ("OVERTAKE_USE_WRITE", uses::OVERTAKE_USE_WRITE),
        ("OVERTAKE_USE_READ_WRITE", uses::OVERTAKE_USE_READ_WRITE),
        ("OVERTAKE_USE_DISCARD", uses::OVERTAKE_USE_DISCARD),
        ("OVERTAKE_USE_RELAXED", uses::OVERTAKE_USE_RELAXED),
        ("OVERTAKE_USE_SUM", uses::OVERTAKE_USE_SUM),
        ("OVERTAKE_USE_MIN", uses::OVERTAKE_USE_MIN),
        ("OVERTAKE_USE_MAX", uses::OVERTAKE_USE_MAX),
        ("OVERTAKE_TYPE_INT8", uses::OVERTAKE_TYPE_INT8 as i32),
        ("OVERTAKE_TYPE_INT16", uses::OVERTAKE_TYPE_INT16 as i32),
        ("OVERTAKE_TYPE_INT32", uses::OVERTAKE_TYPE_INT32 as i32),
        ("OVERTAKE_TYPE_INT64", uses::OVERTAKE_TYPE_INT64 as i32),
        ("OVERTAKE_TYPE_UINT8", uses::OVERTAKE_TYPE_UINT8 as i32),
        ("OVERTAKE_TYPE_UINT16", uses::OVERTAKE_TYPE_UINT16 as i32),
        ("OVERTAKE_TYPE_UINT32", uses::OVERTAKE_TYPE_UINT32 as i32),
        ("OVERTAKE_TYPE_UINT64", uses::OVERTAKE_TYPE_UINT64 as i32),
        ("OVERTAKE_TYPE_FLOAT32", uses::OVERTAKE_TYPE_FLOAT32 as i32),
        ("OVERTAKE_TYPE_FLOAT64", uses::OVERTAKE_TYPE_FLOAT64 as i32),
    ]
}

fn of_errors() -> [(&'static str, i32); 19] {
    use overtake_c::codes;
    [
        ("OVERTAKE_OK", codes::OVERTAKE_OK),
        ("OVERTAKE_ERROR_INVALID_ARGUMENT", codes::OVERTAKE_ERROR_INVALID_ARGUMENT),
        ("OVERTAKE_ERROR_BUFFER_TOO_SMALL", codes::OVERTAKE_ERROR_BUFFER_TOO_SMALL),
        ("OVERTAKE_ERROR_PANIC", codes::OVERTAKE_ERROR_PANIC),
        ("OVERTAKE_ERROR_NOT_STARTED", codes::OVERTAKE_ERROR_NOT_STARTED),
        ("OVERTAKE_ERROR_OFF", codes::OVERTAKE_ERROR_OFF),
        ("OVERTAKE_ERROR_SYNTAX", codes::OVERTAKE_ERROR_SYNTAX),
        ("OVERTAKE_ERROR_NO_DRIVER", codes::OVERTAKE_ERROR_NO_DRIVER),
        ("OVERTAKE_ERROR_NO_SCOPE", codes::OVERTAKE_ERROR_NO_SCOPE),
        ("OVERTAKE_ERROR_INVALID_HANDLE", codes::OVERTAKE_ERROR_INVALID_HANDLE),
        ("OVERTAKE_ERROR_REFUSED", codes::OVERTAKE_ERROR_REFUSED),
        ("OVERTAKE_ERROR_WOULD_BLOCK", codes::OVERTAKE_ERROR_WOULD_BLOCK),
        ("OVERTAKE_ERROR_CLOSED", codes::OVERTAKE_ERROR_CLOSED),
        ("OVERTAKE_ERROR_TASK_FAILED", codes::OVERTAKE_ERROR_TASK_FAILED),
        ("OVERTAKE_ERROR_TASK_NOT_RUN", codes::OVERTAKE_ERROR_TASK_NOT_RUN),
        ("OVERTAKE_ERROR_STUCK", codes::OVERTAKE_ERROR_STUCK),
        ("OVERTAKE_ERROR_TIMEOUT", codes::OVERTAKE_ERROR_TIMEOUT),
        ("OVERTAKE_ERROR_ENDED", codes::OVERTAKE_ERROR_ENDED),
        ("OVERTAKE_ERROR_FRAME_FAILED", codes::OVERTAKE_ERROR_FRAME_FAILED),
    ]
}

fn of_pipelines() -> [(&'static str, i32); 10] {
    use overtake_c::pipelines::options;
    [
        ("OVERTAKE_BEHIND_BLOCK", options::OVERTAKE_BEHIND_BLOCK),
        ("OVERTAKE_BEHIND_DROP_NEWEST", options::OVERTAKE_BEHIND_DROP_NEWEST),
        ("OVERTAKE_BEHIND_DROP_OLDEST", options::OVERTAKE_BEHIND_DROP_OLDEST),
        ("OVERTAKE_BEHIND_LATEST_ONLY", options::OVERTAKE_BEHIND_LATEST_ONLY),
        ("OVERTAKE_FRAME_DELIVERED", options::OVERTAKE_FRAME_DELIVERED),
        ("OVERTAKE_FRAME_FULL", options::OVERTAKE_FRAME_FULL),
        ("OVERTAKE_FRAME_REPLACED", options::OVERTAKE_FRAME_REPLACED),
        ("OVERTAKE_FRAME_OVERDUE", options::OVERTAKE_FRAME_OVERDUE),
        ("OVERTAKE_FRAME_GIVEN_UP", options::OVERTAKE_FRAME_GIVEN_UP),
        ("OVERTAKE_FRAME_FAILED", options::OVERTAKE_FRAME_FAILED),
    ]
}

fn number(line: &str) -> Option<(&str, i32)> {
    let (name, value) = line.strip_prefix("#define ")?.split_once(' ')?;
    Some((name, value.trim_matches(['(', ')']).parse().ok()?))
}

fn every_number_that_was_ever_listed_is_in_the_header_unless_retired() {
    let header = header();
    for line in include_str!("../../errors.txt").lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let defined = header.lines().any(|line| number(line) == Some((words[1], words[0].parse().expect(line))));
        assert_eq!(defined, words.len() == 2, "{line}");
    }
}

pub fn trials() -> Vec<Trial> {
    let trials: [(&str, fn()); 7] = [
        ("the_exported_symbols_are_the_listed_ones", the_exported_symbols_are_the_listed_ones),
        ("the_archive_defines_each_of_them", the_archive_defines_each_of_them),
        ("neither_library_contains_the_software_gpu", neither_library_contains_the_software_gpu),
        (
            "the_library_needs_libraries_of_every_system_and_carries_its_version",
            the_library_needs_libraries_of_every_system_and_carries_its_version,
        ),
        (
            "the_header_declares_every_export_and_says_how_threads_may_call_it",
            the_header_declares_every_export_and_says_how_threads_may_call_it,
        ),
        ("the_numbers_of_the_header_are_those_of_the_library", the_numbers_of_the_header_are_those_of_the_library),
        (
            "every_number_that_was_ever_listed_is_in_the_header_unless_retired",
            every_number_that_was_ever_listed_is_in_the_header_unless_retired,
        ),
    ];
    needs::checks("exports", trials)
}
