//! The page about runs: its numbers are those of the JSON, nothing in a name becomes markup, and files that are no runs
//! are refused.

mod chromium;
mod document;
mod numbers;

use std::collections::BTreeMap;
use std::path::Path;

use document::Document;
use overtake_report::runs::{headlines, page, read};
use serde_json::{Value, json};

/// Every stored file of runs, by its name.
pub fn stored() -> BTreeMap<String, String> {
    let mut files = pages::stored::texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    files.retain(|name, _| name.ends_with(".json"));
    assert!(files.len() > 50, "{files:?}");
    files
}

/// A run with headlines, a deadline, a timeline, and fields that the page does not know.
pub fn example() -> Value {
    let row = |method: &str, p50_us: f64, bulk_bytes: u64, missed: u64| {
        let steps_ns = [p50_us * 1e3 - 1.0, 1.0, 5_000.0].map(|ns| ns as u64);
        json!({ "method": method, "transport": "engine", "emulation": "none", "direction": "both",
            "high_bytes": 3_110_400, "bulk_bytes": bulk_bytes, "chunk_bytes": null, "samples": 3,
            "idle_p50_us": 250.125, "idle_p99_us": null, "p50_us": p50_us, "p90_us": null, "p99_us": p50_us * 3.0,
            "max_us": p50_us * 4.0, "enqueue_p50_us": null, "bulk_gbps": 60.5, "raw_gbps": 98.25, "rescues": 0,
            "due": 3600, "missed": missed, "deadline_us": 16_666.667, "drops": { "late": missed, "full": 0 },
            "latency_steps_ns": steps_ns })
    };
    let rows = [row("idle", 250.125, 0, 0), row("native", 20_000.75, 1 << 28, 3_599), row("stack", 300.5, 1 << 28, 0)];
    let header = json!({ "version": "0.1.0", "commit": "abc", "product": 2, "command": "overtake bench video",
        "device": "a device", "driver": "13.0", "backend": "soft", "environment": { "A": "1" }, "seed": 7 });
    let events = json!([
        { "ph": "X", "name": "upload", "pid": 1, "tid": 1, "ts": 0, "dur": 280 },
        { "ph": "X", "name": "resize", "pid": 1, "tid": 2, "ts": 280, "dur": 20.5 },
        { "ph": "i", "name": "deadline", "pid": 1, "tid": 0, "ts": 16_666.667 },
        { "ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": { "name": "to the device" } }]);
    json!({ "header": header, "rows": rows, "streams": 8, "traceEvents": events })
}

#[test]
fn every_number_of_every_stored_run_is_on_its_page() {
    for (file, text) in stored() {
        let runs = read("run", &text).unwrap_or_else(|why| panic!("{file}: {why}"));
        let page = page("all", &runs);
        let wrong = numbers::wrong(&serde_json::from_str(&text).unwrap(), &Document::parse(&page));
        assert!(wrong.is_empty(), "{file}:\n{}", wrong.join("\n"));
    }
}

#[test]
fn unknown_fields_are_numbers_like_others() {
    let run = example();
    let page = page("video", &read("video.json", &run.to_string()).unwrap());
    let document = Document::parse(&page);
    assert_eq!(numbers::wrong(&run, &document), [""; 0]);
    let mut other = run.clone();
    other["rows"][2]["drops"]["late"] = json!(1);
    assert_eq!(numbers::wrong(&other, &document).len(), 1, "the check itself sees a wrong number");
    other = run;
    other["rows"][1].as_object_mut().unwrap().remove("missed");
    assert_eq!(numbers::wrong(&other, &document).len(), 1, "and one that is too many");
}

#[test]
fn figures_are_there_as_far_as_a_run_has_them() {
    let headings = |run: &Value| {
        let page = page("video", &read("video.json", &run.to_string()).unwrap());
        ["Distributions", "Frontier", "Timeline"].map(|heading| page.contains(&format!("<h3>{heading}</h3>")))
    };
    let run = example();
    assert_eq!(headings(&run), [true, true, true]);
    let mut bare = run.clone();
    bare.as_object_mut().unwrap().remove("traceEvents");
    for row in bare["rows"].as_array_mut().unwrap() {
        row.as_object_mut().unwrap().retain(|key, _| key != "latency_steps_ns" && key != "bulk_gbps");
    }
    assert_eq!(headings(&bare), [false, false, false]);
    let page = page("video", &read("video.json", &run.to_string()).unwrap());
    assert!(page.contains(">deadline 16.7 ms<"), "in the distributions");
    assert!(page.contains(">deadline<") && page.contains(">to the device<"), "in the timeline");
}

#[test]
fn the_headline_is_the_better_native_way_beside_the_best_of_ours() {
    let runs = read("video.json", &example().to_string()).unwrap();
    let found = headlines(&runs[0]);
    assert_eq!(found.len(), 1, "{found:?}");
    let headline = &found[0];
    assert_eq!((headline.native.method.as_str(), headline.ours.method.as_str()), ("native", "stack"));
    assert_eq!((headline.native.missed, headline.ours.missed), (Some(3_599), Some(0)));
    assert!((headline.ratio - 20_000.75 / 300.5).abs() < 1e-9, "{headline:?}");
    let html = page("video", &runs);
    assert!(html.contains("<strong>67x</strong>"), "{html}");
    let mut more = example();
    let mut better = more["rows"][1].clone();
    (better["method"], better["p50_us"]) = (json!("native+priority"), json!(601.0));
    let mut worse = more["rows"][2].clone();
    (worse["method"], worse["p50_us"]) = (json!("engine/hold"), json!(9_000.0));
    more["rows"].as_array_mut().unwrap().extend([better, worse]);
    let found = headlines(&read("video.json", &more.to_string()).unwrap()[0]);
    assert_eq!((found.len(), found[0].native.method.as_str()), (1, "native+priority"));
    assert!((found[0].ratio - 2.0).abs() < 1e-9, "{found:?}");
}

#[test]
fn a_setting_of_the_native_row_is_a_condition() {
    let mut run = example();
    let rows = [("native", "pinned", 100.0), ("native", "pageable", 900.0), ("stack", "pinned", 50.0)].map(
        |(method, setting, p50_us)| {
            let mut row = run["rows"][1].clone();
            (row["method"], row["setting"], row["p50_us"]) = (json!(method), json!(setting), json!(p50_us));
            row
        },
    );
    run["rows"] = json!(rows);
    let found = headlines(&read("run", &run.to_string()).unwrap()[0]);
    let told: Vec<(&str, f64)> = found.iter().map(|one| (one.condition.as_str(), one.ratio)).collect();
    assert_eq!(told, [("both directions, 3.0 MiB, bulk 256 MiB, pinned", 2.0)]);
}

#[test]
fn runs_stand_side_by_side() {
    let (first, mut second) = (example(), example());
    second["rows"][2]["p50_us"] = json!(150.25);
    second["rows"].as_array_mut().unwrap().remove(0);
    let runs = read("two.json", &json!([first, second]).to_string()).unwrap();
    assert_eq!(runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>(), ["two.json, 1 of 2", "two.json, 2 of 2"]);
    let document = Document::parse(&page("two", &runs));
    let table = document.table("beside");
    assert_eq!(table.rows.len(), 3);
    let exact = |row: usize, key: &str| table.cell(row, key).and_then(|cell| cell.exact.clone());
    assert_eq!(exact(2, "1.p50_us").as_deref(), Some("300.5"));
    assert_eq!(exact(2, "2.p50_us").as_deref(), Some("150.25"));
    assert_eq!(exact(2, "2.by_first").as_deref(), Some("0.5"));
    assert_eq!((exact(0, "1.p50_us").as_deref(), exact(0, "2.p50_us")), (Some("250.125"), None));
}

#[test]
fn nothing_in_a_run_becomes_markup() {
    const BAD: &str = "</script></style></title><script>alert(1)</script><img src=x onerror=\"alert(2)\">'&amp;";
    let mut run = example();
    for row in run["rows"].as_array_mut().unwrap() {
        (row["setting"], row["direction"], row[BAD]) = (json!(BAD), json!(BAD), json!(1));
    }
    run["rows"][1]["method"] = json!(BAD);
    for key in ["command", "device", "version", "commit", "driver", "backend", "seed"] {
        run["header"][key] = json!(BAD);
    }
    run["header"]["environment"][BAD] = json!(BAD);
    run["traceEvents"][0]["name"] = json!(BAD);
    run["traceEvents"][3]["args"]["name"] = json!(BAD);
    run[BAD] = json!({ BAD: BAD });
    let runs = read(BAD, &json!([run, run]).to_string()).unwrap();
    let (bad, plain) =
        (page(BAD, &runs), page("plain", &read("plain", &json!([example(), example()]).to_string()).unwrap()));
    for tag in ["<script", "</script", "</style", "</title", "<img"] {
        let count = |html: &str| html.matches(tag).count();
        // Names that are shortened have a title of their own, and crowds of names make more pictures.
        if tag.contains("script") || tag.contains("img") {
            assert_eq!(count(&bad), count(&plain), "{tag}");
        }
        assert_eq!(count(&bad), bad.matches(&tag.replace("</", "<")).count(), "{tag} closes each");
    }
    let wrong = numbers::wrong(&json!([run, run]), &Document::parse(&bad));
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn the_page_needs_nothing_else() {
    let html = page("video", &read("video.json", &example().to_string()).unwrap());
    let outside = html.replace("http://www.w3.org/2000/svg", "");
    for word in ["http:", "https:", "src=", "url(", "@import", "<link"] {
        assert!(!outside.contains(word), "{word}");
    }
    assert!(html.contains("default-src 'none'") && html.contains("@media print"));
}

#[test]
fn files_that_are_no_runs_are_refused_with_the_reason() {
    let error = |text: &str| read("x.json", text).unwrap_err();
    for (text, reason) in [
        ("ELF", "no JSON"),
        ("[]", "an empty list"),
        ("7", "a number, not a run"),
        ("{}", "no `header`"),
        (r#"[{"header":{}}]"#, "in its run 1, its `header` cannot be read (missing field `version`)"),
        (r#"[1]"#, "its run 1 is a number"),
    ] {
        assert!(error(text).contains(reason), "{text}: {}", error(text));
    }
    let changed = |change: fn(&mut Value)| {
        let mut run = example();
        change(&mut run);
        error(&run.to_string())
    };
    assert!(changed(|run| drop(run.as_object_mut().unwrap().remove("rows"))).contains("no `rows`"));
    assert!(changed(|run| run["rows"] = json!("many")).contains("its `rows` are a text"));
    assert!(changed(|run| run["rows"][1] = json!(1)).contains("its row 2 is a number"));
    assert!(changed(|run| run["rows"][2]["p50_us"] = json!("slow")).contains("its row 3 cannot be read"));
    assert!(changed(|run| run["traceEvents"] = json!([{ "ph": "X" }])).contains("without `ts`"));
}
