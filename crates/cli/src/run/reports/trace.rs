//! Merges the traces of all processes into one, in the format that Perfetto and chrome://tracing open.
//!
//! Each process writes an array of events with named tracks, and all processes of a machine read the same clock. This
//! file adds the name of each process and, if a file was cut off, its end.

use serde_json::{Value, json};

use super::record::ProcessRecord;

/// The traces as one JSON document, and complaints about unusable ones.
pub fn merge(traces: &[(u32, String)], processes: &[&ProcessRecord]) -> (Value, Vec<String>) {
    let (mut events, mut complaints) = (Vec::new(), Vec::new());
    for (pid, text) in traces {
        let (found, is_whole) = parse(text);
        if !is_whole {
            complaints.push(format!("the trace of process {pid} is cut off: {} of its events are there", found.len()));
        }
        let order = processes.iter().position(|process| process.pid == *pid).unwrap_or(processes.len());
        events.extend(heading(*pid, order, processes.get(order).copied()));
        events.extend(found.into_iter().filter_map(|event| owned_by(event, *pid)));
    }
    let is_missing = |process: &&&ProcessRecord| traces.iter().all(|(pid, _)| *pid != process.pid);
    let missing = processes.iter().filter(is_missing).count();
    if missing > 0 {
        complaints.push(format!("{missing} of {} processes left no trace", processes.len()));
    }
    // Viewers need no order, but readers of the file do: names first, then time.
    events.sort_by(|a, b| time(a).total_cmp(&time(b)));
    (json!({ "displayTimeUnit": "ns", "traceEvents": events }), complaints)
}

fn time(event: &Value) -> f64 {
    if event["ph"] == "M" { f64::NEG_INFINITY } else { event["ts"].as_f64().unwrap_or(0.0) }
}

/// The events that give a viewer the process's name and its place.
fn heading(pid: u32, order: usize, process: Option<&ProcessRecord>) -> [Value; 2] {
    let name = match process {
        Some(process) if !process.command.is_empty() => process.command.join(" "),
        Some(process) if !process.program.is_empty() => process.program.clone(),
        _ => format!("process {pid}"),
    };
    [
        json!({ "ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": { "name": name } }),
        json!({ "ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": { "sort_index": order } }),
    ]
}

/// The events of a text, and whether it is complete. A process that is killed while it writes leaves an array without
/// end. Every event has a line of its own.
fn parse(text: &str) -> (Vec<Value>, bool) {
    match serde_json::from_str(text) {
        Ok(Value::Array(events)) => return (events, true),
        Ok(Value::Object(mut document)) => {
            if let Some(Value::Array(events)) = document.remove("traceEvents") {
                return (events, true);
            }
        }
        _ => {}
    }
    let lines = text.lines().map(|line| line.trim().trim_start_matches('[').trim_end_matches([',', ']']));
    (lines.filter_map(|line| serde_json::from_str(line).ok()).collect(), false)
}

/// The event with the number of this process, which is in the file's name. Events that name the process are dropped,
/// because `heading` makes them.
fn owned_by(mut event: Value, pid: u32) -> Option<Value> {
    let fields = event.as_object_mut()?;
    let names_process =
        ["process_name", "process_sort_index"].iter().any(|name| fields.get("name").is_some_and(|own| own == name));
    if names_process || !fields.contains_key("ph") {
        return None;
    }
    fields.insert("pid".to_owned(), pid.into());
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32) -> ProcessRecord {
        let command = vec!["python".to_owned(), "x.py".to_owned()];
        ProcessRecord { pid, command, ..ProcessRecord::default() }
    }

    const TRACE: &str = r#"[
{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"short"}},
{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"channel h2d 1"}},
{"ph":"X","name":"copy","pid":1,"tid":1,"ts":20.5,"dur":3},
{"ph":"C","name":"h2d semaphore 2","pid":1,"tid":0,"ts":10,"args":{"pending":1}}
]"#;

    #[test]
    fn processes_are_named_and_events_are_in_order() {
        let (first, second) = (process(7), process(8));
        let traces = [(7, TRACE.to_owned()), (9, "[]".to_owned())];
        let (trace, complaints) = merge(&traces, &[&second, &first]);
        assert_eq!(complaints, ["1 of 2 processes left no trace"], "8 has none, 9 no report");
        let events = trace["traceEvents"].as_array().unwrap();
        let named: Vec<_> = events.iter().filter(|event| event["name"] == "process_name").collect();
        assert_eq!(named.len(), 2, "each once: {named:?}");
        assert_eq!((&named[0]["args"]["name"], &named[0]["pid"]), (&json!("python x.py"), &json!(7)));
        assert_eq!(named[1]["args"]["name"], "process 9");
        let kinds: Vec<_> = events.iter().map(|event| event["ph"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["M", "M", "M", "M", "M", "C", "X"]);
        assert!(
            events.iter().take(3).all(|event| event["pid"] == 7),
            "the file's name has the process's number: {events:?}"
        );
    }

    #[test]
    fn a_trace_that_was_cut_off_keeps_its_complete_events() {
        let cut = &TRACE[..TRACE.find("\"dur\"").unwrap()];
        let (trace, complaints) = merge(&[(7, cut.to_owned())], &[]);
        assert_eq!(trace["traceEvents"].as_array().unwrap().len(), 3, "{trace}");
        assert!(complaints[0].contains("2 of its events"), "{complaints:?}");
    }

    #[test]
    fn both_forms_of_a_trace_are_read() {
        assert_eq!(parse(r#"{"traceEvents": [{"ph": "X"}]}"#), (vec![json!({"ph": "X"})], true));
        assert!(!parse(r#"{"other": 1}"#).1);
    }
}
