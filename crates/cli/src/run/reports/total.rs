//! The sum of all processes. Percentiles cannot be added: they are shown if one context of one process had such
//! copies, and left out otherwise.

use std::collections::BTreeMap;

use serde::Serialize;
use shim::help::{Help, help};
use shim::observed::Observed;
use shim::record::{Amount, DeviceRecord, LatencyRecord, ReasonRecord};
use shim::verdict::{Finding, verdict};

use super::record::{Automatic, CallRecord, ProcessRecord};

/// The sum of all processes.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Total {
    pub processes: usize,
    /// The number of processes that were cut off: their last numbers are missing.
    pub processes_cut_off: usize,
    /// The number of processes in each state.
    pub states: BTreeMap<String, usize>,
    /// The devices, by the number that the processes use.
    pub devices: Vec<DeviceTotal>,
    /// The copies to which the rule of demand gave a priority.
    pub automatic: Automatic,
    /// Copies that went to the driver before any context was found for them, most frequent reason first.
    pub passed_on: Vec<ReasonRecord>,
    /// The calls, most frequent first.
    pub calls: Vec<CallRecord>,
    /// The warnings of the processes, each once.
    pub warnings: Vec<WarningTotal>,
    /// The conclusion.
    pub verdict: Vec<Finding>,
    /// What was seen of the copies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<Observed>,
    /// Whether overtake helps, as far as that was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<Help>,
}

/// One device in all processes.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct DeviceTotal {
    /// The number of processes that used it.
    pub processes: usize,
    /// Contexts in which overtake gave up.
    pub contexts_stood_down: usize,
    /// All figures: reasons by frequency, and latencies by priority, the most urgent first.
    #[serde(flatten)]
    pub sum: DeviceRecord,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct WarningTotal {
    pub text: String,
    /// The number of processes that reported it.
    pub processes: usize,
}

impl Total {
    pub fn of<'a>(processes: impl IntoIterator<Item = &'a ProcessRecord>) -> Total {
        let mut total = Total::default();
        for process in processes {
            total.add(process);
        }
        total.calls.sort_by(|a, b| (b.count(), &a.symbol).cmp(&(a.count(), &b.symbol)));
        most_frequent_first(&mut total.passed_on);
        total.devices.sort_by(|a, b| (a.sum.device, &a.sum.name).cmp(&(b.sum.device, &b.sum.name)));
        total.devices.iter_mut().for_each(DeviceTotal::sort);
        total.help = total.observed.as_ref().map(help);
        // Without any copy there is nothing to judge, unless it was seen that there was none.
        if !total.devices.is_empty() || total.observed.is_some() {
            let sum = DeviceRecord::sum(total.devices.iter().map(|device| &device.sum));
            total.verdict = verdict(&sum, total.observed.as_ref());
        }
        total
    }

    fn add(&mut self, process: &ProcessRecord) {
        self.processes += 1;
        self.processes_cut_off += usize::from(!process.is_final);
        *self.states.entry(process.state.clone()).or_default() += 1;
        for device in &process.devices {
            let named = || DeviceRecord {
                device: device.device,
                name: device.name.clone(),
                pci: device.pci.clone(),
                ..Default::default()
            };
            let new = || DeviceTotal { sum: named(), ..DeviceTotal::default() };
            entry(&mut self.devices, |total| total.is(device), new).add(device);
        }
        for total in &mut self.devices {
            total.processes += usize::from(process.devices.iter().any(|device| total.is(device)));
        }
        if let Some(seen) = &process.observed {
            self.observed.get_or_insert_default().add(seen);
        }
        self.automatic.first.add(process.automatic.first);
        self.automatic.bulk.add(process.automatic.bulk);
        self.automatic.waits += process.automatic.waits;
        add_reasons(&mut self.passed_on, &process.passed_on);
        for call in &process.calls {
            let new = || CallRecord { symbol: call.symbol.clone(), ..CallRecord::default() };
            let total = entry(&mut self.calls, |total| total.symbol == call.symbol, new);
            total.intercepted += call.intercepted;
            total.passed_on += call.passed_on;
        }
        for text in &process.warnings {
            let new = || WarningTotal { text: text.clone(), processes: 0 };
            entry(&mut self.warnings, |total| total.text == *text, new).processes += 1;
        }
    }
}

impl DeviceTotal {
    fn is(&self, device: &DeviceRecord) -> bool {
        (self.sum.device, &self.sum.name) == (device.device, &device.name)
    }

    fn add(&mut self, device: &DeviceRecord) {
        self.contexts_stood_down += usize::from(device.stood_down);
        self.sum.add(device);
    }

    fn sort(&mut self) {
        most_frequent_first(&mut self.sum.passed_on);
        let latencies = &mut self.sum.latencies;
        latencies.retain(|latency| latency.count > 0);
        latencies.sort_by_key(|latency| std::cmp::Reverse(latency.priority));
        latencies.iter_mut().for_each(|latency| latency.p99_us = p99_us(latency));
    }
}

/// The 99th percentile, if there are enough copies for it.
pub fn p99_us(latency: &LatencyRecord) -> Option<f64> {
    let count = usize::try_from(latency.count).unwrap_or(usize::MAX);
    latency.p99_us.filter(|_| report::carries(count, 0.99))
}

/// All copies of a device that went to the driver unchanged.
pub fn passed_on(device: &DeviceRecord) -> Amount {
    let mut all = Amount::default();
    device.passed_on.iter().for_each(|passed| all.add(Amount { copies: passed.copies, bytes: passed.bytes }));
    all
}

impl CallRecord {
    fn count(&self) -> u64 {
        self.intercepted + self.passed_on
    }
}

fn add_reasons(totals: &mut Vec<ReasonRecord>, passed_on: &[ReasonRecord]) {
    for passed in passed_on {
        let new = || ReasonRecord { reason: passed.reason.clone(), copies: 0, bytes: 0 };
        let total = entry(totals, |total| total.reason == passed.reason, new);
        (total.copies, total.bytes) = (total.copies + passed.copies, total.bytes + passed.bytes);
    }
}

fn most_frequent_first(passed_on: &mut [ReasonRecord]) {
    passed_on.sort_by(|a, b| (b.copies, &a.reason).cmp(&(a.copies, &b.reason)));
}

/// The equal entry, or a new one. The lists are short: devices, priorities, reasons, symbols.
fn entry<T>(list: &mut Vec<T>, same: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> &mut T {
    let at = list.iter().position(same).unwrap_or_else(|| {
        list.push(new());
        list.len() - 1
    });
    &mut list[at]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(text: &str) -> ProcessRecord {
        serde_json::from_str(text).unwrap()
    }

    fn two() -> [ProcessRecord; 2] {
        let first = r#"{"format": 1, "pid": 1, "final": true, "state": "open", "warnings": ["beware"],
            "calls": [{"symbol": "cuMemcpyHtoDAsync_v2", "intercepted": 5, "passed_on": 1}],
            "devices": [{"device": 0, "name": "G", "contexts": 1, "copies": {"urgent": {"copies": 3, "bytes": 30}},
                "passed_on": [{"reason": "capturing", "copies": 1, "bytes": 8}], "rescues": 1, "stood_down": true,
                "latencies": [{"priority": 2, "count": 3, "p50_us": 5.0, "p99_us": 9.0, "max_us": 10.0}]}]}"#;
        let second = r#"{"format": 1, "pid": 2, "state": "open", "warnings": ["beware"],
            "calls": [{"symbol": "cuMemcpyDtoH_v2", "passed_on": 9},
                {"symbol": "cuMemcpyHtoDAsync_v2", "intercepted": 2}],
            "devices": [{"device": 0, "name": "G", "copies": {"urgent": {"copies": 4, "bytes": 40}},
                "passed_on": [{"reason": "pageable", "copies": 7, "bytes": 8}],
                "latencies": [{"priority": 2, "count": 1000, "p50_us": 6.0, "p99_us": 7.0, "max_us": 8.0},
                    {"priority": 5, "count": 1, "p50_us": 3.0, "p99_us": 3.0, "max_us": 3.0}]}]}"#;
        [process(first), process(second)]
    }

    #[test]
    fn counts_add_up() {
        let total = Total::of(&two());
        assert_eq!((total.processes, total.processes_cut_off), (2, 1));
        assert_eq!(total.warnings, [WarningTotal { text: "beware".to_owned(), processes: 2 }]);
        let symbols: Vec<_> = total.calls.iter().map(|call| (call.symbol.as_str(), call.count())).collect();
        assert_eq!(symbols, [("cuMemcpyDtoH_v2", 9), ("cuMemcpyHtoDAsync_v2", 8)]);
        let device = &total.devices[0];
        assert_eq!(device.sum.copies.urgent, Amount { copies: 7, bytes: 70 });
        assert_eq!((device.sum.rescues, device.contexts_stood_down, device.processes), (1, 1, 2));
        assert_eq!(device.sum.passed_on[0].reason, "pageable");
        assert_eq!(passed_on(&device.sum), Amount { copies: 8, bytes: 16 });
    }

    #[test]
    fn percentiles_are_never_made_up() {
        let total = Total::of(&two());
        let [five, two] = total.devices[0].sum.latencies[..] else { panic!("{total:?}") };
        assert_eq!((five.priority, five.p50_us, five.p99_us), (5, Some(3.0), None));
        assert_eq!((two.priority, two.count, two.p50_us, two.p99_us, two.max_us), (2, 1003, None, None, 10.0));
    }

    #[test]
    fn the_most_urgent_copies_are_those_of_all_devices() {
        let device = |device: i32, count: u64, max_us: f64| {
            format!(
                r#"{{"device": {device}, "name": "G", "copies": {{"urgent": {{"copies": {count}}}}}, "latencies": [
                {{"priority": 5, "count": {count}, "p50_us": 4.0, "p99_us": 8.0, "max_us": {max_us:?}}}]}}"#
            )
        };
        let devices = [device(0, 3, 10.0), device(1, 4, 90.0)].join(", ");
        let total = Total::of([&process(&format!(r#"{{"format": 1, "devices": [{devices}]}}"#))]);
        assert!(total.verdict[0].what.ends_with("took 90.0 us at most (of 7 measured)"), "{:?}", total.verdict);
    }

    #[test]
    fn a_process_with_two_contexts_is_one_process() {
        let context =
            r#"{"device": 0, "name": "G", "contexts": 1, "latencies": [{"priority": 2, "count": 1, "p50_us": 1}]}"#;
        let total = Total::of([&process(&format!(r#"{{"format": 1, "devices": [{context}, {context}]}}"#))]);
        assert_eq!((total.devices[0].processes, total.devices[0].sum.contexts), (1, 2));
        assert_eq!(total.devices[0].sum.latencies[0].p50_us, None);
        let sum =
            r#"{"device": 0, "name": "G", "contexts": 5, "latencies": [{"priority": 2, "count": 9, "p50_us": null}]}"#;
        let total = Total::of([&process(&format!(r#"{{"format": 1, "devices": [{sum}]}}"#))]);
        assert_eq!((total.devices[0].sum.contexts, total.devices[0].sum.latencies[0].p50_us), (5, None), "closed ones");
    }

    #[test]
    fn devices_of_different_processes_are_the_same_by_number_and_name() {
        let other = process(r#"{"format": 1, "devices": [{"device": 0, "name": "H"}, {"device": 1, "name": "G"}]}"#);
        let [first, second] = two();
        assert_eq!(Total::of([&first, &second, &other]).devices.len(), 3);
    }
}
