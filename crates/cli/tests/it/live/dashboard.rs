//! The dashboard for Grafana asks for metrics that `overtake metrics` exports, and for labels that these have.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{exposition, written};

const DASHBOARD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/grafana/overtake.json");

/// The queries of all panels and variables, by the title of their panel.
fn queries(dashboard: &Value) -> Vec<(String, String)> {
    let panels = dashboard["panels"].as_array().unwrap();
    let of_panel = |panel: &Value| {
        let title = panel["title"].as_str().unwrap().to_owned();
        let targets = panel["targets"].as_array().cloned().unwrap_or_default();
        targets.into_iter().map(move |target| (title.clone(), target["expr"].as_str().unwrap().to_owned()))
    };
    let variables = dashboard["templating"]["list"].as_array().unwrap().iter().filter_map(|variable| {
        Some((variable["name"].as_str()?.to_owned(), variable["query"]["query"].as_str()?.to_owned()))
    });
    panels.iter().flat_map(of_panel).chain(variables).collect()
}

/// The words of a query outside quotation marks.
fn words(query: &str) -> Vec<String> {
    let unquoted: Vec<&str> = query.split('"').step_by(2).collect();
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || "_$:".contains(letter);
    unquoted
        .join(" ")
        .split(|letter: char| !is_word(letter))
        .map(str::to_owned)
        .filter(|word| !word.is_empty())
        .collect()
}

const LANGUAGE: [&str; 10] = [
    "sum",
    "by",
    "rate",
    "max",
    "histogram_quantile",
    "increase",
    "label_values",
    "$__rate_interval",
    "le",
    "max_over_time",
];

#[test]
fn every_query_asks_for_what_is_exported() {
    let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(DASHBOARD).unwrap()).unwrap();
    let samples = exposition::read(&written::metrics());
    let mut exported = BTreeMap::<&str, BTreeSet<&str>>::new();
    for (name, labels) in samples.keys() {
        exported.entry(name).or_default().extend(labels.keys().map(String::as_str));
    }
    // The software GPU has no link that the system knows.
    let of_processes = exported["overtake_stood_down"].clone();
    exported.insert("overtake_link_limit_bytes_per_second", of_processes);
    let (queries, mut asked) = (queries(&dashboard), BTreeSet::new());
    assert!(queries.len() >= 8, "{queries:?}");
    for (title, query) in &queries {
        let words = words(query);
        let metrics: Vec<&String> = words.iter().filter(|word| word.starts_with("overtake_")).collect();
        assert!(!metrics.is_empty(), "{title}: {query}");
        let labels: BTreeSet<&str> = metrics
            .iter()
            .flat_map(|name| exported.get(name.as_str()).unwrap_or_else(|| panic!("{title}: {name} is not exported")))
            .copied()
            .collect();
        asked.extend(metrics.iter().map(|name| name.as_str().to_owned()));
        for word in words.iter().filter(|word| !word.starts_with("overtake_")) {
            let is_number = word.chars().all(|letter| letter.is_ascii_digit());
            let is_known = is_number || LANGUAGE.contains(&word.as_str()) || labels.contains(word.as_str());
            assert!(is_known, "{title}: {word} is no label of {metrics:?} in {query}");
        }
    }
    for name in ["overtake_copy_bytes_total", "overtake_copy_wait_seconds_bucket", "overtake_stand_downs_total"] {
        assert!(asked.contains(name), "no panel shows {name}");
    }
}
