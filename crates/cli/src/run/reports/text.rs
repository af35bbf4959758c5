//! The report for people.

use std::fmt::Write as _;

use report::{Column, Table, format};
use shim::record::{Amount, DeviceRecord, LatencyRecord, ReasonRecord};

use super::observed;
use super::record::{Automatic, ProcessRecord};
use super::total::{Total, p99_us, passed_on};

/// A command is shown up to this length.
const COMMAND_LENGTH: usize = 40;

/// The report, headed by the command.
pub fn render(
    heading: &str,
    total: &Total,
    processes: &[&ProcessRecord],
    complaints: &[String],
    (why, cure): &(String, &str),
) -> String {
    let mut text = format!("\novertake run: {heading}\n");
    if processes.is_empty() {
        line(&mut text, &format!("no process used CUDA through the drop-in: {why}\ntry: {cure}"));
    }
    if let [only] = processes {
        line(&mut text, &format!("one process used CUDA: {}, state: {}", named(only), only.state));
    }
    if processes.len() > 1 {
        line(&mut text, &format!("{} processes used CUDA; all of them together:", processes.len()));
    }
    for device in &total.devices {
        render_device(&mut text, &device.sum);
    }
    if let Some(seen) = &total.observed {
        observed::render(&mut text, seen);
    }
    let ranked = total.automatic;
    if ranked.first.copies + ranked.bulk.copies > 0 {
        section(&mut text, "copies ranked by the demand of their streams", &demand_table(ranked));
        if ranked.waits > 0 {
            line(&mut text, &format!("waits that lifted copies of streams which had been busy: {}", ranked.waits));
        }
    }
    if !total.passed_on.is_empty() {
        section(&mut text, "copies that no device's layer had a say in", &reason_table(&total.passed_on));
    }
    if processes.len() > 1 {
        section(&mut text, "processes", &process_table(processes));
    }
    render_warnings(&mut text, total, complaints);
    render_verdict(&mut text, total);
    text
}

pub(super) fn line(text: &mut String, content: &str) {
    writeln!(text, "{content}").expect("writing to a String");
}

pub(super) fn section(text: &mut String, title: &str, table: &Table) {
    writeln!(text, "\n{title}").expect("writing to a String");
    for row in table.to_string().lines() {
        writeln!(text, "  {row}").expect("writing to a String");
    }
}

fn named(process: &ProcessRecord) -> String {
    format!("{} ({})", shown(process), process.pid)
}

/// The command of a process, short enough for a line of a table: the processes of one job often differ only in their
/// arguments.
fn shown(process: &ProcessRecord) -> String {
    let whole = if process.command.is_empty() { process.program.clone() } else { process.command.join(" ") };
    if whole.chars().count() <= COMMAND_LENGTH {
        return whole;
    }
    whole.chars().take(COMMAND_LENGTH - 3).chain("...".chars()).collect()
}

fn render_device(text: &mut String, device: &DeviceRecord) {
    writeln!(text, "\ndevice {}: {}", device.device, device.name).expect("writing to a String");
    section(text, "copies by class", &class_table(device));
    if !device.latencies.is_empty() {
        section(
            text,
            "latency by priority: higher is more urgent; a sample of the copies is measured, and a p99 needs 1,000",
            &latency_table(&device.latencies),
        );
        if device.latencies.iter().any(|latency| latency.p50_us.is_none()) {
            line(text, "  (percentiles of several contexts do not add up; --json has each)");
        }
    }
    if !device.passed_on.is_empty() {
        section(text, "copies passed on untouched", &reason_table(&device.passed_on));
    }
    if device.on_device.copies + device.between_devices.copies > 0 {
        let (within, between) = (count(device.on_device.copies), count(device.between_devices.copies));
        line(text, &format!("\namong all of them: {within} copies on the device, {between} between devices"));
    }
    if device.stand_downs > 0 {
        let (downs, again) = (count(device.stand_downs), count(device.resumptions));
        line(text, &format!("stood down for a while: {downs} times; tried again: {again} times"));
    }
    if device.lost > 0 {
        line(text, &format!("copies that could not be made, and were reported as errors: {}", count(device.lost)));
    }
}

pub(super) fn count(number: u64) -> String {
    format::grouped(number as f64, 0)
}

pub(super) fn percentile(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), format::us)
}

fn amount_row(name: &str, amount: Amount) -> [String; 3] {
    [name.to_owned(), count(amount.copies), format::size(amount.bytes)]
}

fn class_table(device: &DeviceRecord) -> Table {
    let columns = vec![Column::words("class"), Column::numbers("copies"), Column::numbers("size")];
    let mut table = Table::new(columns);
    table.push(amount_row("urgent", device.copies.urgent));
    table.push(amount_row("bulk by kernel", device.copies.kernel));
    table.push(amount_row("bulk by engine", device.copies.engine));
    if device.copies.staged.copies > 0 {
        table.push(amount_row("staged (pageable)", device.copies.staged));
    }
    table.push(amount_row("passed on untouched", passed_on(device)));
    table
}

fn demand_table(ranked: Automatic) -> Table {
    let columns = vec![Column::words("streams"), Column::numbers("copies"), Column::numbers("size")];
    let mut table = Table::new(columns);
    table.push(amount_row("that move little: first", ranked.first));
    table.push(amount_row("that are busy: bulk", ranked.bulk));
    table
}

fn latency_table(latencies: &[LatencyRecord]) -> Table {
    let columns = vec![
        Column::numbers("priority"),
        Column::numbers("measured"),
        Column::numbers("p50 (us)"),
        Column::numbers("p99 (us)"),
        Column::numbers("max (us)"),
    ];
    let mut table = Table::new(columns);
    for latency in latencies {
        table.push([
            latency.priority.to_string(),
            count(latency.count),
            percentile(latency.p50_us),
            percentile(latency.p99_us),
            format::us(latency.max_us),
        ]);
    }
    table
}

fn reason_table(passed_on: &[ReasonRecord]) -> Table {
    let columns = vec![Column::words("reason"), Column::numbers("copies"), Column::numbers("size")];
    let mut table = Table::new(columns);
    for passed in passed_on {
        table.push(amount_row(&passed.reason, Amount { copies: passed.copies, bytes: passed.bytes }));
    }
    table
}

/// One line for each process. The latencies are those of its most urgent priority.
fn process_table(processes: &[&ProcessRecord]) -> Table {
    let columns = vec![
        Column::numbers("pid"),
        Column::words("program"),
        Column::words("state"),
        Column::numbers("urgent"),
        Column::numbers("bulk"),
        Column::numbers("passed on"),
        Column::numbers("rescues"),
        Column::numbers("priority"),
        Column::numbers("p50 (us)"),
        Column::numbers("p99 (us)"),
    ];
    let mut table = Table::new(columns);
    for process in processes {
        // The sum over one process keeps its percentiles if one context had such copies, and drops them otherwise.
        let sum = DeviceRecord::sum(&process.devices);
        let first = sum.most_urgent();
        let state = if process.is_final { process.state.clone() } else { format!("{}, cut off", process.state) };
        table.push([
            process.pid.to_string(),
            shown(process),
            state,
            count(sum.copies.urgent.copies),
            count(sum.copies.kernel.copies + sum.copies.engine.copies),
            count(passed_on(&sum).copies),
            count(sum.rescues),
            first.map_or("-".to_owned(), |latency| latency.priority.to_string()),
            percentile(first.and_then(|latency| latency.p50_us)),
            percentile(first.and_then(p99_us)),
        ]);
    }
    table
}

/// The conclusion. It comes last, where users look first.
fn render_verdict(text: &mut String, total: &Total) {
    if !total.verdict.is_empty() {
        text.push_str("\nverdict\n");
    }
    for finding in &total.verdict {
        line(text, &format!("* {}", finding.what));
        if let Some(cure) = &finding.cure {
            line(text, &format!("  try: {cure}"));
        }
    }
}

fn render_warnings(text: &mut String, total: &Total, complaints: &[String]) {
    let stood_down: Vec<String> = total
        .devices
        .iter()
        .filter(|device| device.contexts_stood_down > 0)
        .map(|device| {
            format!(
                "device {}: at the end overtake had stood down in {} of {} contexts and left their copies alone",
                device.sum.device, device.contexts_stood_down, device.sum.contexts
            )
        })
        .collect();
    let said = total.warnings.iter().map(|warning| match warning.processes {
        1 => warning.text.clone(),
        many => format!("{} ({many} processes)", warning.text),
    });
    let cut_off = (total.processes_cut_off > 0).then(|| {
        format!(
            "{} of {} processes were cut off: their last numbers are missing",
            total.processes_cut_off, total.processes
        )
    });
    let all: Vec<String> =
        stood_down.into_iter().chain(said).chain(cut_off).chain(complaints.iter().cloned()).collect();
    if !all.is_empty() {
        text.push('\n');
    }
    for warning in all {
        writeln!(text, "warning: {warning}").expect("writing to a String");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, is_final: bool) -> ProcessRecord {
        let text = format!(
            r#"{{"format": 1, "pid": {pid}, "program": "python", "command": ["python"],
                "final": {is_final}, "state": "open",
                "calls": [{{"symbol": "cuMemcpyHtoDAsync_v2", "intercepted": 1234, "passed_on": 1}}],
                "automatic": {{"rule": "demand", "first": {{"copies": 1000, "bytes": 65536000}},
                    "bulk": {{"copies": 16, "bytes": 4294967296}}, "waits": 3}},
                "devices": [{{"device": 0, "contexts": 1, "name": "H100", "chunks": 3, "stood_down": {},
                    "copies": {{"urgent": {{"copies": 1000, "bytes": 65536000}},
                        "kernel": {{"copies": 16, "bytes": 4294967296}}}},
                    "passed_on": [{{"reason": "capturing", "copies": 2, "bytes": 8192}}],
                    "between_devices": {{"copies": 5, "bytes": 4096}},
                    "latencies": [{{"priority": 2, "count": 1000, "p50_us": 8.25, "p99_us": 12.5, "max_us": 140}}]}}],
                "warnings": ["beware"]}}"#,
            !is_final
        );
        serde_json::from_str(&text).unwrap()
    }

    fn unseen() -> (String, &'static str) {
        ("it did not".to_owned(), "CUDA")
    }

    const ONE_PROCESS: &str = "
overtake run: python serve.py
one process used CUDA: python (7), state: open

device 0: H100

copies by class
  class                copies      size
  -------------------------------------
  urgent                1,000  62.5 MiB
  bulk by kernel           16     4 GiB
  bulk by engine            0       0 B
  passed on untouched       2     8 KiB

latency by priority: higher is more urgent; a sample of the copies is measured, and a p99 needs 1,000
  priority  measured  p50 (us)  p99 (us)  max (us)
  ------------------------------------------------
         2     1,000       8.2      12.5       140

copies passed on untouched
  reason     copies   size
  ------------------------
  capturing       2  8 KiB

among all of them: 0 copies on the device, 5 between devices

copies ranked by the demand of their streams
  streams                  copies      size
  -----------------------------------------
  that move little: first   1,000  62.5 MiB
  that are busy: bulk          16     4 GiB
waits that lifted copies of streams which had been busy: 3

warning: beware

verdict
* urgent copies that bulk had to yield to: 1000; bulk copies that could yield: 16; those of priority 2 took 8.2 us at \
the median, 12.5 us at the 99th percentile, 140.0 us at most (of 1000 measured)
* copies that could not be prioritised: 2, because their stream was captured into a graph, and copies of graphs are \
the driver's
  try: copy outside the capture where a copy is urgent or large
";

    #[test]
    fn one_process() {
        let process = process(7, true);
        let text = render("python serve.py", &Total::of([&process]), &[&process], &[], &unseen());
        assert_eq!(text, ONE_PROCESS);
    }

    #[test]
    fn several_processes_have_a_sum_and_a_line_each() {
        let (first, second) = (process(7, true), process(8, false));
        let text = render(
            "sh",
            &Total::of([&first, &second]),
            &[&first, &second],
            &["9.json: is not whole".to_owned()],
            &unseen(),
        );
        for part in [
            "2 processes used CUDA",
            "urgent                2,000",
            "percentiles of several contexts",
            "7  python   open            1,000    16          2        0         2       8.2      12.5",
            "8  python   open, cut off",
            "stood down in 1 of 2 contexts",
            "warning: beware (2 processes)",
            "1 of 2 processes were cut off",
            "warning: 9.json: is not whole",
        ] {
            assert!(text.contains(part), "{part} is not in:\n{text}");
        }
    }

    #[test]
    fn no_process_is_said_so() {
        let text = render("true", &Total::of([]), &[], &[], &unseen());
        assert_eq!(text, "\novertake run: true\nno process used CUDA through the drop-in: it did not\ntry: CUDA\n");
    }
}
