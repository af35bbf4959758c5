//! The table of the front page about video: pictures with deadlines beside every background at once, with the queues
//! that the command asks for.

use report::figure::{Axis, RangeFigure, RangePanel, RangeRow, Tone};
use report::views::{IDLE, meaning, percent_of_raw};
use report::{BenchRow, Column, Table};

use super::cells::{NONE, factor, spread};
use super::copies::group_tail;
use super::front::count;
use super::groups::{Group, groups, over_idle};
use super::sources::{self, asked};
use crate::stored::Stored;

/// The variable that sets the driver's queues for kernels.
pub const MAX_CONNECTIONS: &str = "CUDA_DEVICE_MAX_CONNECTIONS";
/// The same for copies.
pub const MAX_COPY_CONNECTIONS: &str = "CUDA_DEVICE_MAX_COPY_CONNECTIONS";

/// The environment that the command makes for pictures that tolerate chunks.
const ASKED_WITH_TOLERANCE: [(&str, &str); 2] = [(MAX_CONNECTIONS, "32"), (MAX_COPY_CONNECTIONS, "16")];
/// The same for others (`overtake::queues::ask`).
const ASKED: [(&str, &str); 2] = [(MAX_CONNECTIONS, "32"), (MAX_COPY_CONNECTIONS, "4")];

/// The methods, as rows name them and as the table does.
const METHODS: [(&str, &str); 2] = [("native+priority", "CUDA alone, highest priority"), ("pipeline", "overtake")];
/// The background: all of them.
const SETTING: &str = "all";
/// The same in the rows of pipelines with a tolerance.
const TOLERANT: &str = "all, tolerance_us=150";
/// A bar of the picture.
type Bar = fn(&BenchRow) -> Option<f64>;

/// `video DEVICE`: the frames that missed their deadline, by cameras and method.
pub fn table(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let runs = with_queues(runs, words)?;
    let all = beside_all(&runs);
    if all.is_empty() {
        return Ok(sources::none("video"));
    }
    let mut table = Table::new(vec![
        Column::words("cameras"),
        Column::words("way"),
        Column::numbers("pictures late or lost"),
        Column::numbers("p50 / idle"),
        Column::numbers("p99 us"),
        Column::numbers("bulk keeps, %"),
    ]);
    for (method, title) in METHODS {
        for group in all.iter().filter(|group| group.key.method == method) {
            table.push([
                group.key.cameras.clone(),
                title.to_owned(),
                group.missed().unwrap_or(NONE.to_owned()),
                spread(&group.values(over_idle), factor),
                group_tail(group),
                spread(&group.values(percent_of_raw), |percent| format!("{percent:.0}")),
            ]);
        }
    }
    Ok(format!("{}\n{}", table.to_markdown(), sources::line(&runs, "video")))
}

/// The runs with the queues that the command asks for, and rows beside every background.
pub fn with_queues<'a>(runs: &'a [Stored], words: &[&str]) -> Result<Vec<&'a Stored>, String> {
    let is_shown = |run: &&Stored| has_queues(run) && !beside_all(&[run]).is_empty();
    Ok(asked(runs, "video", words)?.into_iter().filter(is_shown).collect())
}

/// Their rows beside every background at once.
pub fn beside_all(runs: &[&Stored]) -> Vec<Group> {
    let mut all = groups(runs);
    all.retain(|group| group.key.setting == SETTING && METHODS.iter().any(|(method, _)| *method == group.key.method));
    all
}

/// The picture: the idle device, CUDA alone and overtake, for each kind of cameras, of those runs that have both ways
/// beside every background. If there are none with the queues of the command, those with a tolerance.
pub fn picture(runs: &[&Stored]) -> Option<RangeFigure> {
    let sets = [(ASKED, SETTING), (ASKED_WITH_TOLERANCE, TOLERANT)];
    sets.into_iter().find_map(|(queues, setting)| {
        let settings = METHODS.map(|(method, _)| (method, if method == "pipeline" { setting } else { SETTING }));
        let is_of = |row: &BenchRow, (method, setting): (&str, &str)| {
            row.method == method && row.setting.as_deref() == Some(setting) && row.stream.is_some()
        };
        let has_both = |run: &Stored| {
            let rows = run.bench_rows();
            has(run, queues) && settings.iter().all(|wanted| rows.iter().any(|row| is_of(row, *wanted)))
        };
        let its: Vec<&Stored> = runs.iter().copied().filter(|run| has_both(run)).collect();
        let rows: Vec<BenchRow> = its.iter().flat_map(|run| run.bench_rows()).collect();
        let shown: Vec<BenchRow> = rows
            .into_iter()
            .filter(|row| row.method == IDLE || settings.iter().any(|wanted| is_of(row, *wanted)))
            .collect();
        let first = its.first()?;
        let queues = super::pictures::environment(&first.variant());
        let tolerance = setting.strip_prefix(SETTING)?.trim_start_matches(", ").replace('=', " = ");
        let words = [queues, tolerance].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ");
        Some(RangeFigure {
            title: "Pictures of five cameras beside bulk".to_owned(),
            subtitle: format!(
                "a model that is loaded, an archive that is transcoded, and blocks both ways at once; {words}; {}, {}",
                first.header.device,
                count(its.len())
            ),
            panels: panels(&shown),
        })
    })
}

fn panels(rows: &[BenchRow]) -> Vec<RangePanel> {
    let missed: Bar = |row| Some(100.0 * row.missed? as f64 / row.due.filter(|due| *due > 0)? as f64);
    let panels: [(&str, Axis, Bar); 2] = [
        ("median latency of a picture, us", Axis::Logarithmic, |row| row.p50_us),
        ("pictures late or lost, %", Axis::FromZero, missed),
    ];
    let mut kinds: Vec<&str> = rows.iter().filter_map(|row| row.stream.as_deref()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    // Four small cameras before a large one, as in the table.
    kinds.reverse();
    let ways = || [(IDLE, "idle device")].into_iter().chain(METHODS);
    let lines = || kinds.iter().flat_map(move |kind| ways().map(move |(method, title)| (*kind, method, title)));
    let panel = |(title, axis, bar): (&str, Axis, Bar)| {
        let line = |(kind, method, title): (&str, &str, &str)| {
            let its = rows.iter().filter(|row| row.stream.as_deref() == Some(kind) && row.method == method);
            let cameras = kind.split(':').next().unwrap_or(kind);
            let tone: Tone = meaning(method);
            RangeRow::new(format!("{cameras}, {title}"), tone, axis, its.filter_map(bar).collect())
        };
        RangePanel { title: title.to_owned(), axis, rows: lines().filter_map(line).collect() }
    };
    panels.into_iter().map(panel).collect()
}

fn has_queues(run: &Stored) -> bool {
    has(run, ASKED)
}

fn has(run: &Stored, queues: [(&str, &str); 2]) -> bool {
    queues.iter().all(|(name, value)| run.header.environment.get(*name).is_some_and(|set| set == value))
}

#[cfg(test)]
pub mod tests {
    use serde_json::json;

    use super::*;
    use crate::headline::example;

    fn run(queues: &str, missed: u64) -> Stored {
        let row = |method: &str, setting: &str| {
            json!(report::BenchRow {
                method: method.into(),
                setting: Some(setting.into()),
                stream: Some("4x1080p60".into()),
                samples: 1_500,
                p50_us: Some(30.0),
                p99_us: Some(60.0),
                idle_p50_us: Some(10.0),
                due: Some(1_500),
                missed: Some(missed),
                ..report::BenchRow::default()
            })
        };
        let mut run = example::run("video", "h100", vec![row("pipeline", "all"), row("pipeline", "model")]);
        run.header.environment.extend(ASKED.map(|(name, value)| (name.to_owned(), value.to_owned())));
        run.header.environment.insert(MAX_CONNECTIONS.to_owned(), queues.to_owned());
        run
    }

    /// A run with the queues, of one method.
    pub fn of_method(method: &str) -> Stored {
        let mut run = run("32", 7);
        for row in &mut run.rows {
            row["method"] = method.into();
            row["stream"] = "4x1080p60:nv12".into();
        }
        run
    }

    #[test]
    fn frames_of_runs_with_the_queues_are_added_up() {
        let runs = [run("8", 700), run("32", 0), run("32", 1)];
        let text = table(&runs, &["h100"]).unwrap();
        assert!(text.contains("| 4x1080p60 | overtake | 1 of 3,000 | 3.00 | 60.0 | - |"), "{text}");
        assert_eq!(text.matches("4x1080p60").count(), 1, "other backgrounds and queues are left out: {text}");
        assert!(table(&[], &["h100"]).unwrap().contains("No run"));
    }

    /// Two kinds of cameras by all ways, beside all and beside a model alone.
    fn compared(copy_queues: &str, setting: &str) -> Stored {
        let row = |method: &str, setting: Option<&str>, stream: &str, p50_us| {
            json!(report::BenchRow {
                method: method.into(),
                setting: setting.map(str::to_owned),
                stream: Some(stream.into()),
                p50_us: Some(p50_us),
                due: Some(200),
                missed: Some(if method == "native+priority" { 50 } else { 0 }),
                ..report::BenchRow::default()
            })
        };
        let of = |stream: &str, at: f64| {
            let ways = [(IDLE, None), ("native+priority", Some("all")), ("pipeline", Some(setting))];
            let ways = ways.map(|(method, setting)| row(method, setting, stream, at));
            [&ways[..], &[row("pipeline", Some("model"), stream, 9.0 * at)]].concat()
        };
        let mut run = example::run("video", "h100", [of("1x4k30:nv12", 700.0), of("4x1080p60:nv12", 300.0)].concat());
        run.header.environment.insert(MAX_CONNECTIONS.to_owned(), "32".to_owned());
        run.header.environment.insert(MAX_COPY_CONNECTIONS.to_owned(), copy_queues.to_owned());
        run
    }

    #[test]
    fn the_picture_has_six_lines() {
        let (shipped, tolerant) = (compared("4", "all"), compared("16", TOLERANT));
        let figure = picture(&[&tolerant, &shipped, &run("32", 0)]).unwrap();
        assert!(figure.subtitle.contains("; 32 kernel queues, 4 copy queues; X, 1 run"), "{}", figure.subtitle);
        let lines: Vec<(&str, Tone, f64)> =
            figure.panels[0].rows.iter().map(|row| (row.name.as_str(), row.tone, row.values[1])).collect();
        let ways =
            [("idle device", Tone::Grey), ("CUDA alone, highest priority", Tone::Red), ("overtake", Tone::Green)];
        let names: Vec<String> =
            ["4x1080p60", "1x4k30"].iter().flat_map(|kind| ways.map(|(way, _)| format!("{kind}, {way}"))).collect();
        assert_eq!(lines.iter().map(|line| line.0).collect::<Vec<_>>(), names);
        assert_eq!(lines.iter().map(|line| line.1).collect::<Vec<_>>()[..3], ways.map(|(_, tone)| tone));
        assert_eq!((lines[2].2, figure.panels[1].rows[1].values[1]), (300.0, 25.0));
        let tolerant = picture(&[&tolerant]).unwrap();
        assert!(tolerant.subtitle.contains("16 copy queues, tolerance_us = 150;"), "{}", tolerant.subtitle);
        assert_eq!(picture(&[&run("32", 0)]), None, "CUDA alone is missing");
    }
}
