//! The result of `bench video` in words: missed pictures, and the limits of pipelines.

use report::BenchRow;
use report::views::percent_of_raw_together;

use super::args::VideoMethod;
use super::rows::TOLERANCE;

/// Requests of bulk that count as large, and the percentage of bulk alone that they and the pictures keep together.
const LARGE: (u64, f64) = (16 << 20, 88.0);
/// The same of smaller ones. There is no limit for those that are smaller still.
const SMALLER: (u64, f64) = (4 << 20, 80.0);
/// The p99 of pictures beside bulk is at most the larger of these two: a multiple of the one without bulk, and so much
/// more than that.
const P99_FACTOR: f64 = 1.5;
const P99_MORE_US: f64 = 500.0;

/// The missed pictures of each method, and the limits of pipelines, a line each.
pub fn verdict(rows: &[BenchRow]) -> String {
    rows.iter()
        .flat_map(|row| [missed(row), late(rows, row), slow(rows, row), lost(row)])
        .flatten()
        .collect::<Vec<_>>()
        .join("\n")
}

fn missed(row: &BenchRow) -> Option<String> {
    let (missed, due, scene) = (row.missed?, row.due?, scene(row));
    let wrong = row
        .wrong
        .filter(|wrong| *wrong > 0)
        .map_or(String::new(), |wrong| format!("\n{scene}: {wrong} RESULTS HAVE WRONG BYTES"));
    Some(format!("{scene}: {missed} of {due} pictures missed their deadline{wrong}"))
}

/// Whether the slowest pictures of a pipeline are in time, if there are enough of them for a p99: beside those of the
/// same pipeline without a background. Those of plain streams without one are told too.
fn late(rows: &[BenchRow], row: &BenchRow) -> Option<String> {
    let (name, p99_us, plain_us) = (VideoMethod::idle_of(&row.method)?, of_pipeline(row)?.p99_us?, row.idle_p99_us?);
    let idle_us = rows.iter().find(|one| one.method == name && one.stream == row.stream)?.p99_us?;
    let limit_us = (P99_FACTOR * idle_us).max(idle_us + P99_MORE_US);
    let (scene, outcome) = (scene(row), outcome(p99_us <= limit_us));
    Some(format!(
        "{scene}: p99 {p99_us:.0} us (limit {limit_us:.0}; idle {idle_us:.0}, plain {plain_us:.0}): {outcome}"
    ))
}

/// Whether the background and the pictures of a pipeline move enough. One line for all kinds of cameras.
fn slow(rows: &[BenchRow], row: &BenchRow) -> Option<String> {
    let percent = percent_of_raw_together(of_pipeline(row)?)?;
    let (_, limit) = [LARGE, SMALLER].into_iter().find(|(bytes, _)| row.bulk_bytes >= *bytes)?;
    let is_first = rows.iter().find(|one| (&one.method, &one.setting) == (&row.method, &row.setting))? == row;
    let line = || {
        let (beside, outcome) = (beside(row), outcome(percent >= limit));
        format!("{} {beside}: bulk and pictures {percent:.1} % of bulk alone (limit {limit:.0}): {outcome}", row.method)
    };
    is_first.then(line)
}

/// The stages in which the slowest frames of a pipeline lost their time.
fn lost(row: &BenchRow) -> Option<String> {
    let slow = row.slow.as_ref()?;
    let mut by_stage: Vec<(&String, &usize)> = slow.by_stage.iter().collect();
    by_stage.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let stages: Vec<String> = by_stage.into_iter().map(|(stage, count)| format!("{stage} {count}")).collect();
    let (count, least_us) = (slow.frames.len(), slow.frames.last()?.latency_us);
    let places = stages.join(", ");
    Some(format!("{}: the slowest {count}, from {least_us:.0} us on, lost most in {places}", scene(row)))
}

fn of_pipeline(row: &BenchRow) -> Option<&BenchRow> {
    VideoMethod::idle_of(&row.method)?;
    (row.bulk_bytes > 0).then_some(row)
}

fn outcome(holds: bool) -> &'static str {
    if holds { "holds" } else { "DOES NOT HOLD" }
}

fn beside(row: &BenchRow) -> String {
    match &row.setting {
        Some(name) if name.starts_with(TOLERANCE) => format!("beside bulk, {name}"),
        Some(name) => format!("beside {name}"),
        None if row.bulk_bytes > 0 => "beside bulk".to_owned(),
        None => "without bulk".to_owned(),
    }
}

/// Method, cameras and background.
fn scene(row: &BenchRow) -> String {
    let stream = row.stream.as_ref().map_or(String::new(), |stream| format!(" {stream}"));
    format!("{}{stream} {}", row.method, beside(row))
}

#[cfg(test)]
mod tests {
    use report::{SlowFrame, SlowFrames};

    use super::*;

    fn row(p99_us: f64, bulk_gbps: f64) -> BenchRow {
        BenchRow {
            method: "pipeline".to_owned(),
            bulk_bytes: 256 << 20,
            p99_us: Some(p99_us),
            idle_p99_us: Some(400.0),
            bulk_gbps: Some(bulk_gbps),
            urgent_gbps: Some(2.0),
            raw_gbps: Some(100.0),
            due: Some(10),
            missed: Some(0),
            ..BenchRow::default()
        }
    }

    fn idle(p99_us: f64) -> BenchRow {
        BenchRow { method: "idle pipeline".to_owned(), p99_us: Some(p99_us), ..BenchRow::default() }
    }

    #[test]
    fn pipelines_are_held_to_the_limits() {
        let overview = |row| BenchRow { stream: Some("4k30".to_owned()), ..row };
        let kinds = [idle(500.0), overview(idle(600.0)), row(1_000.0, 86.0), overview(row(1_101.0, 86.0))];
        let expected = "pipeline beside bulk: 0 of 10 pictures missed their deadline\n\
            pipeline beside bulk: p99 1000 us (limit 1000; idle 500, plain 400): holds\n\
            pipeline beside bulk: bulk and pictures 88.0 % of bulk alone (limit 88): holds\n\
            pipeline 4k30 beside bulk: 0 of 10 pictures missed their deadline\n\
            pipeline 4k30 beside bulk: p99 1101 us (limit 1100; idle 600, plain 400): DOES NOT HOLD";
        assert_eq!(verdict(&kinds), expected);

        let at_4_mib = BenchRow { bulk_bytes: 4 << 20, idle_p99_us: Some(2_000.0), ..row(3_000.0, 77.0) };
        let lines = verdict(&[idle(2_000.0), at_4_mib.clone()]);
        assert!(lines.contains("p99 3000 us (limit 3000; idle 2000, plain 2000): holds"), "{lines}");
        assert!(lines.contains("79.0 % of bulk alone (limit 80): DOES NOT HOLD"), "{lines}");
        // The limits are those of pipelines, and of bulk that is not made of small copies.
        let tolerant = BenchRow { setting: Some(format!("{TOLERANCE}150")), ..at_4_mib.clone() };
        assert!(verdict(&[tolerant]).starts_with("pipeline beside bulk, tolerance_us=150: 0 of 10"));
        let blocks = BenchRow { bulk_bytes: 64 << 10, ..at_4_mib.clone() };
        assert!(!verdict(&[blocks]).contains("of bulk alone"));
        assert_eq!(verdict(&[BenchRow { method: "copies".to_owned(), ..at_4_mib }]).lines().count(), 1);
    }

    #[test]
    fn the_stages_that_lost_most_are_named_first() {
        let by_stage = [("seen", 1), ("launched", 3)].map(|(stage, count)| (stage.to_owned(), count)).into();
        let frames = [900.0, 800.0].map(|latency_us| SlowFrame { latency_us, ..SlowFrame::default() }).to_vec();
        let slow = Some(SlowFrames { by_stage, frames, ..SlowFrames::default() });
        let lines = verdict(&[BenchRow { slow, ..row(900.0, 86.0) }]);
        assert!(
            lines.ends_with("pipeline beside bulk: the slowest 2, from 800 us on, lost most in launched 3, seen 1")
        );
    }
}
