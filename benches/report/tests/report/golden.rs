//! Figures and pages, compared with the files in `tests/golden`. `OVERTAKE_BLESS=1 cargo test` writes them anew; look
//! at them before you commit them.

use std::path::PathBuf;

use overtake_report as report;
use report::figure::{Gap, Lane, LatencyFigure, Panel, Series, Span, Steps, Timeline, Tone};
use report::{Column, Distribution, Header, Page, Section, Table};

fn compare(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("OVERTAKE_BLESS").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(actual == expected, "{name} differs from {}; OVERTAKE_BLESS=1 accepts it:\n{actual}", path.display());
}

/// `count` samples from `low_us` upwards with a tail: made up, for the drawing only.
fn samples(count: u64, low_us: u64, tail_us: u64) -> Distribution {
    let tail_ns = |rank: u64| u128::from(tail_us * 1_000) * u128::from(rank).pow(6) / u128::from(count).pow(6);
    let sample = |rank: u64| low_us * 1_000 + u64::try_from(tail_ns(rank)).unwrap() + rank;
    Distribution::new((0..count).map(sample).collect()).unwrap()
}

fn latency_figure() -> LatencyFigure {
    let series = |name: &str, tone, distribution| Series::new(name.into(), tone, distribution);
    let panel = |title: &str, shift: u64| Panel {
        title: title.into(),
        series: vec![
            series("idle", Tone::Grey, samples(1_200, 8 + shift, 14)),
            series("behind bulk", Tone::Orange, samples(200, 8_400, 4_000)),
            series("behind bulk, highest stream priority", Tone::Red, samples(200, 8_450, 9_000)),
        ],
        gap: Some(Gap { idle: 0, other: 2, factor: 974.0 }),
        limit_us: None,
    };
    LatencyFigure {
        title: "A <small> copy behind bulk".into(),
        subtitle: "64 KiB & 256 MiB, made-up samples".into(),
        panels: vec![panel("host to device", 0), panel("device to host", 1)],
    }
}

fn timeline() -> Timeline {
    let span = |start_us, end_us, label: &str, tone| Span { start_us, end_us, label: label.into(), tone };
    let urgent = vec![span(10.0, 14.0, "high1", Tone::Green), span(14.0, 18.0, "high2", Tone::Green)];
    let bulk = vec![
        span(0.0, 10.0, "low1", Tone::Orange),
        span(18.0, 28.0, "low2", Tone::Orange),
        span(28.0, 38.0, "low3", Tone::Orange),
    ];
    Timeline {
        title: "high overtakes low".into(),
        lanes: vec![Lane { name: "high".into(), spans: urgent }, Lane { name: "low".into(), spans: bulk }],
        steps: vec![Steps {
            name: "semaphore".into(),
            tone: Tone::Violet,
            points: vec![(5.0, 1), (8.0, 2), (14.0, 1), (18.0, 0)],
        }],
        marks: vec![],
    }
}

fn header() -> Header {
    Header {
        version: "0.1.0".into(),
        commit: "unknown".into(),
        command: "overtake demo --html page.html".into(),
        product: 1,
        device: "Soft <GPU>".into(),
        driver: "13.0".into(),
        driver_release: None,
        backend: "soft".into(),
        environment: [("CUDA_DEVICE_MAX_CONNECTIONS".to_owned(), "1".to_owned())].into(),
    }
}

#[test]
fn latency_as_svg() {
    compare("latency.svg", &latency_figure().to_svg());
}

#[test]
fn latency_as_text() {
    compare("latency.txt", &latency_figure().to_text(100));
}

#[test]
fn a_figure_without_series_is_still_a_document() {
    let empty = LatencyFigure { title: "nothing".into(), subtitle: String::new(), panels: vec![] };
    assert!(empty.to_svg().ends_with("</svg>\n"));
    assert_eq!(empty.to_text(80), "");
}

#[test]
fn an_axis_ends_at_the_last_percentile_that_samples_carry() {
    let figure = |count| {
        let series = vec![Series::new("x".into(), Tone::Blue, samples(count, 10, 10))];
        let panels = vec![Panel { title: "x".into(), series, gap: None, limit_us: None }];
        LatencyFigure { title: "x".into(), subtitle: "x".into(), panels }.to_svg()
    };
    assert!(figure(999).contains("p90") && !figure(999).contains("p99"));
    assert!(figure(1_000).contains("p99") && !figure(9_999).contains("p99.9"));
    assert!(figure(10_000).contains("p99.9"));
}

#[test]
fn timeline_as_svg() {
    compare("timeline.svg", &timeline().to_svg());
}

#[test]
fn timeline_as_text() {
    compare("timeline.txt", &timeline().to_text(90));
}

#[test]
fn page_as_html() {
    let mut table = Table::new(vec![Column::words("method"), Column::numbers("p50 (us)")]);
    table.push(["idle", "8.7"]);
    let section = Section {
        heading: "Latency".into(),
        text: "Lower is better.".into(),
        svg: Some(timeline().to_svg()),
        table: Some(table),
    };
    let page = Page { title: "overtake demo".into(), header: header(), sections: vec![section] };
    compare("page.html", &page.to_html());
}
