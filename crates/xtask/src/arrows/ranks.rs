//! The crates, from the lowest rank to the highest: each depends on crates of lower ranks only.

use std::collections::BTreeMap;

use toml::{Table, Value};

/// A crate of the workspace, and its rank. Crates of one rank do not know each other.
const RANKS: [(&str, u8); 37] = [
    ("overtake-priority", 0),
    ("overtake-os", 0),
    ("overtake-report", 0),
    ("overtake-stages", 0),
    ("overtake-hal", 1),
    ("overtake-pages", 1),
    ("overtake-abi", 2),
    ("overtake-contexts", 2),
    ("overtake-graph", 2),
    ("overtake-semaphores", 2),
    ("overtake-softgpu", 2),
    ("overtake-threads", 2),
    ("overtake-channels", 3),
    ("overtake-workloads", 3),
    ("overtake-driver", 4),
    ("overtake-options", 4),
    ("overtake-softgpu-libcuda", 4),
    ("overtake-copies", 5),
    ("overtake-backend", 5),
    ("overtake-plan", 5),
    ("overtake-memory", 6),
    ("overtake-testkit", 6),
    ("overtake-profile", 7),
    ("overtake-tasks", 7),
    ("overtake-arrays", 8),
    ("overtake-pipelines", 8),
    ("overtake-feed", 9),
    ("overtake", 10),
    ("overtake-shim", 10),
    ("overtake-preload", 11),
    ("overtake-capi", 11),
    ("overtake-console", 11),
    ("overtake-measure", 12),
    ("overtake-bench", 13),
    ("overtake-hunt", 13),
    ("overtake-cli", 14),
    ("overtake-xtask", 15),
];

/// Crates that depend on these only.
const STANDS_ON: [(&str, &[&str]); 7] = [
    ("overtake-graph", &["overtake-priority"]),
    ("overtake-stages", &[]),
    ("overtake-plan", &["overtake-graph", "overtake-hal", "overtake-options", "overtake-priority"]),
    ("overtake-softgpu", &["overtake-hal", "overtake-os", "overtake-abi"]),
    (
        "overtake-softgpu-libcuda",
        &["overtake-hal", "overtake-os", "overtake-abi", "overtake-softgpu", "overtake-workloads"],
    ),
    ("overtake-backend", &["overtake-hal", "overtake-driver", "overtake-softgpu"]),
    ("overtake-xtask", &["overtake-abi", "overtake-pages"]),
];

/// Crates that only these depend on: no other build contains the software GPU. Tests and examples may use them.
const CARRIES: [(&str, &[&str]); 3] = [
    (
        "overtake-softgpu",
        &[
            "overtake-softgpu-libcuda",
            "overtake-backend",
            "overtake-workloads",
            "overtake-testkit",
            "overtake-console",
            "overtake-measure",
            "overtake-hunt",
            "overtake-cli",
        ],
    ),
    ("overtake-backend", &["overtake-console", "overtake-cli"]),
    ("overtake-softgpu-libcuda", &[]),
];

/// All mistakes in the dependencies of these `Cargo.toml`; that of the root is `Cargo.toml`.
pub fn check(manifests: &BTreeMap<String, String>) -> Result<Vec<String>, String> {
    let mut parsed = BTreeMap::new();
    for (file, text) in manifests {
        let table: Table = text.parse().map_err(|error| format!("{file}: {error}\n"))?;
        parsed.insert(file.as_str(), table);
    }
    let shared = parsed.get("Cargo.toml").and_then(|root| root.get("workspace")).and_then(|it| it.get("dependencies"));
    let shared = shared.and_then(Value::as_table).cloned().unwrap_or_default();
    let mut wrong = Vec::new();
    let mut absent: Vec<&str> = RANKS.iter().map(|(name, _)| *name).collect();
    for (file, manifest) in &parsed {
        let name = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
        let Some(name) = name else { continue };
        // It is a workspace of its own, for a test.
        if *file != "Cargo.toml" && manifest.contains_key("workspace") {
            continue;
        }
        absent.retain(|absent| *absent != name);
        for (key, dependency) in dependencies(manifest, &shared) {
            let line = manifests[*file].lines().position(|line| line.starts_with(&key)).map_or(1, |line| line + 1);
            wrong.extend(judge(name, &dependency).map(|why| format!("{file}:{line}: {why}")));
        }
        if rank(name).is_none() {
            wrong.push(format!("{file}:1: {name} has no rank: give it one in crates/xtask/src/arrows/ranks.rs"));
        }
    }
    wrong.extend(absent.iter().map(|name| format!("crates/xtask/src/arrows/ranks.rs:1: there is no crate {name}")));
    Ok(wrong)
}

fn rank(name: &str) -> Option<u8> {
    RANKS.iter().find(|(crate_name, _)| *crate_name == name).map(|(_, rank)| *rank)
}

/// The dependencies of a crate's build: the key, and the name of the package. Dependencies of tests are not among
/// them.
fn dependencies(manifest: &Table, shared: &Table) -> Vec<(String, String)> {
    let mut tables = vec![manifest];
    let targets = manifest.get("target").and_then(Value::as_table);
    tables.extend(targets.into_iter().flat_map(Table::values).filter_map(Value::as_table));
    let mut found = Vec::new();
    for table in tables {
        for kind in ["dependencies", "build-dependencies"] {
            for (key, value) in table.get(kind).and_then(Value::as_table).into_iter().flatten() {
                let is_shared = value.get("workspace").is_some();
                let value = shared.get(key).filter(|_| is_shared).unwrap_or(value);
                let package = value.get("package").and_then(Value::as_str).unwrap_or(key);
                found.push((key.clone(), package.to_owned()));
            }
        }
    }
    found
}

/// The reason why a crate may not depend on another. Other people's crates have no rank.
fn judge(name: &str, dependency: &str) -> Option<String> {
    let (own, its) = (rank(name)?, rank(dependency)?);
    let listed = |list: &[(&str, &'static [&'static str])], of: &str| {
        list.iter().find(|(crate_name, _)| *crate_name == of).map(|(_, names)| *names)
    };
    if its >= own {
        return Some(format!("{name} (rank {own}) stands on {dependency} (rank {its}): an arrow that runs up"));
    }
    if let Some(allowed) = listed(&STANDS_ON, name).filter(|allowed| !allowed.contains(&dependency)) {
        return Some(format!("{name} stands on {dependency}: only {} may carry it", allowed.join(", ")));
    }
    if let Some(allowed) = listed(&CARRIES, dependency).filter(|allowed| !allowed.contains(&name)) {
        let others = if allowed.is_empty() { "no crate".to_owned() } else { allowed.join(", ") };
        return Some(format!("{name} stands on {dependency}: outside tests and examples {others} may"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings for one crate with these dependencies.
    fn found(name: &str, dependencies: &str) -> Vec<String> {
        let shared = "[workspace.dependencies]\nchannels = { package = \"overtake-channels\", path = \"channels\" }\n\
                      backend = { package = \"overtake-backend\", path = \"crates/backend\" }\n\
                      semaphores = { package = \"overtake-semaphores\", path = \"semaphores\" }\n";
        let manifest = format!("[package]\nname = \"{name}\"\n{dependencies}\n");
        let manifests = [("Cargo.toml".to_owned(), shared.to_owned()), ("crates/a/Cargo.toml".to_owned(), manifest)];
        let wrong = check(&manifests.into()).unwrap();
        wrong.into_iter().filter(|wrong| !wrong.contains("there is no crate")).collect()
    }

    #[test]
    fn an_arrow_that_runs_up_is_found_and_one_that_runs_down_is_not() {
        let up = found("overtake-semaphores", "[dependencies]\nlibc = \"0.2\"\nchannels.workspace = true");
        let expected = "crates/a/Cargo.toml:5: overtake-semaphores (rank 2) stands on overtake-channels (rank 3): an \
                        arrow that runs up";
        assert_eq!(up, [expected]);
        assert_eq!(found("overtake-channels", "[dependencies]\nsemaphores.workspace = true"), [""; 0]);
        let hidden = "[target.'cfg(unix)'.build-dependencies]\nx = { package = \"overtake-copies\", path = \"..\" }";
        assert_eq!(found("overtake-channels", hidden).len(), 1);
    }

    #[test]
    fn tests_may_use_crates_of_higher_rank() {
        assert_eq!(found("overtake-copies", "[dev-dependencies]\nbackend.workspace = true"), [""; 0]);
    }

    #[test]
    fn only_the_command_chooses_a_driver() {
        assert_eq!(found("overtake-cli", "[dependencies]\nbackend.workspace = true"), [""; 0]);
        for name in ["overtake", "overtake-shim", "overtake-preload", "overtake-capi"] {
            let wrong = found(name, "[dependencies]\nbackend.workspace = true");
            assert!(
                wrong[0].ends_with("outside tests and examples overtake-console, overtake-cli may"),
                "{name}: {wrong:?}"
            );
        }
        let soft = "[dependencies]\nsoftgpu = { package = \"overtake-softgpu\" }";
        assert_eq!(found("overtake-copies", soft).len(), 1);
    }

    #[test]
    fn the_software_gpu_stands_on_the_seam_alone() {
        let wrong = found("overtake-softgpu", "[dependencies]\nreport = { package = \"overtake-report\" }");
        assert_eq!(wrong.len(), 1);
        let wrong = found("overtake-softgpu-libcuda", "[dependencies]\nsemaphores.workspace = true");
        assert!(wrong[0].contains("stands on overtake-semaphores"), "{wrong:?}");
    }

    #[test]
    fn every_crate_has_a_rank_and_every_rank_a_crate() {
        assert!(found("overtake-loft", "")[0].contains("overtake-loft has no rank"));
        let missing = check(&BTreeMap::new()).unwrap();
        assert_eq!(missing.len(), RANKS.len());
    }
}
