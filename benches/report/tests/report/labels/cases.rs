//! Figures as a run may give them, and harder ones: long names, many series, values at the ends of a clock's range.

use overtake_report as report;
use report::Distribution;
use report::figure::{
    Axis, Cloud, Dot, Gap, Lane, LatencyFigure, Mark, Panel, RangeFigure, RangePanel, RangeRow, Scatter, ScatterPanel,
    Series, Span, Steps, Timeline, Tone,
};

/// Figures with the names under which a test reports them.
type Cases<F> = Vec<(String, F)>;

const TONES: [Tone; 4] = [Tone::Grey, Tone::Red, Tone::Green, Tone::Blue];
const LONG: &str = "WWWWWWW MMMMMM: a name that no figure has room for, because it tells every setting of the run \
                    one by one, in words and not in numbers, and then begins anew, in words and not in numbers";

fn tone(index: usize) -> Tone {
    TONES[index % TONES.len()]
}

/// `count` samples from `low_us` upwards with a tail: made up, for the drawing only.
fn samples(count: u64, low_us: u64, tail_us: u64) -> Distribution {
    let tail_ns = |rank: u64| u128::from(tail_us) * 1_000 * u128::from(rank).pow(6) / u128::from(count).pow(6);
    let sample = |rank: u64| (low_us * 1_000).saturating_add(u64::try_from(tail_ns(rank)).unwrap()) + rank;
    Distribution::new((0..count).map(sample).collect()).unwrap()
}

fn series(name: &str, index: usize, distribution: Distribution) -> Series {
    Series::new(name.to_owned(), tone(index), distribution)
}

fn latency_panel(title: &str, series: Vec<Series>) -> Panel {
    let factor = |lower: &Series, upper: &Series| upper.p50_us / lower.p50_us;
    let ends = series.first().zip(series.last());
    let gap = ends.map(|(lower, upper)| Gap { idle: 0, other: series.len() - 1, factor: factor(lower, upper) });
    Panel { title: title.to_owned(), series, gap, limit_us: None }
}

fn latency_figure(panels: Vec<Panel>) -> LatencyFigure {
    LatencyFigure { title: "How long an urgent copy takes".to_owned(), subtitle: "made up".to_owned(), panels }
}

/// A panel as a run gives it.
fn usual(title: &str) -> Panel {
    let series = vec![
        series("idle", 0, samples(10_000, 8, 14)),
        series("overtake", 2, samples(10_000, 9, 40)),
        series("behind bulk", 1, samples(1_000, 8_400, 4_000)),
    ];
    latency_panel(title, series)
}

fn equal_medians(count: u64) -> Panel {
    let one = |index: u64| series(&format!("method {index}"), index as usize, samples(1_000, 100, 10 + index));
    latency_panel("equal medians", (0..count).map(one).collect())
}

fn decades(count: u64) -> Panel {
    let one = |index: u32| series(&format!("decade {index}"), index as usize, samples(10_000, 10_u64.pow(index), 1));
    latency_panel("decades", (0..count as u32).map(one).collect())
}

fn few_samples(count: u64) -> Panel {
    let series = vec![series("one", 0, samples(count, 5, 5)), series("two", 1, samples(count, 50_000, 5))];
    latency_panel("few samples", series)
}

fn ends_of_the_clock() -> Panel {
    let shortest = series("shortest", 0, Distribution::new(vec![0, 0, 1]).unwrap());
    let longest = series("longest", 1, Distribution::new(vec![u64::MAX - 1, u64::MAX]).unwrap());
    latency_panel("0 to the end of time", vec![shortest, longest])
}

fn long_names() -> Panel {
    let series = vec![series(LONG, 0, samples(100, 5, 5)), series(&LONG[..60], 1, samples(100, 500, 5))];
    latency_panel(LONG, series)
}

/// Two medians with a gap's label between them.
fn near(upper_us: u64) -> Panel {
    let series = vec![series("a", 0, samples(1_000, 10, 3)), series("b", 1, samples(1_000, upper_us, 9))];
    latency_panel("near", series)
}

pub fn latency() -> Cases<LatencyFigure> {
    let mut cases = vec![
        ("one of each".to_owned(), latency_figure(vec![usual("host to device")])),
        ("no panel".to_owned(), latency_figure(vec![])),
        ("no series".to_owned(), latency_figure(vec![latency_panel("nothing", vec![]), usual("something")])),
        ("extreme".to_owned(), latency_figure(vec![ends_of_the_clock(), ends_of_the_clock()])),
        (
            "long names".to_owned(),
            LatencyFigure {
                title: LONG.to_owned(),
                subtitle: LONG.repeat(3),
                panels: vec![long_names(), long_names()],
            },
        ),
    ];
    for panels in 1..=7 {
        let titles = (0..panels).map(|index| format!("panel {index}, 64 KiB"));
        cases.push((format!("{panels} panels"), latency_figure(titles.map(|title| usual(&title)).collect())));
    }
    for count in [2, 3, 11, 20] {
        cases.push((format!("{count} equal medians"), latency_figure(vec![equal_medians(count); 3])));
        cases.push((format!("{count} decades"), latency_figure(vec![decades(count.min(12)); 2])));
        cases.push((format!("{count} samples"), latency_figure(vec![few_samples(count); 3])));
    }
    for limit_us in [0.0, 1e-4, 8.0, 9.0, 100.0, 8_400.0, 16_667.0, 1e12] {
        let panel = |title: &str, limit_us| Panel { limit_us: Some(limit_us), ..usual(title) };
        let panels = vec![panel("its deadline", limit_us), panel("another", 50.0), usual("none")];
        cases.push((format!("a deadline of {limit_us}"), latency_figure(panels)));
    }
    // Two medians in every distance of each other.
    for step in 0..60 {
        let upper = (10.0 * 10_f64.powf(f64::from(step) / 20.0)) as u64;
        let panel = near(upper);
        cases.push((format!("medians 10 and {upper}"), latency_figure(vec![panel.clone(), usual("beside it"), panel])));
    }
    cases
}

fn dot(percent: f64, p50_us: f64, label: &str) -> Dot {
    Dot { percent, p50_us, label: label.to_owned() }
}

fn scatter(panels: Vec<ScatterPanel>) -> Scatter {
    Scatter { title: "latency against bandwidth".to_owned(), subtitle: "made up".to_owned(), panels }
}

pub fn scatters() -> Cases<Scatter> {
    let panel = |title: &str, clouds: Vec<Cloud>| ScatterPanel { title: title.to_owned(), clouds, idle_us: Some(9.0) };
    let cloud = |name: &str, index: usize, dots: Vec<Dot>| Cloud { name: name.to_owned(), tone: tone(index), dots };
    let usual = |name: &str| {
        let dots = (0..5).map(|step| dot(70.0 + 6.0 * f64::from(step), 12.0 + 9.0 * f64::from(step * step), "40"));
        panel("host to device", vec![cloud(name, 2, dots.collect()), cloud("native", 1, vec![dot(100.0, 8_000.0, "")])])
    };
    let crowd = || {
        let dots = (0..60).map(|step| dot(90.0 + f64::from(step) / 20.0, 20.0 + f64::from(step % 3), "chunk_us=40"));
        panel("crowded", vec![cloud("all alike", 2, dots.collect())])
    };
    let extreme = || {
        let dots =
            vec![dot(-5.0, 1e-9, "nothing"), dot(104.0, 1e15, "everything"), dot(1e6, 5.0, LONG), dot(0.0, 0.0, "0")];
        panel("extreme", vec![cloud(LONG, 1, dots)])
    };
    vec![
        ("one".to_owned(), scatter(vec![usual("engine/hold")])),
        ("two".to_owned(), scatter(vec![usual("engine/hold"), usual("kernel/hold")])),
        ("seven".to_owned(), scatter((0..7).map(|index| usual(&format!("method {index}"))).collect())),
        ("crowd".to_owned(), scatter(vec![crowd(), crowd(), crowd()])),
        ("extreme".to_owned(), scatter(vec![extreme(), usual(LONG), panel("", vec![])])),
        ("nothing".to_owned(), scatter(vec![])),
        (
            "above all".to_owned(),
            scatter(vec![panel("a little more than all", vec![cloud("x", 1, vec![dot(104.0, 9.0, "a")])])]),
        ),
        (
            "long".to_owned(),
            Scatter { title: LONG.repeat(4), subtitle: LONG.to_owned(), panels: vec![panel(LONG, vec![]); 4] },
        ),
    ]
}

pub fn ranges() -> Cases<RangeFigure> {
    let on =
        |axis, name: &str, values: &[f64]| RangeRow::new(name.to_owned(), Tone::Green, axis, values.to_vec()).unwrap();
    let row = |name: &str, values: &[f64]| on(Axis::Logarithmic, name, values);
    let figure =
        |panels: Vec<RangePanel>| RangeFigure { title: "contended".to_owned(), subtitle: "made up".to_owned(), panels };
    let panel =
        |title: &str, rows: Vec<RangeRow>| RangePanel { title: title.to_owned(), axis: Axis::Logarithmic, rows };
    let parts = |low: f64, high: f64| {
        let rows = vec![on(Axis::FromZero, "a", &[low, high])];
        RangePanel { title: "%".to_owned(), axis: Axis::FromZero, rows }
    };
    let many = || (0..80).map(|index| row(&format!("h2d, method {index}"), &[3.0 + f64::from(index), 900.0])).collect();
    let decades = |low: i32, high: i32| panel("decades", vec![row("a", &[10_f64.powi(low), 10_f64.powi(high)])]);
    let mut cases = vec![
        ("two panels".to_owned(), figure(vec![panel("us", many()), panel("%", many())])),
        ("nothing".to_owned(), figure(vec![panel("us", vec![])])),
        (
            "long names".to_owned(),
            RangeFigure {
                title: LONG.to_owned(),
                subtitle: LONG.repeat(2),
                panels: vec![panel(LONG, vec![row(LONG, &[1.0]), row(&LONG[..40], &[2.0])])],
            },
        ),
        (
            "extreme".to_owned(),
            figure(vec![panel("us", vec![row("all", &[f64::MIN_POSITIVE, 1e18]), row("high", &[1e18])])]),
        ),
    ];
    for high in -3..16 {
        let name = format!("10^{high}");
        cases.push((name, figure(vec![decades(-3, high), decades(high, high), parts(0.0, 10_f64.powi(high))])));
    }
    cases
}

/// Two of them too close for both names, and one after the last span.
fn deadlines() -> Vec<Mark> {
    let mark = |at_us: f64, label: &str| Mark { at_us, label: label.to_owned() };
    vec![mark(0.0, LONG), mark(5.0, "deadline"), mark(5.1, "deadline"), mark(99.0, "deadline")]
}

fn timeline(title: &str, lanes: Vec<Lane>, steps: Vec<Steps>) -> Timeline {
    Timeline { title: title.to_owned(), lanes, steps, marks: Vec::new() }
}

pub fn timelines() -> Cases<Timeline> {
    let span =
        |start_us: f64, end_us: f64, label: &str| Span { start_us, end_us, label: label.to_owned(), tone: Tone::Green };
    let lane = |name: &str, spans: Vec<Span>| Lane { name: name.to_owned(), spans };
    let steps = |name: &str, points: Vec<(f64, u64)>| Steps { name: name.to_owned(), tone: Tone::Violet, points };
    let row = |width: f64, count: u32, label: &str| {
        (0..count).map(|index| span(width * f64::from(index), width * f64::from(index + 1), label)).collect::<Vec<_>>()
    };
    let mut cases = vec![
        ("nothing".to_owned(), timeline("nothing", vec![], vec![])),
        (
            "long names".to_owned(),
            timeline(LONG, vec![lane(LONG, row(10.0, 3, LONG))], vec![steps(LONG, vec![(5.0, u64::MAX)])]),
        ),
        (
            "each over the other".to_owned(),
            timeline("at once", vec![lane("a", vec![span(0.0, 9.0, "first"); 4])], vec![]),
        ),
        (
            "moments".to_owned(),
            timeline("moments", vec![lane("a", vec![span(0.0, 0.0, "x"), span(9.0, 9.0, "y")])], vec![]),
        ),
        (
            "forty lanes".to_owned(),
            timeline(
                "lanes",
                (0..40).map(|index| lane(&format!("stream {index}"), row(3.0, 9, "copy"))).collect(),
                vec![],
            ),
        ),
    ];
    cases.push(("deadlines".to_owned(), Timeline { marks: deadlines(), ..cases[2].1.clone() }));
    for exponent in -3..13 {
        let end = 10_f64.powi(exponent);
        let values = steps("semaphore", vec![(end * 0.2, 1), (end * 0.3, 12), (end * 1.04, 0)]);
        cases.push((
            format!("until {end}"),
            timeline(
                "spans",
                vec![lane("high", row(end / 7.0, 7, "high1")), lane("low", row(end / 50.0, 50, "low"))],
                vec![values],
            ),
        ));
    }
    cases
}
