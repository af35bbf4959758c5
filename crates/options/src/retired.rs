//! Retired options. Setting one has no effect and is not an error; a message names its successor.

/// The names, by their successor or the reason why they have none.
const RETIRED: &[(&[&str], &str)] = &[
    (&["demand_burst_bytes", "demand_gbps"], "demand, such as demand=16M@6, has both numbers"),
    (&["transport"], "wait_budget_us=60 leaves bulk to the copy engine, and enabled=off all copies to the driver"),
    (&["whole_bulk", "urgent_transport"], "wait_budget_us=60 leaves bulk whole, and has urgent copies go by kernel"),
    (&["emulation"], "Profile::emulating, of the Rust library, has the emulations"),
    (&["channels"], "they belong to the Rust library, and the drop-in has none"),
    (
        &["lull", "calm_after_us", "calm_bytes_max"],
        "the drop-in and the C library have their own values, and the Rust library has none",
    ),
    (&["max_blocking_us"], "chunks have the measured length, and a pipeline's tolerance gives them another"),
    (&["guard_bytes_min"], "the drop-in guards every copy kernel; a Rust program takes Profile::DROP_IN"),
    (&["peer_transport"], "peer_gbps=RATE alone gives copies between devices their priorities, where it is set"),
    (
        &["on_device_transport", "on_device_gbps", "on_device_blocks", "on_device_warps"],
        "copies on one device are left to the driver, whose own priorities nearly suffice",
    ),
    (&["staging_slots"], "staging_threads=N gives four slots for each thread"),
    (
        &[
            "peer_blocks",
            "peer_warps",
            "gate_bytes_min",
            "kernel_bytes_min",
            "kernel_blocks_h2d",
            "kernel_blocks_d2h",
            "kernel_warps_h2d",
            "kernel_warps_d2h",
            "kernel_wait_max_us",
            "load_first_kernels_max",
            "bulk_share",
            "bulk_slice_us",
            "staging_bytes_min",
            "rescues_max",
            "ticket_every",
            "watcher_awake_us",
            "watcher_nap_us",
            "monitor_awake_us",
            "monitor_nap_us",
        ],
        "the layer has the measured value",
    ),
];

/// The successor of a retired option, or the reason why it has none.
pub(crate) fn successor(name: &str) -> Option<&'static str> {
    RETIRED.iter().find(|(names, _)| names.contains(&name)).map(|(_, why)| *why)
}

/// The message about a retired option.
#[must_use]
pub fn retired(name: &str) -> Option<String> {
    successor(name).map(|why| format!("option {name} is retired, and has no effect: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunable::TUNABLES;

    #[test]
    fn a_retired_name_is_no_option_and_its_successor_is_one() {
        let is_option = |name: &str| TUNABLES.iter().any(|tunable| tunable.name == name);
        for (names, why) in RETIRED {
            let successor = why.split_whitespace().find_map(|word| word.split_once('=')).map(|(name, _)| name);
            assert!(successor.is_none_or(is_option), "{why}");
            for name in *names {
                assert!(!is_option(name), "{name} is an option still");
                assert!(retired(name).is_some_and(|said| said.contains(why)));
            }
        }
        assert_eq!(retired("trace"), None);
        assert_eq!(RETIRED.iter().map(|(names, _)| names.len()).sum::<usize>(), 35 + 2, "and two older names");
    }
}
