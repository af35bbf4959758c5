//! `overtake metrics`: the figures of all processes in the text format of Prometheus.
//!
//! Names and units follow its conventions; the label `gpu` is that of DCGM's exporter, and `_seconds` histograms are
//! what vLLM's has.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use console::failure::{Failure, Result};
use console::output;
use measure::args::seconds;
use os::pcie;
use shim::live::BOUNDS_US;
use shim::record::{DeviceRecord, LatencyRecord, MovedRecord};

use super::files::{Process, processes};
use super::serve;

const AFTER_HELP: &str = "\
Without options the text is printed once. With --file it is rewritten for node_exporter's textfile collector, whose
files end in .prom. With --listen Prometheus fetches http://ADDRESS/metrics. docs/grafana/overtake.json is a dashboard.
The processes do nothing more for this command: it reads the same files as `overtake top`.";

/// Arguments of `metrics`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct MetricsArguments {
    /// Rewrite this file until the command is ended; each time as a whole.
    #[arg(long, value_name = "FILE.prom")]
    pub file: Option<PathBuf>,
    /// The time between two texts of --file.
    #[arg(long, default_value_t = 5.0, value_parser = seconds, value_name = "SECONDS", requires = "file")]
    pub every: f64,
    /// Serve the text at this loopback address, such as 127.0.0.1:9836; port 0 takes a free one, and prints it.
    #[arg(long, value_parser = loopback, value_name = "ADDRESS", conflicts_with = "file")]
    pub listen: Option<SocketAddr>,
}

/// Other machines could otherwise read the names of this machine's programs.
fn loopback(text: &str) -> std::result::Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_| "not an address such as 127.0.0.1:9836".to_owned())?;
    match address.ip().is_loopback() {
        true => Ok(address),
        false => Err("not a loopback address, and there is no password: put a proxy before it".to_owned()),
    }
}

/// Runs the command.
pub fn run(metrics: &MetricsArguments) -> Result<()> {
    if let Some(address) = metrics.listen {
        return serve::serve(address, || text(&processes()));
    }
    let Some(path) = &metrics.file else { return output::print(&text(&processes())) };
    let write = || os::file::write_whole(path, text(&processes()).as_bytes());
    write().map_err(|error| Failure::File(path.clone(), error))?;
    loop {
        super::pause(Duration::from_secs_f64(metrics.every));
        // A disk that is full for a while ends nothing. The file is whole or as it was.
        if let Err(error) = write() {
            output::complain(format!("{}: {error}", path.display()));
        }
    }
}

/// The name of a metric, its type and its meaning.
struct Metric(&'static str, &'static str, &'static str);

const PROCESSES: Metric = Metric("overtake_processes", "gauge", "Processes that copy under the drop-in.");
const COPIES: Metric = Metric("overtake_copies_total", "counter", "Copies, by direction and way.");
const BYTES: Metric = Metric("overtake_copy_bytes_total", "counter", "Bytes of copies, by direction and way.");
const NATIVE: Metric =
    Metric("overtake_native_copies_total", "counter", "Copies that went to the driver unchanged, by reason.");
const WAITS: Metric = Metric(
    "overtake_copy_wait_seconds",
    "histogram",
    "Time from submission to completion of the copies that were measured, by priority; 1 is bulk.",
);
const LIMIT: Metric = Metric("overtake_link_limit_bytes_per_second", "gauge", "What the link of the device can carry.");
const STOOD_DOWN: Metric =
    Metric("overtake_stood_down", "gauge", "1 while the layer makes plain copies after too many rescues.");

/// Counters of a device.
type Count = fn(&DeviceRecord) -> u64;
const COUNTS: [(Metric, Count); 6] = [
    (
        Metric("overtake_stand_downs_total", "counter", "Times that a part of the layer stood down for a while."),
        |device| device.stand_downs,
    ),
    (Metric("overtake_resumptions_total", "counter", "Times that such a part came back."), |device| device.resumptions),
    (Metric("overtake_rescues_total", "counter", "Times that the watchdog let waiting copies go."), |device| {
        device.rescues
    }),
    (Metric("overtake_guard_rescues_total", "counter", "Copies that the engine made in a kernel's place."), |device| {
        device.guard_rescues
    }),
    (Metric("overtake_lost_copies_total", "counter", "Copies that could not be made in any way."), |device| {
        device.lost
    }),
    (Metric("overtake_errors_total", "counter", "Driver calls of the layer that failed."), |device| device.errors),
];

/// The text.
pub fn text(processes: &[Process]) -> String {
    let mut text = String::new();
    head(&mut text, &PROCESSES);
    line(&mut text, PROCESSES.0, "", processes.len());
    let devices: Vec<(String, &DeviceRecord)> = processes.iter().flat_map(devices).collect();
    type Amount = fn(&MovedRecord) -> u64;
    for (metric, amount) in [(COPIES, (|moved| moved.copies) as Amount), (BYTES, |moved| moved.bytes)] {
        head(&mut text, &metric);
        for (labels, device) in &devices {
            for moved in &device.moved {
                let labels = format!("{labels},direction={},way={}", quoted(&moved.direction), quoted(&moved.way));
                line(&mut text, metric.0, &labels, amount(moved));
            }
        }
    }
    head(&mut text, &NATIVE);
    for (labels, device) in &devices {
        for passed in &device.passed_on {
            let labels = format!("{labels},reason={}", quoted(&passed.reason));
            line(&mut text, NATIVE.0, &labels, passed.copies);
        }
    }
    head(&mut text, &WAITS);
    for (labels, device) in &devices {
        device.latencies.iter().for_each(|latency| waits(&mut text, labels, latency));
    }
    head(&mut text, &LIMIT);
    for (labels, device) in &devices {
        let limit = pcie::limit_bytes_per_s(&device.pci).map(|limit| limit as f64);
        limit.into_iter().for_each(|limit| line(&mut text, LIMIT.0, labels, limit));
    }
    head(&mut text, &STOOD_DOWN);
    devices.iter().for_each(|(labels, device)| line(&mut text, STOOD_DOWN.0, labels, u8::from(device.stood_down)));
    for (metric, count) in &COUNTS {
        head(&mut text, metric);
        devices.iter().for_each(|(labels, device)| line(&mut text, metric.0, labels, count(device)));
    }
    text
}

/// The devices of a process, with the labels of each.
fn devices(process: &Process) -> impl Iterator<Item = (String, &DeviceRecord)> {
    let record = &process.record;
    // Numbers of processes are those of a namespace: each container has a 1.
    let space = process.name.split('.').nth(1).unwrap_or_default();
    let program = quoted(record.program.rsplit('/').next().unwrap_or_default());
    record.devices.iter().map(move |device| {
        let (gpu, name, pci) = (device.device, quoted(&device.name), quoted(&device.pci));
        let labels = format!("program={program},gpu=\"{gpu}\",device={name},pci_bus_id={pci}");
        (format!("pid=\"{}\",pidns=\"{space}\",{labels}", record.pid), device)
    })
}

fn waits(text: &mut String, labels: &str, latency: &LatencyRecord) {
    let (name, labels) = (WAITS.0, format!("{labels},priority=\"{}\"", latency.priority));
    let mut below = 0;
    for (place, count) in latency.buckets.iter().enumerate() {
        below += count;
        let bound = BOUNDS_US.get(place).map_or("+Inf".to_owned(), |bound_us| (*bound_us as f64 / 1e6).to_string());
        line(text, &format!("{name}_bucket"), &format!("{labels},le=\"{bound}\""), below);
    }
    line(text, &format!("{name}_sum"), &labels, latency.sum_us / 1e6);
    line(text, &format!("{name}_count"), &labels, below);
}

fn head(text: &mut String, Metric(name, kind, help): &Metric) {
    let _a_string_takes_all = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

fn line(text: &mut String, name: &str, labels: &str, value: impl std::fmt::Display) {
    let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
    let _a_string_takes_all = writeln!(text, "{name}{labels} {value}");
}

/// The value of a label.
fn quoted(value: &str) -> String {
    format!("\"{}\"", super::flow::shown(value).replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_served() {
        assert!(loopback("127.0.0.1:9836").is_ok() && loopback("[::1]:0").is_ok());
        assert!(loopback("0.0.0.0:9836").unwrap_err().contains("loopback") && loopback("localhost").is_err());
    }

    #[test]
    fn labels_may_have_any_text() {
        assert_eq!(quoted("a \"b\"\\\nc\u{1b}"), r#""a \"b\"\\?c?""#);
    }
}
