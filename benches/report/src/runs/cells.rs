//! Values of JSON as cells of a table: rounded for a reader, and exact for a program.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use crate::format;
use crate::svg::escape;

/// A value that was measured, or that names a measurement.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Number(Number),
    Words(String),
}

/// Digits of a number that a reader sees.
const DIGITS: i32 = 4;
/// More digits than this behind the point are noise.
const DECIMALS_MAX: i32 = 9;
/// Keys in the order of columns; others follow by name.
const FIRST: [&str; 31] = [
    "program",
    "client",
    "test",
    "case",
    "direction",
    "method",
    "mode",
    "phase",
    "setting",
    "priority",
    "high_bytes",
    "bulk_bytes",
    "samples",
    "p50_us",
    "p90_us",
    "p99_us",
    "max_us",
    "enqueue_p50_us",
    "idle_p50_us",
    "idle_p99_us",
    "bulk_gbps",
    "raw_gbps",
    "bulk_alone_gbps",
    "due",
    "missed",
    "deadline_us",
    "ratio.median",
    "ratio.least",
    "ratio.most",
    "call_ns",
    "chunk_bytes",
];

/// All values of an object by their keys, in order. The keys of inner objects have a dot; values that were not measured
/// are left out.
pub(super) fn flatten(object: &Map<String, Value>, hidden: &[&str]) -> Vec<(String, Cell)> {
    let mut cells = Vec::new();
    for (key, value) in object.iter().filter(|(key, _)| !hidden.contains(&key.as_str())) {
        add(key.clone(), value, &mut cells);
    }
    cells
}

fn add(key: String, value: &Value, cells: &mut Vec<(String, Cell)>) {
    let cell = match value {
        Value::Null => return,
        Value::Number(number) => Cell::Number(number.clone()),
        Value::String(text) => Cell::Words(text.clone()),
        Value::Bool(flag) => Cell::Words(if *flag { "yes" } else { "no" }.to_owned()),
        Value::Object(inner) => {
            return inner.iter().for_each(|(name, value)| add(format!("{key}.{name}"), value, cells));
        }
        Value::Array(values) => Cell::Words(values.iter().map(listed).collect::<Vec<_>>().join("; ")),
    };
    cells.push((key, cell));
}

fn listed(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Every key of the rows, in the order of columns.
pub(super) fn keys(rows: &[Vec<(String, Cell)>]) -> Vec<String> {
    let all: BTreeSet<&String> = rows.iter().flatten().map(|(key, _)| key).collect();
    let mut keys: Vec<String> = all.into_iter().cloned().collect();
    keys.sort_by_key(|key| FIRST.iter().position(|first| first == key).unwrap_or(FIRST.len()));
    keys
}

/// The name of a key for a reader.
pub(super) fn label(key: &str) -> String {
    key.replace('_', " ")
}

impl Cell {
    /// A figure that was calculated.
    pub(super) fn of(value: f64) -> Cell {
        Number::from_f64(value).map_or_else(|| Cell::Words("-".to_owned()), Cell::Number)
    }

    /// As HTML. A number carries its exact value; a reader sees a few digits of it.
    pub(super) fn to_html(&self, key: &str) -> String {
        match self {
            Cell::Words(text) => escape(text),
            Cell::Number(number) => format!("<data value=\"{number}\">{}</data>", shown(key, number)),
        }
    }
}

fn shown(key: &str, number: &Number) -> String {
    if let Some(bytes) = number.as_u64().filter(|_| key.rsplit(['.', '_']).next() == Some("bytes")) {
        return format::size(bytes);
    }
    let value = number.as_f64().unwrap_or(f64::NAN);
    if number.is_f64() && value != 0.0 { few_digits(value) } else { format::grouped(value, 0) }
}

/// A number in [`DIGITS`] digits, or more where it has more before the point.
fn few_digits(value: f64) -> String {
    let before = value.abs().log10().floor() as i32 + 1;
    format::grouped(value, (DIGITS - before).clamp(0, DECIMALS_MAX) as usize)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn objects_become_keys_with_dots_and_null_becomes_nothing() {
        let row = object(json!({"method": "x", "drops": {"late": 3}, "p50_us": null, "ok": true, "values": [1.5, 2]}));
        let cells = flatten(&row, &["method"]);
        let keys: Vec<&str> = cells.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["drops.late", "ok", "values"]);
        assert_eq!(cells[1].1, Cell::Words("yes".into()));
        assert_eq!(cells[2].1, Cell::Words("1.5; 2".into()));
    }

    #[test]
    fn readers_see_few_digits_and_programs_all() {
        let html = |key: &str, value: Value| Cell::Number(value.as_number().unwrap().clone()).to_html(key);
        assert_eq!(html("p50_us", json!(12.725_93)), r#"<data value="12.72593">12.73</data>"#);
        assert_eq!(html("p50_us", json!(8453.91)), r#"<data value="8453.91">8,454</data>"#);
        assert_eq!(html("share", json!(0.001_234_56)), r#"<data value="0.00123456">0.001235</data>"#);
        assert_eq!(html("bulk_bytes", json!(268_435_456_u64)), r#"<data value="268435456">256 MiB</data>"#);
        assert_eq!(html("samples", json!(u64::MAX)).len(), r#"<data value=""></data>"#.len() + 20 + 26);
        assert_eq!(html("zero", json!(0.0)), r#"<data value="0.0">0</data>"#);
    }

    #[test]
    fn columns_have_an_order() {
        let row = object(json!({"zeal": 1, "p50_us": 1, "direction": "h2d", "alone": 1}));
        assert_eq!(keys(&[flatten(&row, &[])]), ["direction", "p50_us", "alone", "zeal"]);
    }
}
