//! What ran where and when: lanes of spans over one time axis, and stepped values such as a semaphore's history.

use super::Tone;
use super::scale::linear_ticks;
use crate::format;
use crate::svg::{Anchor, Canvas};

/// Something that took time.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// When it began.
    pub start_us: f64,
    /// When it ended.
    pub end_us: f64,
    /// What it was; drawn where it fits.
    pub label: String,
    /// Its colour.
    pub tone: Tone,
}

/// A place where things happen one after another: a stream, an engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// Its name.
    pub name: String,
    /// What happened there.
    pub spans: Vec<Span>,
}

/// A value that changes in steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// Its name.
    pub name: String,
    /// Its colour.
    pub tone: Tone,
    /// From when on it had which value, in order of time; before the first point it is 0.
    pub points: Vec<(f64, u64)>,
}

/// Lanes above, stepped values below, one time axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// The headline.
    pub title: String,
    /// The lanes, top to bottom.
    pub lanes: Vec<Lane>,
    /// The stepped values, top to bottom.
    pub steps: Vec<Steps>,
}

const WIDTH: f64 = 960.0;
const LEFT: f64 = 150.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 62.0;
const ROW: f64 = 34.0;
const BAR: f64 = 22.0;
const BOTTOM: f64 = 44.0;

impl Timeline {
    /// When the last thing ended.
    pub(super) fn end_us(&self) -> f64 {
        let spans = self.lanes.iter().flat_map(|lane| &lane.spans).map(|span| span.end_us);
        let steps = self.steps.iter().flat_map(|steps| &steps.points).map(|point| point.0);
        spans.chain(steps).fold(0.0, f64::max)
    }

    /// As an SVG document.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let rows = (self.lanes.len() + self.steps.len()) as f64;
        let bottom = TOP + rows * ROW;
        let mut canvas = Canvas::new(WIDTH, bottom + BOTTOM);
        let end = self.end_us();
        let x = |us: f64| LEFT + (WIDTH - LEFT - RIGHT) * if end > 0.0 { us / end } else { 0.0 };
        canvas.text("title", (24.0, 36.0), Anchor::Start, &self.title);
        canvas.rounded("plot", (LEFT, TOP), (WIDTH - LEFT - RIGHT, rows * ROW), 2.0);
        for tick in linear_ticks(end, 8) {
            canvas.line("grid", (x(tick), TOP), (x(tick), bottom));
            canvas.text("small muted", (x(tick), bottom + 20.0), Anchor::Middle, &format::span_us(tick));
        }
        for (index, lane) in self.lanes.iter().enumerate() {
            draw_lane(&mut canvas, lane, TOP + index as f64 * ROW, &x);
        }
        for (index, steps) in self.steps.iter().enumerate() {
            draw_steps(&mut canvas, steps, TOP + (self.lanes.len() + index) as f64 * ROW, x(end), &x);
        }
        canvas.finish(&self.title)
    }
}

fn draw_name(canvas: &mut Canvas, name: &str, top: f64) {
    canvas.text("", (LEFT - 12.0, top + ROW / 2.0 + 4.5), Anchor::End, name);
    canvas.line("faint", (LEFT, top), (WIDTH - RIGHT, top));
}

fn draw_lane(canvas: &mut Canvas, lane: &Lane, top: f64, x: &dyn Fn(f64) -> f64) {
    draw_name(canvas, &lane.name, top);
    for span in &lane.spans {
        // A hair between neighbours, and never so thin that it cannot be seen.
        let (left, width) = (x(span.start_us), (x(span.end_us) - x(span.start_us) - 1.0).max(1.5));
        canvas.rounded(&span.tone.fill(), (left, top + (ROW - BAR) / 2.0), (width, BAR), 3.0);
        if width > 7.0 * span.label.chars().count() as f64 + 8.0 {
            canvas.text("small on", (left + width / 2.0, top + ROW / 2.0 + 4.0), Anchor::Middle, &span.label);
        }
    }
}

fn draw_steps(canvas: &mut Canvas, steps: &Steps, top: f64, right: f64, x: &dyn Fn(f64) -> f64) {
    draw_name(canvas, &steps.name, top);
    let highest = steps.points.iter().map(|point| point.1).max().unwrap_or(0).max(1) as f64;
    let y = |value: u64| top + (ROW + BAR) / 2.0 - BAR * value as f64 / highest;
    let mut last = y(0);
    let mut points = vec![(x(0.0), last)];
    for (time_us, value) in &steps.points {
        points.extend([(x(*time_us), last), (x(*time_us), y(*value))]);
        last = y(*value);
    }
    points.push((right, last));
    canvas.curve(&steps.tone.stroke(), &points);
}
