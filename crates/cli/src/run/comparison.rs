//! What differs between the runs of a program natively and with overtake, and the answer in one sentence. Ratios are
//! those of two runs of one round, which had the same machine around them.

use report::{Column, Table, format};
use serde::Serialize;
use shim::help::{Answer, Help, help};
use shim::observed::{Observed, Spans};

use super::reports::tail;

/// A wait that becomes shorter by less than this factor has not become shorter.
const SHORTER_MIN: f64 = 1.5;

/// A time of the program that changes by less has not changed, in parts of itself: in several rounds, and in one.
const CHANGE_MIN: f64 = 0.03;
const CHANGE_MIN_ONCE: f64 = 0.1;

/// A program that takes longer by less only pays for the start of overtake.
const START_US: f64 = 500_000.0;

/// A program that takes less by less shows how much the starts of programs scatter.
const SCATTER_US: f64 = 20_000.0;

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sample {
    /// The time of the program.
    pub wall_us: f64,
    /// That part of it in which threads were in calls that copy.
    pub blocked_us: f64,
    /// Waits of urgent copies that were issued while bulk was in flight.
    pub behind: Spans,
    /// Those of others.
    pub alone: Spans,
    /// The rate of bulk, from the first copy to the last.
    pub bulk_gbps: Option<f64>,
}

/// Two runs, one behind the other.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Round {
    pub native: Sample,
    pub overtake: Sample,
}

impl Sample {
    pub fn of(wall_us: f64, seen: &Observed) -> Sample {
        Sample {
            wall_us,
            blocked_us: seen.sum(|engine| engine.blocked_us) as f64,
            behind: seen.waits.behind,
            alone: seen.waits.alone,
            bulk_gbps: seen.bulk_gbps(),
        }
    }
}

/// A row of the table.
struct Figure {
    name: &'static str,
    of: fn(&Sample) -> Option<f64>,
    shown: fn(f64) -> String,
}

fn gbps(value: f64) -> String {
    format!("{} GB/s", format::gbps(value))
}

/// The one figure that is better when it is greater.
const RATE: &str = "rate of bulk";

const FIGURES: [Figure; 8] = [
    Figure { name: "time of the program", of: |run| Some(run.wall_us), shown: format::span_us },
    Figure { name: "time in calls that copy", of: |run| Some(run.blocked_us), shown: format::span_us },
    Figure { name: "urgent copies beside bulk, mean", of: |run| mean_us(&run.behind), shown: format::span_us },
    Figure { name: "urgent copies beside bulk, p50", of: |run| run.behind.middle_us(), shown: format::span_us },
    Figure { name: "urgent copies beside bulk, p99", of: |run| tail(&run.behind), shown: format::span_us },
    Figure { name: "other urgent copies, p50", of: |run| run.alone.middle_us(), shown: format::span_us },
    Figure { name: "other urgent copies, p99", of: |run| tail(&run.alone), shown: format::span_us },
    Figure { name: RATE, of: |run| run.bulk_gbps, shown: gbps },
];

/// The answer goes by this. Natively the copies that wait for bulk wait for so long that a program makes few of them,
/// and the median is that of the others; and whether bulk was in flight is an estimate.
fn mean_us(spans: &Spans) -> Option<f64> {
    (spans.count > 0).then(|| spans.sum_us / spans.count as f64)
}

/// The middle of an odd number of values, or the mean of the two in the middle.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

/// The median over the rounds.
fn over(rounds: &[Round], of: impl Fn(&Round) -> Option<f64>) -> Option<f64> {
    median(rounds.iter().filter_map(of).collect())
}

/// The ratios of native to overtake within each round.
fn ratios(rounds: &[Round], of: fn(&Sample) -> Option<f64>) -> Vec<f64> {
    let ratio = |round: &Round| {
        let (native, overtake) = (of(&round.native)?, of(&round.overtake)?);
        (overtake > 0.0).then(|| native / overtake)
    };
    rounds.iter().filter_map(ratio).collect()
}

/// A ratio for a reader: `12.3x`.
fn times(ratio: f64) -> String {
    if ratio >= 100.0 { format!("{ratio:.0}x") } else { format!("{ratio:.2}x") }
}

/// Before and after, a line for each figure that there is. More than `1x` is better in each line.
pub fn table(rounds: &[Round]) -> Table {
    let columns = vec![
        Column::words("median of the rounds"),
        Column::numbers("natively"),
        Column::numbers("overtake"),
        Column::numbers("better by"),
        Column::numbers("lowest, highest"),
    ];
    let mut table = Table::new(columns);
    for figure in &FIGURES {
        let (native, overtake) =
            (over(rounds, |round| (figure.of)(&round.native)), over(rounds, |round| (figure.of)(&round.overtake)));
        if native.is_none() && overtake.is_none() {
            continue;
        }
        let mut ratios = ratios(rounds, figure.of);
        if figure.name == RATE {
            ratios.iter_mut().for_each(|ratio| *ratio = ratio.recip());
        }
        let span = ratios.iter().copied().reduce(f64::min).zip(ratios.iter().copied().reduce(f64::max));
        let shown = |value: Option<f64>| value.map_or("-".to_owned(), figure.shown);
        table.push([
            figure.name.to_owned(),
            shown(native),
            shown(overtake),
            median(ratios).map_or("-".to_owned(), times),
            span.map_or("-".to_owned(), |(low, high)| format!("{}, {}", times(low), times(high))),
        ]);
    }
    table
}

/// The answer, from what was measured, and what was seen of all native runs together.
pub fn judge(rounds: &[Round], natively: &Observed) -> Help {
    let waits = ratios(rounds, |run| mean_us(&run.behind));
    let (waits, time) = (agreed(&waits, SHORTER_MIN), time(rounds));
    let count = match rounds.len() {
        1 => "one round, which is little to go by".to_owned(),
        many => format!("{many} rounds"),
    };
    let mut found = Vec::new();
    if let Some(ratio) = waits {
        let of = |of: fn(&Round) -> &Sample| over(rounds, |round| mean_us(&of(round).behind)).unwrap_or_default();
        let [native, overtake] = [of(|round| &round.native), of(|round| &round.overtake)].map(format::span_us);
        found.push(match ratio > 1.0 {
            true => {
                format!("urgent copies beside bulk took {overtake} in place of {native} on average ({})", times(ratio))
            }
            false => format!("urgent copies beside bulk took {overtake} on average, and natively {native}"),
        });
    }
    if let Some(ratio) = time {
        let percent = (1.0 - 1.0 / ratio).abs() * 100.0;
        found.push(format!("the program took {percent:.0} % {} time", if ratio > 1.0 { "less" } else { "more" }));
    }
    let kept = median(ratios(rounds, |run| run.bulk_gbps)).filter(|_| !found.is_empty());
    found.extend(kept.map(|ratio| format!("bulk had {:.0} % of its rate", 100.0 / ratio)));
    let found_text = found.join(", ");
    let better = [waits, time].iter().flatten().filter(|ratio| **ratio > 1.0).count();
    match [waits, time].iter().flatten().count() {
        0 => no_difference(&help(natively), &count),
        all if better == all => Help {
            answer: Answer::Helps,
            what: format!("overtake helps this program: {found_text} ({count})"),
            cure: None,
        },
        _ if better > 0 => Help {
            answer: Answer::Helps,
            what: format!("overtake helps one part of this program and costs another: {found_text} ({count})"),
            cure: Some("--wait-budget 60us, which leaves bulk its rate".to_owned()),
        },
        _ => Help {
            answer: Answer::Cannot,
            what: format!("overtake does not help this program: {found_text} ({count})"),
            cure: Some("running it without overtake".to_owned()),
        },
    }
}

/// The ratio of the program's times, if it has changed.
fn time(rounds: &[Round]) -> Option<f64> {
    let change_min = if rounds.len() == 1 { CHANGE_MIN_ONCE } else { CHANGE_MIN };
    let ratio = agreed(&ratios(rounds, |run| Some(run.wall_us)), 1.0 + change_min)?;
    let longer_us = median(rounds.iter().map(|round| round.overtake.wall_us - round.native.wall_us).collect())?;
    let has_changed = if ratio > 1.0 { longer_us <= -SCATTER_US } else { longer_us >= START_US };
    has_changed.then_some(ratio)
}

/// The median of ratios that all are on one side of 1, and lie further from it than `min` at the median.
fn agreed(ratios: &[f64], min: f64) -> Option<f64> {
    let all = |holds: fn(&f64) -> bool| ratios.iter().all(holds);
    let ratio = median(ratios.to_vec())?;
    let is_clear = (ratio >= min && all(|ratio| *ratio > 1.0)) || (ratio <= 1.0 / min && all(|ratio| *ratio < 1.0));
    is_clear.then_some(ratio)
}

/// Nothing differs: the native runs may tell why.
fn no_difference(seen: &Help, count: &str) -> Help {
    let why = match seen.answer {
        Answer::Cannot => format!("; {}", seen.what),
        _ => String::new(),
    };
    Help {
        answer: if seen.answer == Answer::Cannot { Answer::Cannot } else { Answer::Little },
        what: format!("overtake makes no clear difference to this program ({count}){why}"),
        cure: seen.cure.clone().filter(|_| seen.answer == Answer::Cannot),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(us: f64) -> Spans {
        Spans { count: 2_000, sum_us: us * 2e3, p50_us: Some(us), p99_us: Some(2.0 * us), max_us: 2.0 * us }
    }

    fn run(wall_us: f64, behind_us: f64, gbps: f64) -> Sample {
        let behind = if behind_us > 0.0 { spans(behind_us) } else { Spans::default() };
        Sample { wall_us, behind, bulk_gbps: Some(gbps), ..Sample::default() }
    }

    fn round(native: (f64, f64, f64), overtake: (f64, f64, f64)) -> Round {
        let run = |(wall, behind, gbps)| run(wall, behind, gbps);
        Round { native: run(native), overtake: run(overtake) }
    }

    const BEFORE: (f64, f64, f64) = (1e7, 8_400.0, 50.0);

    /// One case: the runs, the answer, and a part of the sentence.
    type Case = (Vec<Round>, Answer, &'static str);

    fn cases() -> Vec<Case> {
        let of = |after: &[(f64, f64, f64)]| after.iter().map(|after| round(BEFORE, *after)).collect::<Vec<Round>>();
        vec![
            (
                of(&[(1e7, 12.0, 45.0), (1.01e7, 10.0, 45.0), (0.99e7, 11.0, 45.0)]),
                Answer::Helps,
                "overtake helps this program: urgent copies beside bulk took 11 us in place of 8.4 ms on average \
                 (764x), bulk had 90 % of its rate (3 rounds)",
            ),
            (
                of(&[(0.5e7, 12.0, 50.0)]),
                Answer::Helps,
                "the program took 50 % less time, bulk had 100 % of its rate (one",
            ),
            (of(&[(1.2e7, 12.0, 40.0); 2]), Answer::Helps, "one part of this program and costs another: urgent"),
            (
                of(&[(1.2e7, 8_400.0, 40.0); 2]),
                Answer::Cannot,
                "does not help this program: the program took 20 % more",
            ),
            (of(&[(1.04e7, 8_400.0, 50.0); 2]), Answer::Little, "no clear difference"),
            (of(&[(1e7, 8_000.0, 50.0); 2]), Answer::Little, "no clear difference to this program (2 rounds)"),
            (of(&[(0.9e7, 8_400.0, 50.0), (1.1e7, 8_400.0, 50.0)]), Answer::Little, "no clear difference"),
        ]
    }

    #[test]
    fn each_comparison_gets_its_answer() {
        let seen = Observed { only: true, ..Observed::default() };
        for (rounds, answer, part) in cases() {
            let help = judge(&rounds, &contended(&seen));
            assert!(help.answer == answer && help.what.contains(part), "{part}: {help:?}");
        }
    }

    /// A program that overtake would help.
    fn contended(seen: &Observed) -> Observed {
        let engine = shim::observed::Engine {
            copies: 20,
            streams: 2,
            urgent: 10,
            bulk: 10,
            bulk_bytes: 8 << 20,
            bulk_large_bytes: 8 << 20,
            behind: 5,
            behind_us: 50_000,
            ..shim::observed::Engine::default()
        };
        Observed { engines: vec![engine], ..seen.clone() }
    }

    /// Sixteen large copies are queued, and small ones are made one after the other until those are over: natively one
    /// of sixteen waits, and for all of them.
    #[test]
    fn a_few_long_waits_decide() {
        let waits = |count, sum_us| Spans { count, sum_us, p50_us: Some(28.0), ..Spans::default() };
        let run = |behind| Sample { wall_us: 1e7, behind, bulk_gbps: Some(30.0), ..Sample::default() };
        let round = Round { native: run(waits(703, 3.33e6)), overtake: run(waits(5_375, 1.65e5)) };
        let said = judge(&[round.clone(), round], &Observed::default());
        assert!(
            said.answer == Answer::Helps && said.what.contains("30.7 us in place of 4.74 ms on average"),
            "{said:?}"
        );
    }

    #[test]
    fn the_scatter_of_starts_is_no_difference() {
        for (natively_us, us, answer) in [(17_600.0, 15_700.0, Answer::Little), (1e6, 0.8e6, Answer::Helps)] {
            let rounds = [round((natively_us, 0.0, 50.0), (us, 0.0, 50.0))];
            assert_eq!(judge(&rounds, &contended(&Observed::default())).answer, answer);
        }
    }

    #[test]
    fn without_a_difference_the_native_run_tells_why() {
        let rounds = [round((1e6, 0.0, 50.0), (1e6, 0.0, 50.0))];
        let said = judge(&rounds, &Observed { only: true, ..Observed::default() });
        assert_eq!(said.answer, Answer::Cannot);
        assert!(
            said.what.ends_with("cannot help this program: it has made no copy between host and device"),
            "{said:?}"
        );
    }

    #[test]
    fn the_table_has_the_figures_that_there_are() {
        let shown = table(&[round(BEFORE, (1e7, 12.0, 45.0)), round(BEFORE, (1e7, 10.5, 45.0))]).to_string();
        let cells = |name| -> Vec<&str> {
            let row = shown.lines().find(|line| line.starts_with(name)).unwrap_or_default();
            row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
        };
        assert_eq!(
            cells("urgent copies beside bulk, p50")[1..],
            ["8.4 ms", "11.2 us", "750x", "700x, 800x"],
            "{shown}"
        );
        assert_eq!(cells("rate of bulk")[1..], ["50.0 GB/s", "45.0 GB/s", "0.90x", "0.90x, 0.90x"], "{shown}");
        assert!(!shown.contains("other urgent"), "{shown}");
    }
}
