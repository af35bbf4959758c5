//! A picture for each question and device: latency over bandwidth of the frontier, six lines of the video, and of the
//! others every figure of the table, median and range.

use std::collections::BTreeMap;

use report::figure::{Axis, Gap, LatencyFigure, Panel, RangeFigure, RangePanel, RangeRow, Series, Tone};
use report::trace::Trace;
use report::{BenchRow, Distribution, Run, views};

use super::cells::median;
use super::groups::{Group, current, groups, over_idle};
use super::programs::rows_of;
use super::{front, video};
use crate::stored::{FOLDER, Stored, is_guarded};

/// Questions whose rows are those of a bench, with a picture of all medians.
const BENCHES: [&str; 6] = ["latency", "burst", "overhead", "priorities", "endless", "bandwidth"];
/// The same with pictures of their own.
const FRONTIER: &str = "frontier";
const VIDEO: &str = "video";
/// Questions whose rows are those of programs.
const PROGRAMS: [&str; 10] =
    ["contended", "serving", "offload", "frames", "device_put", "shapes", "by_hand", "loaders", "unpinned", "clients"];
/// The question whose runs are traces: its picture is that of the last one.
const TRACES: &str = "profile";
/// The variables of the driver's queues, and their unit.
const QUEUES: [(&str, &str); 2] =
    [(video::MAX_CONNECTIONS, "kernel queues"), (video::MAX_COPY_CONNECTIONS, "copy queues")];
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
        for question in BENCHES.into_iter().chain([FRONTIER, VIDEO]).chain(PROGRAMS) {
            if let Some(svg) = of(question, &current(runs, question, device)) {
                pictures.insert(format!("{FOLDER}/{question}/{device}.svg"), Some(svg));
            }
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

/// The picture of the runs of a question on a device, if they have one.
pub fn of(question: &str, runs: &[&Stored]) -> Option<String> {
    let first = runs.iter().find(|run| !run.rows.is_empty())?;
    let rows = || runs.iter().flat_map(|run| run.bench_rows()).collect::<Vec<BenchRow>>();
    let origin = format!("{}; {}", first.header.device, medians_of(runs.len(), ", lowest to highest"));
    let titled = |subtitle: String, panels| RangeFigure { title: question.to_owned(), subtitle, panels };
    Some(match question {
        FRONTIER => {
            let figure = views::frontier(&Run { header: first.header.clone(), rows: rows() });
            let subtitle = format!("{}; {}", figure.subtitle, medians_of(runs.len(), ""));
            report::figure::Scatter { subtitle, ..figure }.to_svg()
        }
        VIDEO => video::picture(runs)?.to_svg(),
        _ if BENCHES.contains(&question) => {
            let groups = groups(runs);
            let words = |group: &Group| environment(&group.key.variant);
            let measured: Vec<_> =
                groups.iter().map(|group| views::Measured { variant: words(group), rows: &group.rows }).collect();
            views::medians(question, &(views::sizes(&rows()) + &origin), &measured).to_svg()
        }
        _ if PROGRAMS.contains(&question) => titled(origin, vec![program_panel(runs)]).to_svg(),
        _ => return None,
    })
}

/// The picture of a device's last trace.
fn trace(runs: &[Stored], device: &str) -> Option<String> {
    let last = current(runs, TRACES, device).pop()?;
    let trace = Trace::read(&last.rest.get("traceEvents")?.to_string()).ok()?;
    Some(trace.timeline(&format!("{}: {}", last.header.device, trace.summary())).to_svg())
}

fn medians_of(runs: usize, shown: &str) -> String {
    match runs {
        1 => front::count(1),
        _ => format!("medians of {}{shown}", front::count(runs)),
    }
}

/// An environment in a reader's words.
pub fn environment(variant: &str) -> String {
    let word = |word: &str| {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let queues = QUEUES.into_iter().find(|(variable, _)| *variable == name);
        match queues {
            Some((_, unit)) => Some(format!("{value} {unit}")),
            None => (!is_guarded(variant)).then(|| word.to_owned()),
        }
    };
    let words = variant.split(' ').filter(|text| !text.is_empty()).filter_map(word);
    is_guarded(variant).then(|| "guarded".to_owned()).into_iter().chain(words).collect::<Vec<_>>().join(", ")
}

fn program_panel(runs: &[&Stored]) -> RangePanel {
    let mut names: Vec<(String, Vec<f64>, Tone)> = Vec::new();
    for row in runs.iter().flat_map(|run| rows_of(run)) {
        let title = format!("{}, {}, {}", row.case, row.mode, row.phase);
        match names.iter_mut().find(|(known, _, _)| *known == title) {
            Some((_, values, _)) => values.extend(row.p50_us),
            None => {
                let tone = views::meaning(&format!("{}, {}", row.mode, row.phase));
                names.push((title, row.p50_us.into_iter().collect(), tone));
            }
        }
    }
    let axis = Axis::Logarithmic;
    let row = |(title, values, tone)| RangeRow::new(title, tone, axis, values);
    RangePanel { title: "median latency, us".to_owned(), axis, rows: names.into_iter().filter_map(row).collect() }
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
    fn environments_are_told_in_words() {
        let queues = "CUDA_DEVICE_MAX_CONNECTIONS=32 CUDA_DEVICE_MAX_COPY_CONNECTIONS=4";
        assert_eq!(environment(queues), "32 kernel queues, 4 copy queues");
        assert_eq!(environment("OVERTAKE_CHANNELS=off OVERTAKE_GUARD_BYTES_MIN=1M"), "guarded");
        assert_eq!((environment("A=1 B=2").as_str(), environment("").as_str()), ("A=1, B=2", ""));
    }

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
