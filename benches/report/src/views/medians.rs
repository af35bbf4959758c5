//! The medians of all rows and their ranges over several runs: a line for each.

use super::{curve_name, meaning, percent_of_raw, subtitle};
use crate::figure::{Axis, RangeFigure, RangePanel, RangeRow};
use crate::{BenchRow, Run, format};

/// Rows of several runs that measure the same.
pub struct Measured<'a> {
    /// What tells them from others and no row has, such as the environment, in words.
    pub variant: String,
    /// The rows.
    pub rows: &'a [BenchRow],
}

/// A figure of rows.
type Figure = fn(&BenchRow) -> Option<f64>;

/// The panels: title, axis and figure. One that no row has is left out.
const PANELS: [(&str, Axis, Figure); 3] = [
    ("median latency, us", Axis::Logarithmic, |row| row.p50_us),
    ("bulk bandwidth, % of bulk alone", Axis::FromZero, percent_of_raw),
    ("a call, ns", Axis::Logarithmic, |row| row.call_ns),
];

/// The words that may tell two rows from each other; `None` where a row has no such property.
const WORDS: [fn(&Measured<'_>) -> Option<String>; 5] = [
    |measured| Some(measured.first()?.direction.clone()),
    |measured| measured.first()?.stream.clone(),
    |measured| sized("", measured.first()?.high_bytes),
    |measured| sized("bulk of ", measured.first()?.bulk_bytes),
    // No environment is one too.
    |measured| Some(measured.variant.clone()),
];

fn sized(what: &str, bytes: u64) -> Option<String> {
    (bytes > 0).then(|| format!("{what}{}", format::size(bytes)))
}

impl Measured<'_> {
    fn first(&self) -> Option<&BenchRow> {
        self.rows.first()
    }
}

/// The picture of a run.
#[must_use]
pub fn of_run(run: &Run, title: &str) -> RangeFigure {
    let each: Vec<Measured<'_>> = run.rows.chunks(1).map(|rows| Measured { variant: String::new(), rows }).collect();
    medians(title, &subtitle(run), &each)
}

/// The picture of several runs. A line has its method in its name, and of the other properties those in which the lines
/// of its panel differ.
#[must_use]
pub fn medians(title: &str, subtitle: &str, all: &[Measured<'_>]) -> RangeFigure {
    let panel = |(title, axis, figure): (&str, Axis, Figure)| {
        let values = |measured: &Measured<'_>| -> Vec<f64> { measured.rows.iter().filter_map(figure).collect() };
        let shown: Vec<&Measured<'_>> = all.iter().filter(|measured| !values(measured).is_empty()).collect();
        let told: Vec<_> =
            WORDS.into_iter().filter(|word| differ(shown.iter().map(|measured| word(measured)))).collect();
        let row = |measured: &&Measured<'_>| {
            let first = measured.first()?;
            let words: Vec<String> =
                told.iter().filter_map(|word| word(measured)).filter(|word| !word.is_empty()).collect();
            let name = [vec![curve_name(first)], words].concat().join(", ");
            RangeRow::new(name, meaning(&first.method), axis, values(measured))
        };
        let rows: Vec<RangeRow> = shown.iter().filter_map(row).collect();
        (!rows.is_empty()).then(|| RangePanel { title: title.to_owned(), axis, rows })
    };
    let panels = PANELS.into_iter().filter_map(panel).collect();
    RangeFigure { title: title.to_owned(), subtitle: subtitle.to_owned(), panels }
}

/// Whether there are two words.
fn differ(words: impl Iterator<Item = Option<String>>) -> bool {
    let mut words = words.flatten();
    let first = words.next();
    words.any(|word| Some(word) != first)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{row, run};
    use super::*;
    use crate::figure::Tone;
    use crate::views::{IDLE, RAW};

    fn names(figure: &RangeFigure, panel: usize) -> Vec<&str> {
        figure.panels[panel].rows.iter().map(|row| row.name.as_str()).collect()
    }

    #[test]
    fn lines_tell_what_they_differ_in() {
        let sized = |direction: &str, bulk_bytes| BenchRow {
            direction: direction.into(),
            bulk_bytes,
            setting: None,
            ..row("overtake", 20.0, 40.0)
        };
        let idle = BenchRow { raw_gbps: None, ..row(IDLE, 9.0, 0.0) };
        let raw = BenchRow { p50_us: None, high_bytes: 0, setting: None, ..sized("h2d", 2 << 20) };
        let raw = BenchRow { method: RAW.into(), ..raw };
        let rows = vec![idle, raw, sized("h2d", 2 << 20), sized("h2d", 4 << 20), sized("d2h", 4 << 20)];
        let figure = of_run(&run(rows.clone()), "all");
        let expected = [
            "idle, h2d",
            "overtake, h2d, bulk of 2 MiB",
            "overtake, h2d, bulk of 4 MiB",
            "overtake, d2h, bulk of 4 MiB",
        ];
        assert_eq!(names(&figure, 0), expected);
        assert_eq!(names(&figure, 1)[0], "raw, h2d, bulk of 2 MiB");
        assert_eq!(figure.panels[1].axis, Axis::FromZero);
        let tones: Vec<Tone> = figure.panels[0].rows.iter().map(|row| row.tone).collect();
        assert_eq!(tones[..2], [Tone::Grey, Tone::Green]);
        let one = of_run(&run(rows[2..3].to_vec()), "one");
        assert_eq!(names(&one, 0), ["overtake"], "nothing to tell apart");
    }

    #[test]
    fn environments_tell_lines_apart() {
        let rows = [row("overtake", 20.0, 40.0)];
        let measured = |variant: &str| Measured { variant: variant.to_owned(), rows: &rows };
        let figure = medians("all", "", &[measured("8 queues"), measured("guarded"), measured("")]);
        let expected = ["overtake, chunk_us=40, 8 queues", "overtake, chunk_us=40, guarded", "overtake, chunk_us=40"];
        assert_eq!(names(&figure, 0), expected);
    }
}
