//! One's own program: the JSON of `overtake run --json`, and of `--compare`.

use serde::Deserialize;
use serde_json::{Map, Number, Value};

use super::cells::Cell;
use super::table::{Column, Grid};
use crate::svg::escape;
use crate::trace::Beside;

/// A sentence of the verdict, and what to try.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// The sentence.
    pub what: String,
    /// A remedy.
    #[serde(rename = "try")]
    pub cure: Option<String>,
}

/// What a page tells of a program's run first.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Own {
    /// The program with its arguments.
    pub command: Vec<String>,
    total: Total,
    /// Of a comparison: what was seen of the native runs.
    native: Option<Observed>,
    help: Option<Finding>,
    /// Why no process used CUDA.
    unseen: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Total {
    verdict: Vec<Finding>,
    observed: Option<Observed>,
    help: Option<Finding>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Observed {
    engines: Vec<Engine>,
    waits: Waits,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Engine {
    device: i32,
    direction: String,
    streams_urgent: u64,
    urgent: u64,
    behind: u64,
    behind_us: u64,
    streams_bulk: u64,
    bulk: u64,
    bulk_bytes: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Waits {
    behind: Spans,
    alone: Spans,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Spans {
    count: u64,
    p50_us: Option<f64>,
    p99_us: Option<f64>,
    max_us: f64,
}

/// The run of a program, if a file's object is one. Its members are told with those of the whole run too, but for the
/// processes.
pub(super) fn own(run: &mut Map<String, Value>) -> Option<Result<Own, String>> {
    let is_run = run.contains_key("total") && run.contains_key("processes");
    let is_comparison = run.contains_key("rounds") && run.contains_key("help");
    if run.contains_key("header") || !(is_run || is_comparison) {
        return None;
    }
    let read = serde_json::from_value(Value::Object(run.clone()));
    run.remove("processes");
    Some(read.map_err(|error| format!("its report cannot be read ({error})")))
}

fn count(value: u64) -> Option<Cell> {
    Some(Cell::Number(value.into()))
}

fn number(value: Option<f64>) -> Option<Cell> {
    value.and_then(Number::from_f64).map(Cell::Number)
}

fn words(text: &str) -> Option<Cell> {
    Some(Cell::Words(text.to_owned()))
}

fn grid(name: &str, columns: &[&str], rows: Vec<Vec<Option<Cell>>>) -> Grid {
    let columns = columns.iter().map(|key| Column::of(key)).collect();
    Grid { name: name.to_owned(), columns, rows }.without_empty()
}

/// The urgent copies of a trace, by their stream and by that of the bulk beside them.
pub(super) fn beside(label: &str, found: &[Beside]) -> Option<String> {
    let line = |beside: &Beside| {
        let bulk = beside.bulk.as_deref().unwrap_or("none under way");
        vec![
            words(&beside.engine),
            words(&beside.stream),
            count(beside.priority),
            words(bulk),
            count(beside.copies),
            number(beside.p50_us),
            number(beside.max_us),
        ]
    };
    let columns = ["engine", "stream", "priority", "beside_bulk_of_stream", "copies", "p50_us", "max_us"];
    let rows: Vec<_> = found.iter().map(line).collect();
    (!rows.is_empty()).then(|| grid(&format!("beside-{label}"), &columns, rows).to_html())
}

impl Own {
    /// The verdict, the sentence that matters most first.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let helps = self.total.help.clone().or_else(|| self.help.clone());
        let others = self.total.verdict.iter().filter(|finding| helps.as_ref() != Some(*finding)).cloned();
        let unseen = self
            .unseen
            .as_ref()
            .map(|why| Finding { what: format!("no process used CUDA through the drop-in: {why}"), cure: None });
        unseen.into_iter().chain(helps.clone()).chain(others).collect()
    }

    /// The verdict as HTML.
    pub(super) fn verdict(&self) -> String {
        let line = |finding: Finding| {
            let cure = finding.cure.map_or_else(String::new, |cure| format!("<br>try: {}", escape(&cure)));
            format!("<li>{}{cure}</li>\n", escape(&finding.what))
        };
        let mut findings = self.findings().into_iter();
        let Some(first) = findings.next() else { return String::new() };
        let cure = first.cure.map_or_else(String::new, |cure| format!("<p>Try: {}</p>\n", escape(&cure)));
        let others: String = findings.map(line).collect();
        let others = if others.is_empty() { String::new() } else { format!("<ul>\n{others}</ul>\n") };
        format!("<p class=\"verdict\">{}</p>\n{cure}{others}", escape(&first.what))
    }

    /// Who waited for whom, as far as the drop-in saw it: how often bulk stood before urgent copies, and how long the
    /// program waited for these with it and without.
    pub(super) fn waits(&self, label: &str) -> Option<String> {
        let seen = self.native.as_ref().or(self.total.observed.as_ref())?;
        let engine = |engine: &Engine| {
            let ahead_us = (engine.behind > 0).then(|| engine.behind_us as f64 / engine.behind as f64);
            vec![
                words(&format!("GPU {} {}", engine.device, engine.direction)),
                count(engine.urgent),
                count(engine.streams_urgent),
                count(engine.behind),
                number(ahead_us),
                count(engine.bulk),
                count(engine.bulk_bytes),
                count(engine.streams_bulk),
            ]
        };
        let columns = [
            "engine",
            "urgent_copies",
            "of_streams",
            "issued_behind_bulk",
            "bulk_ahead_mean_us",
            "bulk_copies",
            "bulk_bytes",
            "of_bulk_streams",
        ];
        let engines = seen.engines.iter().filter(|engine| engine.urgent > 0).map(engine).collect::<Vec<_>>();
        if engines.is_empty() {
            return None;
        }
        let spans = |name: &str, spans: Spans| {
            let max_us = (spans.count > 0).then_some(spans.max_us);
            vec![words(name), count(spans.count), number(spans.p50_us), number(spans.p99_us), number(max_us)]
        };
        let waits = vec![
            spans("while bulk of another stream was in flight", seen.waits.behind),
            spans("while none was", seen.waits.alone),
        ];
        let of_engines = grid(&format!("engines-{label}"), &columns, engines);
        let waits =
            grid(&format!("waits-{label}"), &["urgent_copy_issued", "waited_for", "p50_us", "p99_us", "max_us"], waits);
        Some(of_engines.to_html() + &waits.to_html())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run() -> Map<String, Value> {
        let helps = json!({"answer": "helps", "what": "overtake would help: 5 of 9 waited", "try": "overtake run"});
        let engine = json!({"device": 0, "direction": "h2d", "urgent": 9, "behind": 5, "behind_us": 4000, "bulk": 3,
            "bulk_bytes": 1 << 28, "streams_urgent": 1, "streams_bulk": 2});
        let behind = json!({"count": 5, "sum_us": 4000.0, "p50_us": 800.5, "p99_us": null, "max_us": 900.0});
        let observed = json!({"engines": [engine], "waits": {"behind": behind}});
        let verdict = json!([helps, {"what": "2 <copies> were captured"}]);
        let total = json!({"verdict": verdict, "help": helps, "observed": observed});
        let run = json!({"command": ["./a"], "total": total, "processes": [{"pid": 7}]});
        run.as_object().unwrap().clone()
    }

    #[test]
    fn the_verdict_comes_first_and_once() {
        let own = own(&mut run()).unwrap().unwrap();
        let html = own.verdict();
        assert!(html.starts_with("<p class=\"verdict\">overtake would help: 5 of 9 waited</p>\n<p>Try: overtake run"));
        assert!(html.contains("<li>2 &lt;copies&gt; were captured</li>") && html.matches("would help").count() == 1);
    }

    #[test]
    fn waits_behind_bulk_stand_beside_those_without() {
        let html = own(&mut run()).unwrap().unwrap().waits("1").unwrap();
        for part in ["GPU 0 h2d", "<data value=\"800.0\">800.0</data>", "<data value=\"800.5\">800.5</data>", "256 MiB"]
        {
            assert!(html.contains(part), "{part} in {html}");
        }
        let mut none = run();
        none["total"]["observed"]["engines"][0]["urgent"] = 0.into();
        assert_eq!(own(&mut none).unwrap().unwrap().waits("1"), None);
    }

    #[test]
    fn a_comparison_tells_of_its_native_runs() {
        let observed = run()["total"]["observed"].clone();
        let mut compared = json!({"command": [], "rounds": [], "native": observed, "overtake": {}, "help":
            {"what": "overtake helps: 3x"}});
        let own = own(compared.as_object_mut().unwrap()).unwrap().unwrap();
        assert_eq!(own.findings()[0].what, "overtake helps: 3x");
        assert!(own.waits("1").unwrap().contains("GPU 0 h2d"));
    }

    #[test]
    fn other_objects_are_no_runs_of_programs() {
        let is_own = |value: Value| own(&mut value.as_object().unwrap().clone()).is_some();
        assert!(!is_own(json!({"header": {}, "rows": []})) && !is_own(json!({"total": {}})));
        assert!(own(&mut json!({"total": 3, "processes": []}).as_object().unwrap().clone()).unwrap().is_err());
    }
}
