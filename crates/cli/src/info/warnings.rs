//! Settings that should be changed, with reasons.

use std::collections::BTreeMap;

use console::environment::{MAX_CONNECTIONS, MAX_COPY_CONNECTIONS};
use hal::Code;
use serde::Serialize;

use super::collect::DeviceReport;

/// A trap of this machine, with its cure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    pub what: String,
    pub cure: String,
}

/// With fewer queues than this, the default priorities have to share.
const ENOUGH_QUEUES: usize = 4;

impl Warning {
    /// A trap and its cure.
    pub fn new(what: impl Into<String>, cure: impl Into<String>) -> Warning {
        Warning { what: what.into(), cure: cure.into() }
    }

    /// The software GPU took the place of a real one that was looked for.
    pub fn no_gpu(error: &hal::Error) -> Warning {
        let text = error.to_string();
        let (why, cure) = text.split_once("; ").unwrap_or((&text, "look at nvidia-smi"));
        let what = format!("no GPU was found ({why}): the devices of this report are those of the software GPU");
        Warning::new(what, cure)
    }

    /// The driver has not loaded the copy kernel.
    pub fn no_kernel(ordinal: i32, cuda: &str, error: &hal::Error) -> Warning {
        let needs = overtake::kernel::NEEDS;
        let (why, cure) = match error.code() {
            Code::UNSUPPORTED_PTX_VERSION => {
                (format!("it needs {needs}, and this driver has CUDA {cuda} ({error})"), "update the driver")
            }
            _ => (error.to_string(), "mend what the error names"),
        };
        Warning::new(
            format!("device {ordinal}: no copy kernel: {why}"),
            format!(
                "{cure}; until then the libraries have the copy engine make bulk in chunks, and `overtake run` leaves \
                 bulk to the driver and stages pageable copies"
            ),
        )
    }

    /// A probe that returned an error.
    pub fn probe_failed(ordinal: i32, what: &str, error: &hal::Error) -> Warning {
        Warning::new(
            format!("device {ordinal}: probing {what} failed: {error}"),
            "look at nvidia-smi for other programs and errors, then run `overtake info` again",
        )
    }
}

/// Traps that the environment alone shows.
pub fn environment_warnings(environment: &BTreeMap<String, String>) -> Vec<Warning> {
    let blocking = environment.get("CUDA_LAUNCH_BLOCKING").filter(|value| *value != "0");
    let warning =
        |_| Warning::new("CUDA_LAUNCH_BLOCKING makes every call wait for the device", "unset it outside of debugging");
    blocking.map(warning).into_iter().collect()
}

/// The warning about too few queues, with the variable that causes it.
fn queue_warning(device: &DeviceReport, environment: &BTreeMap<String, String>) -> Option<Warning> {
    let few = device.copy_queues.iter().filter(|map| map.queues < ENOUGH_QUEUES);
    let few: Vec<String> = few.map(|map| format!("{} {}", map.direction, map.queues)).collect();
    if few.is_empty() {
        return None;
    }
    // The variable for copies takes precedence over the general one.
    let setter = [MAX_COPY_CONNECTIONS, MAX_CONNECTIONS]
        .into_iter()
        .find_map(|name| environment.get(name).map(|value| format!(", because {name}={value}")));
    let may_stay = if environment.contains_key(MAX_CONNECTIONS) {
        format!("; {MAX_CONNECTIONS} may stay as it is")
    } else {
        String::new()
    };
    Some(Warning::new(
        format!(
            "device {}: copies have fewer than {ENOUGH_QUEUES} hardware queues ({}){}: a copy that waits holds up \
             those that share its queue",
            device.ordinal,
            few.join(", "),
            setter.unwrap_or_default()
        ),
        format!("set {MAX_COPY_CONNECTIONS}=8 before the program starts{may_stay}"),
    ))
}

/// Traps that the probes have found.
pub fn device_warnings(device: &DeviceReport, environment: &BTreeMap<String, String>) -> Vec<Warning> {
    let ordinal = device.ordinal;
    let mut warnings: Vec<Warning> = queue_warning(device, environment).into_iter().collect();
    for map in device.copy_queues.iter().filter(|map| map.assignment == "irregular") {
        warnings.push(Warning::new(
            format!("device {ordinal}: streams share {} queues by no known rule", map.direction),
            "run `overtake info` on an otherwise idle device; if it stays so, please report it with `info --json`",
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::super::collect::Queues;
    use super::*;

    fn device(queues: usize) -> DeviceReport {
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
            link_gbps: 0,
            stream_priorities: None,
            host_atomics: false,
            copy_queues: vec![map("h2d"), map("d2h")],
        }
    }

    fn set(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn few_queues_are_reported_once_with_their_reason() {
        assert_eq!(device_warnings(&device(4), &set(&[])), []);
        let unexplained = device_warnings(&device(3), &set(&[]));
        assert!(unexplained.len() == 1 && unexplained[0].what.contains("(h2d 3, d2h 3):"), "{unexplained:?}");
        let one = device_warnings(&device(1), &set(&[(MAX_CONNECTIONS, "1")]));
        assert!(one[0].what.contains("because CUDA_DEVICE_MAX_CONNECTIONS=1"), "{one:?}");
        assert!(one[0].cure.starts_with("set CUDA_DEVICE_MAX_COPY_CONNECTIONS=8") && one[0].cure.contains("may stay"));
        let copy = device_warnings(&device(1), &set(&[(MAX_CONNECTIONS, "8"), (MAX_COPY_CONNECTIONS, "1")]));
        assert!(copy[0].what.contains("because CUDA_DEVICE_MAX_COPY_CONNECTIONS=1"), "{copy:?}");
    }

    #[test]
    fn launch_blocking_is_reported_unless_it_is_off() {
        assert_eq!(environment_warnings(&set(&[("CUDA_LAUNCH_BLOCKING", "1")])).len(), 1);
        assert_eq!(environment_warnings(&set(&[("CUDA_LAUNCH_BLOCKING", "0")])), []);
    }
}
