//! Compares a page with the JSON that it is about.

use std::collections::BTreeMap;

use serde_json::Value;

use super::document::{Document, Shown};

/// The parts of a header that stand in the list of the run's origin.
const ORIGIN: [&str; 9] =
    ["version", "commit", "product", "command", "device", "driver", "driver_release", "backend", "environment"];

/// Every value of the JSON that the page does not show, or shows otherwise, and every one that it shows beyond these.
pub fn wrong(json: &Value, document: &Document) -> Vec<String> {
    let runs = match json {
        Value::Array(runs) if runs.iter().all(|run| run.get("ph").is_none()) => runs.clone(),
        other => vec![other.clone()],
    };
    let mut wrong = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        compare_run(run, &(index + 1).to_string(), document, &mut wrong);
    }
    wrong
}

fn compare_run(run: &Value, label: &str, document: &Document, wrong: &mut Vec<String>) {
    let rows = run["rows"].as_array().cloned().unwrap_or_default();
    if document.has_table(&format!("rows-{label}")) == rows.is_empty() {
        wrong.push(format!("run {label} has {} rows", rows.len()));
        return;
    }
    let common = document.list(&format!("common-{label}"));
    for (index, row) in rows.iter().enumerate() {
        let table = document.table(&format!("rows-{label}"));
        if table.rows.len() != rows.len() {
            wrong.push(format!("run {label}: {} rows for {}", table.rows.len(), rows.len()));
        }
        let of_row = table.keys.iter().filter_map(|key| Some((key.clone(), table.cell(index, key)?.clone())));
        let shown: BTreeMap<String, Shown> = common.clone().into_iter().chain(of_row).collect();
        compare(&format!("run {label}, row {}", index + 1), &values(row, &["latency_steps_ns", "slow"]), &shown, wrong);
    }
    let mut whole = values(&run["header"], &ORIGIN);
    whole.extend(values(run, &["header", "rows", "traceEvents"]));
    compare(&format!("run {label}"), &whole, &document.list(&format!("whole-{label}")), wrong);
}

/// All values of an object but for those that were not measured.
fn values(object: &Value, hidden: &[&str]) -> BTreeMap<String, Value> {
    let mut values = BTreeMap::new();
    for (key, value) in object.as_object().into_iter().flatten().filter(|(key, _)| !hidden.contains(&key.as_str())) {
        match value {
            Value::Null => {}
            Value::Object(_) => {
                let inner = self::values(value, &[]).into_iter();
                values.extend(inner.map(|(name, value)| (format!("{key}.{name}"), value)));
            }
            other => drop(values.insert(key.clone(), other.clone())),
        }
    }
    values
}

fn compare(place: &str, values: &BTreeMap<String, Value>, shown: &BTreeMap<String, Shown>, wrong: &mut Vec<String>) {
    for (key, value) in values {
        match shown.get(key) {
            None => wrong.push(format!("{place}: {key} = {value} is not shown")),
            Some(shown) if !agree(value, shown) => wrong.push(format!("{place}: {key} = {value} shows as {shown:?}")),
            Some(_) => {}
        }
    }
    let beyond = shown.iter().filter(|(key, _)| !values.contains_key(*key));
    wrong.extend(beyond.map(|(key, shown)| format!("{place}: {key} is shown as {shown:?}, and is not in the JSON")));
}

fn agree(value: &Value, shown: &Shown) -> bool {
    match value {
        Value::Number(number) => {
            let exact = shown.exact.as_ref().and_then(|exact| exact.parse::<f64>().ok());
            exact == number.as_f64()
                && rounded(&shown.text)
                    .is_some_and(|(text, half)| (text - number.as_f64().unwrap()).abs() <= half * (1.0 + 1e-9))
        }
        Value::Bool(flag) => shown.text == if *flag { "yes" } else { "no" },
        Value::String(text) => shown.text == *text,
        Value::Array(values) => values.iter().all(|value| match value {
            Value::String(text) => shown.text.contains(text),
            other => shown.text.contains(&other.to_string()),
        }),
        Value::Null | Value::Object(_) => false,
    }
}

/// A number as a reader sees it, and half of its last digit.
fn rounded(text: &str) -> Option<(f64, f64)> {
    let (number, unit) = text.split_once(' ').unwrap_or((text, "B"));
    let place = ["B", "KiB", "MiB", "GiB", "TiB"].iter().position(|name| *name == unit)?;
    let unit = 1024_f64.powi(i32::try_from(place).ok()?);
    let decimals = number.split_once('.').map_or(0, |(_, digits)| digits.len());
    let half = 0.5 * 10_f64.powi(-i32::try_from(decimals).ok()?);
    Some((number.replace(',', "").parse::<f64>().ok()? * unit, half * unit))
}
