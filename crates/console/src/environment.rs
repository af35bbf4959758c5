//! Environment variables that change measurements.

use std::collections::BTreeMap;

/// Hardware connections of a context: the queues that streams share.
pub const MAX_CONNECTIONS: &str = "CUDA_DEVICE_MAX_CONNECTIONS";
/// Hardware connections for copies.
pub const MAX_COPY_CONNECTIONS: &str = "CUDA_DEVICE_MAX_COPY_CONNECTIONS";

/// The variables that set the number of queues.
pub const CONNECTIONS: [&str; 2] = [MAX_CONNECTIONS, MAX_COPY_CONNECTIONS];

/// Variables of the driver that change timing or visibility. Ours are `OVERTAKE` and all that begin with `OVERTAKE_`.
const DRIVER: [&str; 7] = [
    MAX_CONNECTIONS,
    MAX_COPY_CONNECTIONS,
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_MPS_PIPE_DIRECTORY",
    "CUDA_VISIBLE_DEVICES",
    "LD_PRELOAD",
];

/// Those of ours by which nothing is measured in another way.
const OF_TOOLS: [&str; 2] = ["OVERTAKE_BIN", "OVERTAKE_TOLD"];

/// The relevant variables that are set, with their values.
#[must_use]
pub fn relevant(variables: impl Iterator<Item = (String, String)>) -> BTreeMap<String, String> {
    let is_ours = |name: &str| name == "OVERTAKE" || name.starts_with("OVERTAKE_") && !OF_TOOLS.contains(&name);
    variables.filter(|(name, _)| is_ours(name) || DRIVER.contains(&name.as_str())).collect()
}

/// The process's variables. Bytes that are not Unicode are replaced.
pub fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().map(|(name, value)| (name.to_string_lossy().into(), value.to_string_lossy().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_relevant_variables_are_kept() {
        let all = [
            ("HOME", "/root"),
            ("OVERTAKE", "off"),
            ("OVERTAKE_BACKEND", "soft"),
            ("OVERTAKE_BIN", "target/release"),
            (MAX_CONNECTIONS, "1"),
        ];
        let kept = relevant(all.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(kept.into_keys().collect::<Vec<_>>(), [MAX_CONNECTIONS, "OVERTAKE", "OVERTAKE_BACKEND"]);
    }
}
