//! Takes the JSON of runs apart.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::own::{Own, own};
use crate::trace::Trace;
use crate::{BenchRow, Header, ProgramRow};

/// A run of a file.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The file's name, and its place in there if the file has several.
    pub name: String,
    /// The origin. A trace by itself has none.
    pub header: Option<Header>,
    /// The measurements, field by field.
    pub rows: Vec<Map<String, Value>>,
    /// All other members, but for the trace.
    pub rest: Map<String, Value>,
    /// The trace that the run has kept.
    pub trace: Option<Trace>,
    /// The report of a program, where the run is one.
    pub own: Option<Own>,
    pub(super) drawn: Vec<Drawn>,
}

/// A row as figures need it.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    pub(super) row: BenchRow,
    pub(super) is_beside_bulk: bool,
}

/// The runs of a file's text, which is one run or a list of them.
///
/// # Errors
/// The text is no JSON, or no run: the reason.
pub fn read(name: &str, text: &str) -> Result<Vec<Stored>, String> {
    let json: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON ({error})"))?;
    let runs = match json {
        Value::Object(run) => vec![one(name.to_owned(), run)?],
        Value::Array(events) if events.iter().any(|event| event.get("ph").is_some()) => {
            let trace = Value::Array(events);
            vec![one(name.to_owned(), [("traceEvents".to_owned(), trace)].into_iter().collect())?]
        }
        Value::Array(runs) => {
            let count = runs.len();
            let each = |(index, run): (usize, Value)| match run {
                Value::Object(run) => one(format!("{name}, {} of {count}", index + 1), run)
                    .map_err(|why| format!("in its run {}, {why}", index + 1)),
                other => Err(format!("its run {} is {}, not an object", index + 1, kind(&other))),
            };
            runs.into_iter().enumerate().map(each).collect::<Result<Vec<_>, _>>()?
        }
        other => return Err(format!("it is {}, not a run", kind(&other))),
    };
    if runs.is_empty() { Err("it is an empty list".to_owned()) } else { Ok(runs) }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn typed<T: DeserializeOwned>(value: &Value, place: &str) -> Result<T, String> {
    serde_json::from_value(value.clone()).map_err(|error| format!("{place} cannot be read ({error})"))
}

fn one(name: String, mut run: Map<String, Value>) -> Result<Stored, String> {
    let events = run.remove("traceEvents").filter(|events| events.as_array().is_none_or(|all| !all.is_empty()));
    let trace = events.map(|events| Trace::read(&events.to_string())).transpose()?;
    let own = own(&mut run).transpose()?;
    // A word for the viewers of a trace.
    run.remove("displayTimeUnit");
    let header = match run.get("header") {
        Some(header) => Some(typed::<Header>(header, "its `header`")?),
        None if own.is_some() => None,
        None if trace.is_some() => None,
        None => return Err("it has no `header`".to_owned()),
    };
    let rows = match run.remove("rows") {
        Some(Value::Array(rows)) => rows,
        Some(other) => return Err(format!("its `rows` are {}, not a list", kind(&other))),
        None if header.is_none() => Vec::new(),
        None => return Err("it has no `rows`".to_owned()),
    };
    let object = |(index, row): (usize, Value)| match row {
        Value::Object(row) => Ok(row),
        other => Err(format!("its row {} is {}, not an object", index + 1, kind(&other))),
    };
    let rows = rows.into_iter().enumerate().map(object).collect::<Result<Vec<_>, _>>()?;
    let drawn = rows.iter().enumerate().filter_map(|(index, row)| drawn(index, row).transpose());
    let drawn = drawn.collect::<Result<Vec<Drawn>, String>>()?;
    Ok(Stored { name, header, rows, rest: run, trace, own, drawn })
}

/// The row as figures need it, if it is of a kind that has figures.
fn drawn(index: usize, row: &Map<String, Value>) -> Result<Option<Drawn>, String> {
    let (value, place) = (Value::Object(row.clone()), format!("its row {}", index + 1));
    if row.contains_key("method") && row.contains_key("direction") {
        let row: BenchRow = typed(&value, &place)?;
        return Ok(Some(Drawn { is_beside_bulk: row.bulk_bytes > 0, row }));
    }
    let is_program = ["case", "mode", "phase"].iter().all(|name| row.contains_key(*name));
    Ok(if is_program { Some(of_program(typed(&value, &place)?)) } else { None })
}

/// The row of a program as one of a bench: its case in the place of a direction.
fn of_program(row: ProgramRow) -> Drawn {
    let is_beside_bulk = row.phase == "loaded";
    let row = BenchRow {
        method: if is_beside_bulk { row.mode } else { format!("{}, {}", row.mode, row.phase) },
        direction: row.case,
        samples: row.samples,
        p50_us: row.p50_us,
        p99_us: row.p99_us,
        max_us: row.max_us,
        bulk_gbps: row.bulk_gbps,
        raw_gbps: row.bulk_alone_gbps,
        latencies_ns: row.latencies_ns,
        ..BenchRow::default()
    };
    Drawn { row, is_beside_bulk }
}
