//! A picture for each question and device: every figure of its table, median and range.

use std::collections::BTreeMap;

use report::figure::{Gap, LatencyFigure, Panel, RangeFigure, RangePanel, RangeRow, Series, Tone};
use report::trace::Trace;
use report::views::percent_of_raw;
use report::{Distribution, format};

use super::cells::median;
use super::front;
use super::groups::{Group, current, groups, over_idle};
use super::programs::rows_of;
use super::video::{MAX_CONNECTIONS, MAX_COPY_CONNECTIONS};
use crate::stored::{FOLDER, Stored, is_guarded};

/// Questions whose rows are those of a bench.
const BENCHES: [&str; 8] = ["latency", "burst", "overhead", "priorities", "endless", "frontier", "bandwidth", "video"];
/// Questions whose rows are those of programs.
const PROGRAMS: [&str; 10] =
    ["contended", "serving", "offload", "frames", "device_put", "shapes", "by_hand", "loaders", "unpinned", "clients"];
/// The question whose runs are traces: its picture is that of the last one.
const TRACES: &str = "profile";
/// The variables of the driver's queues, and their unit.
const QUEUES: [(&str, &str); 2] = [(MAX_CONNECTIONS, "kernel queues"), (MAX_COPY_CONNECTIONS, "copy queues")];
/// The methods whose distributions the front page shows, with their colours.
const SHOWN: [(&str, Tone); 4] =
    [("idle", Tone::Grey), ("native+priority", Tone::Red), ("kernel/hold", Tone::Green), ("express", Tone::Blue)];

/// All pictures, by file.
pub fn all(runs: &[Stored]) -> BTreeMap<String, Option<String>> {
    let mut devices: Vec<&str> = runs.iter().map(|run| run.device.as_str()).collect();
    devices.sort_unstable();
    devices.dedup();
    let mut pictures = BTreeMap::new();
    for device in devices {
        for question in BENCHES.into_iter().chain(PROGRAMS) {
            let runs = current(runs, question, device);
            if runs.iter().all(|run| run.rows.is_empty()) {
                continue;
            }
            let panels =
                if PROGRAMS.contains(&question) { program_panels(&runs) } else { bench_panels(&groups(&runs)) };
            let subtitle = format!("{}; medians of {} runs, lowest to highest", runs[0].header.device, runs.len());
            let figure = RangeFigure { title: question.to_owned(), subtitle, panels };
            pictures.insert(format!("{FOLDER}/{question}/{device}.svg"), Some(figure.to_svg()));
        }
        if let Some(svg) = trace(runs, device) {
            pictures.insert(format!("{FOLDER}/{TRACES}/{device}.svg"), Some(svg));
        }
        let runs = current(runs, "latency", device);
        if let Some(figure) = distributions(&runs) {
            pictures.insert(format!("{FOLDER}/latency/{device}-distributions.svg"), Some(figure.to_svg()));
        }
    }
    pictures
}

/// Whether each device with runs of the question has a picture of their medians.
pub fn is_drawn(question: &str) -> bool {
    BENCHES.contains(&question) || PROGRAMS.contains(&question)
}

/// The picture of a device's last trace.
fn trace(runs: &[Stored], device: &str) -> Option<String> {
    let last = current(runs, TRACES, device).pop()?;
    let trace = Trace::read(&last.rest.get("traceEvents")?.to_string()).ok()?;
    Some(trace.timeline(&format!("{}: {}", last.header.device, trace.summary())).to_svg())
}

fn name(group: &Group, with_direction: bool) -> String {
    let key = &group.key;
    let priority = key.priority.map(|priority| format!("priority {priority}"));
    let bytes = if key.bytes.0 > 0 { key.bytes.0 } else { key.bytes.1 };
    // Cameras tell the size of their pictures.
    let size = (bytes > 0 && key.cameras.is_empty()).then(|| format::size(bytes));
    let guarded = is_guarded(&key.variant).then(|| "guarded".to_owned());
    let direction = with_direction.then(|| key.direction.clone());
    let setting = Some(key.setting.clone()).filter(|setting| !setting.is_empty());
    let cameras = Some(key.cameras.clone()).filter(|cameras| !cameras.is_empty());
    let [kernels, copies] = QUEUES.map(|(variable, unit)| {
        let value = |word: &str| Some(word.strip_prefix(variable)?.strip_prefix('=')?.to_owned());
        key.variant.split(' ').find_map(value).map(|number| format!("{number} {unit}"))
    });
    let words = [direction, Some(key.method.clone()), setting, cameras, priority, size, guarded, kernels, copies];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn bench_panels(groups: &[Group]) -> Vec<RangePanel> {
    let rows = |figure: fn(&report::BenchRow) -> Option<f64>| -> Vec<RangeRow> {
        let row = |group: &Group| {
            RangeRow::new(
                name(group, true),
                if group.key.method.contains("native") { Tone::Red } else { Tone::Green },
                group.values(figure),
            )
        };
        groups.iter().filter_map(row).collect()
    };
    let panels =
        [("median latency, us", rows(|row| row.p50_us)), ("bulk bandwidth, % of bulk alone", rows(percent_of_raw))];
    panels
        .into_iter()
        .filter(|(_, rows)| !rows.is_empty())
        .map(|(title, rows)| RangePanel { title: title.to_owned(), rows })
        .collect()
}

fn program_panels(runs: &[&Stored]) -> Vec<RangePanel> {
    let mut names: Vec<(String, Vec<f64>, Tone)> = Vec::new();
    for row in runs.iter().flat_map(|run| rows_of(run)) {
        let title = format!("{}, {}, {}", row.case, row.mode, row.phase);
        let tone = if row.mode == "native" { Tone::Red } else { Tone::Green };
        match names.iter_mut().find(|(known, _, _)| *known == title) {
            Some((_, values, _)) => values.extend(row.p50_us),
            None => names.push((title, row.p50_us.into_iter().collect(), tone)),
        }
    }
    let rows = names.into_iter().filter_map(|(title, values, tone)| RangeRow::new(title, tone, values)).collect();
    vec![RangePanel { title: "median latency, us".to_owned(), rows }]
}

/// `distributions DEVICE [FOLDER]`: the picture of the distributions, for a page in another folder.
pub fn shown(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let runs = super::sources::asked(runs, "latency", words)?;
    let folder = words.get(1).copied().unwrap_or_default();
    Ok(match distributions(&runs) {
        Some(_) => format!("![how long copies take]({folder}{}-distributions.svg)", words[0]),
        None => super::sources::none("latency"),
    })
}

/// All samples of all runs together, 64 KiB, both directions. Medians and factors are those of the table beside it.
fn distributions(runs: &[&Stored]) -> Option<LatencyFigure> {
    let groups = groups(runs);
    let first = runs.first()?;
    let panel = |direction: &str, title: &str| {
        let find = |method: &str| {
            let is_its = |group: &&Group| {
                group.key.method == method && group.key.direction == direction && group.key.bytes.0 == 64 << 10
            };
            groups.iter().find(is_its)
        };
        let shown: Vec<(&str, Series)> =
            SHOWN.into_iter().filter_map(|(method, tone)| Some((method, series(find(method)?, tone)?))).collect();
        let place = |wanted: &str| shown.iter().position(|(method, _)| *method == wanted);
        let gap = place("idle").zip(place("native+priority")).and_then(|(idle, other)| {
            let factor = median_of(find("native+priority")?, over_idle)?;
            Some(Gap { idle, other, factor })
        });
        Panel {
            title: title.to_owned(),
            series: shown.into_iter().map(|(_, series)| series).collect(),
            gap,
            limit_us: None,
        }
    };
    let panels = vec![panel("h2d", "host to device"), panel("d2h", "device to host")];
    panels.iter().any(|panel| !panel.series.is_empty()).then(|| LatencyFigure {
        title: "How long a 64 KiB copy takes behind bulk".to_owned(),
        subtitle: format!("{}; all samples of {} runs, and the medians of the runs", first.header.device, runs.len()),
        panels,
    })
}

fn series(group: &Group, tone: Tone) -> Option<Series> {
    let samples = group.rows.iter().flat_map(|row| row.latencies_ns.clone()).collect();
    let name = front::plain_title(&group.key.method)?;
    Some(Series { p50_us: median_of(group, |row| row.p50_us)?, ..Series::new(name, tone, Distribution::new(samples)?) })
}

/// The median over runs of one value, as in a table's cell.
fn median_of(group: &Group, figure: impl Fn(&report::BenchRow) -> Option<f64>) -> Option<f64> {
    let mut values = group.values(figure);
    values.sort_by(f64::total_cmp);
    (!values.is_empty()).then(|| median(&values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headline::example;

    #[test]
    fn picture_and_table_show_one_factor_and_one_median() {
        let run = |p50_us: f64| {
            let row = |method: &str, p50_us: f64| {
                serde_json::json!(report::BenchRow {
                    method: method.into(),
                    direction: "h2d".into(),
                    high_bytes: 64 << 10,
                    samples: 3,
                    p50_us: Some(p50_us),
                    idle_p50_us: Some(10.0),
                    latencies_ns: vec![(p50_us * 1e3) as u64; 3],
                    ..report::BenchRow::default()
                })
            };
            example::run("latency", "h100", vec![row("idle", 10.0), row("native+priority", p50_us)])
        };
        // The median of all samples lies in one of the runs, and the median of the runs lies between both.
        let runs = [run(8_000.0), run(9_000.0)];
        let picture = distributions(&current(&runs, "latency", "h100")).unwrap().to_svg();
        let table = front::library(&runs, &["h100"]).unwrap();
        assert!(table.contains("8,500 (8,000 to 9,000) | 850 (800 to 900)"), "{table}");
        assert!(picture.contains(">8.5 ms<") && picture.contains(">850x<"), "{picture}");
        assert!(picture.contains(">CUDA's highest against lowest stream priority<"), "{picture}");
    }
}
