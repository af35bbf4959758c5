//! The picture of a trace: a bar for each slice, at its place and as long as it took.

use overtake_report as report;
use report::trace::Trace;

/// Coordinates have one decimal, and both ends are rounded.
const SLACK_PX: f64 = 0.11;
/// A slice that is shorter has this much, so that it can be seen.
const LEAST_PX: f64 = 1.5;
/// A hair between bars that have room for names.
const HAIR_PX: f64 = 1.0;

struct Bar {
    colour: String,
    left: f64,
    top: f64,
    width: f64,
}

fn attribute(line: &str, name: &str) -> Option<String> {
    let from = line.find(&format!(" {name}=\""))? + name.len() + 3;
    Some(line[from..].split('"').next()?.to_owned())
}

fn number(line: &str, name: &str) -> f64 {
    attribute(line, name).unwrap().parse().unwrap()
}

/// The frame of the plot, and all bars from the top to the bottom, each row from the left to the right.
fn bars(svg: &str) -> (Bar, Vec<Bar>) {
    let bar = |line: &str| Bar {
        colour: attribute(line, "class").unwrap(),
        left: number(line, "x"),
        top: number(line, "y"),
        width: number(line, "width"),
    };
    let (mut plots, mut bars): (Vec<Bar>, Vec<Bar>) = (Vec::new(), Vec::new());
    for line in svg.lines().filter(|line| line.starts_with("<rect ")) {
        let bar = bar(line);
        match bar.colour.as_str() {
            "plot" => plots.push(bar),
            colour if colour.starts_with("f-") => bars.push(bar),
            _ => {}
        }
    }
    bars.sort_by(|a, b| (a.top, a.left).partial_cmp(&(b.top, b.left)).unwrap());
    (plots.pop().unwrap(), bars)
}

/// `lanes` tracks with three slices each, of two names.
fn events(lanes: u64) -> (String, Vec<(f64, f64, &'static str)>) {
    let (mut lines, mut slices) = (Vec::new(), Vec::new());
    for lane in 0..lanes {
        for (index, name) in [(0, "long"), (1, "short"), (2, "long")] {
            let (begin, span) = (lane as f64 * 0.5 + index as f64 * 40.0, if name == "long" { 30.0 } else { 8.25 });
            lines.push(format!(
                r#"{{"ph":"X","name":"{name}","pid":1,"tid":{lane},"ts":{},"dur":{span},"args":{{}}}}"#,
                5_000.0 + begin
            ));
            slices.push((begin, span, name));
        }
        let args = format!(r#"{{"name":"multiprocessor {lane:03}"}}"#);
        lines.push(format!(r#"{{"ph":"M","name":"thread_name","pid":1,"tid":{lane},"args":{args}}}"#));
    }
    (format!("[{}]", lines.join(",\n")), slices)
}

#[test]
fn every_slice_is_a_bar_at_its_time() {
    for (lanes, hair_px) in [(3, HAIR_PX), (24, HAIR_PX), (25, 0.0), (300, 0.0)] {
        let (text, slices) = events(lanes);
        let (plot, bars) = bars(&Trace::read(&text).unwrap().timeline("all").to_svg());
        assert_eq!(bars.len(), slices.len(), "{lanes} lanes");
        let end_us = slices.iter().map(|(begin, span, _)| begin + span).fold(0.0, f64::max);
        let px = plot.width / end_us;
        for (bar, (begin_us, span_us, name)) in bars.iter().zip(&slices) {
            let (left, width) = (plot.left + begin_us * px, (span_us * px - hair_px).max(LEAST_PX));
            assert!((bar.left - left).abs() < SLACK_PX, "{lanes} lanes: {} for {left}", bar.left);
            assert!((bar.width - width).abs() < SLACK_PX, "{lanes} lanes: {} for {width}", bar.width);
            assert_eq!(bar.colour, if *name == "long" { "f-blue" } else { "f-orange" });
        }
        let rows = bars.chunk_by(|a, b| a.top == b.top).map(<[Bar]>::len).collect::<Vec<_>>();
        assert_eq!(rows, vec![3; lanes as usize]);
    }
}

#[test]
fn many_lanes_have_a_legend_and_few_have_names_in_their_bars() {
    let texts = |lanes| {
        let svg = Trace::read(&events(lanes).0).unwrap().timeline("all").to_svg();
        let texts = svg.lines().filter(|line| line.starts_with("<text "));
        texts.filter(|line| line.contains(">short<") || line.contains(">long<")).count()
    };
    assert!(texts(3) > 3, "{}", texts(3));
    assert_eq!(texts(300), 2, "one of each in the legend");
}
