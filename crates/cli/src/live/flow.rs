//! Rates and waits of a process on a device, between two readings of its counts.

use std::collections::BTreeMap;

use os::pcie;
use serde::Serialize;
use shim::live::BOUNDS_US;
use shim::record::{Buckets, DeviceRecord};

use super::files::Process;

/// The ways of copies, in the order in which they are shown.
pub const WAYS: [&str; 5] = ["urgent", "kernel", "engine", "staged", "native"];

/// A process on a device. What needs two readings is `None` after the first.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub pid: u32,
    pub program: String,
    pub gpu: i32,
    pub device: String,
    pub state: String,
    pub silent_s: Option<f64>,
    pub h2d: Flow,
    pub d2h: Flow,
    /// Urgent copies that met others, a second.
    pub urgent_per_s: Option<f64>,
    /// The waits of those that were measured, from submission to completion.
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
    /// The share of the bytes that went each way.
    pub ways: Option<BTreeMap<&'static str, f64>>,
    pub staged_bytes: u64,
    pub stand_downs: u64,
}

/// A direction.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Flow {
    pub bytes_per_s: Option<f64>,
    /// The highest rate that this command has seen.
    pub peak_bytes_per_s: Option<f64>,
    /// What the link can carry.
    pub limit_bytes_per_s: Option<f64>,
}

/// The counts of one reading.
struct Reading {
    at_ms: u64,
    moved: [u64; 2],
    ways: [u64; WAYS.len()],
    urgent: u64,
    waits: Buckets,
}

/// Keeps the readings before.
#[derive(Default)]
pub struct Meter(BTreeMap<(String, i32), (Reading, Row)>);

impl Meter {
    /// The rows of a new reading.
    pub fn rows(&mut self, processes: &[Process]) -> Vec<Row> {
        let mut before = std::mem::take(&mut self.0);
        for process in processes {
            for device in &process.record.devices {
                let key = (process.name.clone(), device.device);
                let measured = measure(process, device, before.remove(&key));
                self.0.insert(key, measured);
            }
        }
        let mut rows: Vec<Row> = self.0.values().map(|(_, row)| row.clone()).collect();
        rows.sort_by_key(|row| (row.pid, row.gpu));
        rows
    }
}

fn measure(process: &Process, device: &DeviceRecord, before: Option<(Reading, Row)>) -> (Reading, Row) {
    let now = Reading::of(process.record.written_unix_ms, device);
    let mut row = plain(process, device);
    match before {
        // It has not written since.
        Some((reading, known)) if reading.at_ms == now.at_ms => {
            let Row { h2d, d2h, urgent_per_s, p50_us, p99_us, ways, .. } = known;
            (reading, Row { h2d, d2h, urgent_per_s, p50_us, p99_us, ways, ..row })
        }
        Some((reading, known)) if reading.at_ms < now.at_ms => {
            row.compare(&reading, &now, &known);
            (now, row)
        }
        // The first one, or the clock was set back.
        _ => (now, row),
    }
}

fn plain(process: &Process, device: &DeviceRecord) -> Row {
    let limit_bytes_per_s = pcie::limit_bytes_per_s(&device.pci).map(|limit| limit as f64);
    let flow = Flow { limit_bytes_per_s, ..Flow::default() };
    let record = &process.record;
    let program = record.program.rsplit('/').next().unwrap_or_default();
    Row {
        pid: record.pid,
        program: shown(program),
        gpu: device.device,
        device: shown(&device.name),
        state: if process.silent.is_some() { "silent".to_owned() } else { shown(&record.state) },
        silent_s: process.silent.map(|silent| silent.as_secs_f64()),
        h2d: flow,
        d2h: flow,
        urgent_per_s: None,
        p50_us: None,
        p99_us: None,
        ways: None,
        staged_bytes: device.copies.staged.bytes,
        stand_downs: device.stand_downs,
    }
}

/// Another process's text, which may command the terminal.
pub fn shown(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

impl Reading {
    fn of(at_ms: u64, device: &DeviceRecord) -> Reading {
        let sum = |named: &dyn Fn(&str, &str) -> bool| {
            let moved = device.moved.iter().filter(|moved| named(&moved.direction, &moved.way));
            moved.map(|moved| moved.bytes).sum()
        };
        let mut waits = Buckets::default();
        // The lowest priority is that of bulk.
        for latency in device.latencies.iter().filter(|latency| latency.priority > 1) {
            waits.iter_mut().zip(latency.buckets).for_each(|(sum, count)| *sum += count);
        }
        Reading {
            at_ms,
            moved: ["h2d", "d2h"].map(|direction| sum(&|its, _| its == direction)),
            ways: WAYS.map(|way| sum(&|_, its| its == way)),
            urgent: device.copies.urgent.copies,
            waits,
        }
    }
}

impl Row {
    fn compare(&mut self, before: &Reading, now: &Reading, known: &Row) {
        let seconds = (now.at_ms - before.at_ms) as f64 / 1e3;
        let flows = [(&mut self.h2d, &known.h2d), (&mut self.d2h, &known.d2h)];
        for (place, (flow, known)) in flows.into_iter().enumerate() {
            let rate = now.moved[place].saturating_sub(before.moved[place]) as f64 / seconds;
            flow.bytes_per_s = Some(rate);
            flow.peak_bytes_per_s = Some(known.peak_bytes_per_s.unwrap_or(0.0).max(rate));
        }
        let ways: [u64; WAYS.len()] = std::array::from_fn(|way| now.ways[way].saturating_sub(before.ways[way]));
        let all: u64 = ways.iter().sum();
        let shares = || WAYS.into_iter().zip(ways.map(|bytes| bytes as f64 / all as f64)).collect();
        self.ways = (all > 0).then(shares);
        let waits: Buckets = std::array::from_fn(|place| now.waits[place].saturating_sub(before.waits[place]));
        self.urgent_per_s = Some(now.urgent.saturating_sub(before.urgent) as f64 / seconds);
        [self.p50_us, self.p99_us] = [0.5, 0.99].map(|share| quantile_us(&waits, share));
    }
}

/// A quantile of counts by latency. Within a bucket the latencies count as spread evenly. `None` without any.
fn quantile_us(counts: &Buckets, share: f64) -> Option<f64> {
    let all: u64 = counts.iter().sum();
    let wanted = share * all as f64;
    let mut below = 0.0;
    for (place, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let count = *count as f64;
        if below + count >= wanted {
            let from = place.checked_sub(1).map_or(0, |before| BOUNDS_US[before]) as f64;
            let to = BOUNDS_US.get(place).map_or(from, |bound| *bound as f64);
            return Some(from + (to - from) * ((wanted - below) / count));
        }
        below += count;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use serde_json::json;

    /// A process that has moved so many bytes by the given time.
    fn process(at_ms: u64, h2d: u64, urgent: u64) -> Process {
        let mut buckets = vec![0; BOUNDS_US.len() + 1];
        buckets[5] = urgent; // more than 7 us, up to 10 us
        let record = json!({"format": 1, "pid": 7, "program": "/usr/bin/a\u{1b}[2Jb", "written_unix_ms": at_ms,
            "state": "open", "devices": [{"device": 0, "name": "a device", "stand_downs": 3,
            "copies": {"staged": {"copies": 1, "bytes": 5}, "urgent": {"copies": 4 * urgent}},
            "moved": [{"direction": "h2d", "way": "kernel", "copies": 1, "bytes": h2d},
                      {"direction": "h2d", "way": "urgent", "copies": 1, "bytes": h2d / 3},
                      {"direction": "d2h", "way": "native", "copies": 1, "bytes": 0}],
            "latencies": [{"priority": 1, "count": 9, "buckets": vec![9; BOUNDS_US.len() + 1]},
                          {"priority": 2, "count": urgent, "buckets": buckets}]}]});
        Process { name: "7.1.2".to_owned(), record: serde_json::from_value(record).unwrap(), silent: None }
    }

    #[test]
    fn rates_and_waits_are_those_between_two_readings() {
        let mut meter = Meter::default();
        let first = meter.rows(&[process(1_000, 3_000, 50)]).remove(0);
        assert!(first.h2d.bytes_per_s.is_none() && first.p50_us.is_none() && first.ways.is_none());
        assert_eq!((first.staged_bytes, first.stand_downs, &*first.program), (5, 3, "a?[2Jb"));
        let second = meter.rows(&[process(3_000, 9_000, 150)]).remove(0);
        assert_eq!((second.h2d.bytes_per_s, second.d2h.bytes_per_s), (Some(4_000.0), Some(0.0)));
        assert_eq!((second.urgent_per_s, second.p50_us), (Some(200.0), Some(8.5)), "bulk is not urgent");
        let ways = second.ways.unwrap();
        assert_eq!((ways["urgent"], ways["kernel"], ways["staged"]), (0.25, 0.75, 0.0));
        let unchanged = meter.rows(&[process(3_000, 9_000, 150)]).remove(0);
        assert_eq!(unchanged.h2d.bytes_per_s, Some(4_000.0), "it has not written since");
        let idle = meter.rows(&[process(4_000, 9_000, 150)]).remove(0);
        assert_eq!((idle.h2d.bytes_per_s, idle.h2d.peak_bytes_per_s), (Some(0.0), Some(4_000.0)));
        assert!(idle.p50_us.is_none() && idle.ways.is_none());
        assert!(meter.rows(&[]).is_empty());
        let again = meter.rows(&[process(5_000, 9_000, 150)]).remove(0);
        assert!(again.h2d.bytes_per_s.is_none(), "a process that has gone is forgotten");
    }

    #[test]
    fn a_silent_process_says_so() {
        let silent = Process { silent: Some(Duration::from_secs(9)), ..process(1, 1, 1) };
        let row = Meter::default().rows(&[silent]).remove(0);
        assert_eq!((&*row.state, row.silent_s), ("silent", Some(9.0)));
    }

    #[test]
    fn quantiles_lie_in_their_buckets() {
        let mut counts = Buckets::default();
        assert_eq!(quantile_us(&counts, 0.5), None);
        counts[11] = 99; // up to 100 us
        counts[BOUNDS_US.len()] = 1; // beyond a second
        assert_eq!(quantile_us(&counts, 0.99), Some(100.0));
        assert_eq!(quantile_us(&counts, 1.0), Some(1_000_000.0));
        let half = quantile_us(&counts, 0.5).unwrap();
        assert!((70.0..100.0).contains(&half), "{half}");
    }
}
