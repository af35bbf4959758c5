//! Settings that should be changed, with reasons.

use std::collections::BTreeMap;

use console::environment::{MAX_CONNECTIONS, MAX_COPY_CONNECTIONS};
use hal::Code;
use overtake::options::queues::{COPY_QUEUES, copy_queues_by};
use serde::Serialize;

/// A trap of this machine, with its cure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    pub what: String,
    pub cure: String,
}

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

/// Traps that the environment shows.
pub fn environment_warnings(environment: &BTreeMap<String, String>) -> Vec<Warning> {
    let blocking = environment.get("CUDA_LAUNCH_BLOCKING").filter(|value| *value != "0");
    let warning =
        |_| Warning::new("CUDA_LAUNCH_BLOCKING makes every call wait for the device", "unset it outside of debugging");
    blocking.map(warning).into_iter().chain(queue_warning(environment)).collect()
}

/// The warning about too few copy queues, with the variable that causes it.
fn queue_warning(environment: &BTreeMap<String, String>) -> Option<Warning> {
    let known = copy_queues_by(|name| environment.get(name).cloned());
    let (queues, setter) = known.filter(|(queues, _)| *queues < COPY_QUEUES)?;
    let may_stay = match environment.contains_key(MAX_CONNECTIONS) {
        true => format!("; {MAX_CONNECTIONS} may stay as it is"),
        false => String::new(),
    };
    Some(Warning::new(
        format!(
            "copies have fewer than {COPY_QUEUES} hardware queues ({queues}), by {setter}: a copy that waits holds up \
             those that share its queue"
        ),
        format!("set {MAX_COPY_CONNECTIONS}=8 before the program starts{may_stay}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn few_queues_are_reported_with_their_reason() {
        assert_eq!(environment_warnings(&set(&[])), []);
        assert_eq!(environment_warnings(&set(&[(MAX_CONNECTIONS, "1"), (MAX_COPY_CONNECTIONS, "4")])), []);
        let one = environment_warnings(&set(&[(MAX_CONNECTIONS, "1")]));
        assert!(one[0].what.contains("(1), by CUDA_DEVICE_MAX_CONNECTIONS:"), "{one:?}");
        assert!(one[0].cure.starts_with("set CUDA_DEVICE_MAX_COPY_CONNECTIONS=8") && one[0].cure.contains("may stay"));
        let copy = environment_warnings(&set(&[(MAX_CONNECTIONS, "8"), (MAX_COPY_CONNECTIONS, "3")]));
        assert!(copy[0].what.contains("(3), by CUDA_DEVICE_MAX_COPY_CONNECTIONS:"), "{copy:?}");
        let empty = environment_warnings(&set(&[(MAX_CONNECTIONS, "1"), (MAX_COPY_CONNECTIONS, "")]));
        assert!(empty[0].what.contains("(1), by CUDA_DEVICE_MAX_CONNECTIONS:"), "{empty:?}");
    }

    #[test]
    fn launch_blocking_is_reported_unless_it_is_off() {
        assert_eq!(environment_warnings(&set(&[("CUDA_LAUNCH_BLOCKING", "1")])).len(), 1);
        assert_eq!(environment_warnings(&set(&[("CUDA_LAUNCH_BLOCKING", "0")])), []);
    }
}
