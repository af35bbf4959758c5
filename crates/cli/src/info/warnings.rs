//! What to set differently, and why.

use serde::Serialize;

use super::collect::DeviceReport;
use crate::environment::{MAX_CONNECTIONS, MAX_COPY_CONNECTIONS};

/// A trap of this machine, with its cure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// What is the matter.
    pub what: String,
    /// What to do about it.
    pub cure: String,
}

/// Fewer queues than this, and the default priorities have to share.
const ENOUGH_QUEUES: usize = 4;

impl Warning {
    fn new(what: impl Into<String>, cure: impl Into<String>) -> Warning {
        Warning { what: what.into(), cure: cure.into() }
    }

    /// A probe that came back with an error.
    pub fn probe_failed(ordinal: i32, what: &str, error: &hal::Error) -> Warning {
        Warning::new(
            format!("device {ordinal}: probing {what} failed: {error}"),
            "look at nvidia-smi for other programs and errors, then run `overtake info` again",
        )
    }
}

/// Traps that the environment alone shows.
pub fn environment_warnings() -> Vec<Warning> {
    connection_warnings(std::env::var(MAX_CONNECTIONS).ok(), std::env::var(MAX_COPY_CONNECTIONS).ok())
        .into_iter()
        .chain(std::env::var("CUDA_LAUNCH_BLOCKING").ok().filter(|value| value != "0").map(|_| {
            Warning::new("CUDA_LAUNCH_BLOCKING makes every call wait for the device", "unset it outside of debugging")
        }))
        .collect()
}

fn connection_warnings(connections: Option<String>, copy_connections: Option<String>) -> Option<Warning> {
    (connections.as_deref() == Some("1") && copy_connections.is_none()).then(|| {
        Warning::new(
            format!("{MAX_CONNECTIONS}=1 leaves all streams one copy queue: a copy that waits holds up every other"),
            format!("keep it if your program needs it, and set {MAX_COPY_CONNECTIONS}=8 beside it"),
        )
    })
}

/// Traps that the probes have found.
pub fn device_warnings(device: &DeviceReport) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let ordinal = device.ordinal;
    for map in device.copy_queues.iter().filter(|map| map.queues < ENOUGH_QUEUES) {
        let (direction, queues) = (map.direction, map.queues);
        warnings.push(Warning::new(
            format!("device {ordinal}: {direction} copies have {queues} hardware queue(s), fewer than {ENOUGH_QUEUES}"),
            format!("set {MAX_COPY_CONNECTIONS}=8 before the program starts; until then priorities share queues"),
        ));
    }
    for map in device.copy_queues.iter().filter(|map| map.assignment == "irregular") {
        warnings.push(Warning::new(
            format!("device {ordinal}: streams share {} queues by no known rule", map.direction),
            "run `overtake info` on an otherwise idle device; if it stays so, please report it with `info --json`",
        ));
    }
    if let Some(operations) = &device.memory_operations {
        if !operations.has("wait32-eq") || !operations.has("write32") {
            warnings.push(Warning::new(
                format!("device {ordinal}: 32-bit stream memory operations do not work: copies cannot be prioritised"),
                "update the driver to 525 or newer; on Windows and in some virtual machines they are switched off",
            ));
        } else if !operations.has("wait64-eq") || !operations.has("write64") {
            warnings.push(Warning::new(
                format!("device {ordinal}: there are no 64-bit stream memory operations"),
                "nothing to do: 32-bit ones are used; programs of your own must do the same",
            ));
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::super::collect::Queues;
    use super::super::memops::MemOps;
    use super::*;

    fn device(queues: usize, operations: &[(&str, &str)]) -> DeviceReport {
        let map = |direction| Queues {
            direction,
            queues,
            may_have_more: false,
            streams: 16,
            assignment: "by-use",
            avoids_waiting: true,
            streams_by_queue: vec![],
        };
        DeviceReport {
            ordinal: 0,
            name: String::new(),
            uuid: String::new(),
            memory_bytes: 0,
            compute_capability: String::new(),
            multiprocessors: 0,
            copy_engines: 0,
            stream_priorities: None,
            host_atomics: false,
            memory_operations: Some(MemOps::of(operations)),
            copy_queues: vec![map("h2d"), map("d2h")],
        }
    }

    const ALL: [(&str, &str); 4] =
        [("wait32-eq", "works"), ("write32", "works"), ("wait64-eq", "works"), ("write64", "works")];

    #[test]
    fn one_connection_is_cured_by_copy_connections() {
        let one = Some("1".to_owned());
        assert!(connection_warnings(one.clone(), None).unwrap().cure.contains("CUDA_DEVICE_MAX_COPY_CONNECTIONS=8"));
        assert_eq!(connection_warnings(one, Some("8".to_owned())), None);
        assert_eq!(connection_warnings(Some("32".to_owned()), None), None);
    }

    #[test]
    fn few_queues_are_reported_for_each_direction() {
        assert_eq!(device_warnings(&device(4, &ALL)), []);
        assert_eq!(device_warnings(&device(3, &ALL)).len(), 2);
    }

    #[test]
    fn missing_operations_are_reported_once() {
        assert_eq!(device_warnings(&device(4, &ALL[..2])).len(), 1);
        let nothing = device_warnings(&device(4, &[("write32", "refused: cuStreamWriteValue32 failed")]));
        assert!(nothing.len() == 1 && nothing[0].what.contains("cannot be prioritised"), "{nothing:?}");
    }
}
