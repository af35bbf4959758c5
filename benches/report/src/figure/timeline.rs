//! Lanes of spans over one time axis, and values that change in steps, such as a semaphore's history.

use super::Tone;
use super::axes::{RIGHT, WIDTH};
use super::heading::Heading;
use super::legend::Legend;
use super::scale::linear_ticks;
use crate::format;
use crate::svg::{Anchor, Area, Canvas, font};

/// One piece of work, such as a copy, on one lane.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The time at which it began.
    pub start_us: f64,
    /// The time at which it ended.
    pub end_us: f64,
    /// Its name; drawn where it fits.
    pub label: String,
    /// The colour of its bar.
    pub tone: Tone,
}

/// A stream or an engine, whose work is done one piece after another.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// The name at its left.
    pub name: String,
    /// Its work.
    pub spans: Vec<Span>,
}

/// A value that changes in steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// The name at its left.
    pub name: String,
    /// The colour of its line.
    pub tone: Tone,
    /// The times of its changes and the values from then on, in order of time; before the first it is 0.
    pub points: Vec<(f64, u64)>,
}

/// A moment that matters to all lanes, such as a deadline: a dashed line.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Its time.
    pub at_us: f64,
    /// Its name, above the lanes.
    pub label: String,
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
    /// Moments, in order of time.
    pub marks: Vec<Mark>,
}

/// Left of the names, and the room that they have with it: at least and at most.
const MARGIN: f64 = 24.0;
const NAMES: (f64, f64) = (150.0, 420.0);
const NAME_GAP: f64 = 12.0;
const TOP: f64 = 62.0;
const ROW: f64 = 34.0;
const BAR: f64 = 22.0;
const BOTTOM: f64 = 44.0;
/// Never so thin that it cannot be seen.
const BAR_LEAST: f64 = 1.5;
/// With more lanes than this, each gets as much less height; then a legend names the spans, as bars have no room.
const LANES_MAX: usize = 24;
/// The least height of a lane, and the gap between its bar and the next one's.
const DENSE_ROW: f64 = 3.0;
const DENSE_GAP: f64 = 0.5;
const LEGEND: f64 = 28.0;

impl Timeline {
    /// The time of the last end or change.
    pub(super) fn end_us(&self) -> f64 {
        let spans = self.lanes.iter().flat_map(|lane| &lane.spans).map(|span| span.end_us);
        let steps = self.steps.iter().flat_map(|steps| &steps.points).map(|point| point.0);
        let marks = self.marks.iter().map(|mark| mark.at_us);
        spans.chain(steps).chain(marks).fold(0.0, f64::max)
    }

    /// The left end of the axis: right of the longest name.
    fn left(&self) -> f64 {
        let names = self.lanes.iter().map(|lane| &lane.name).chain(self.steps.iter().map(|steps| &steps.name));
        let widest = names.map(|name| font("").width_px(name)).fold(0.0, f64::max);
        (MARGIN + widest + NAME_GAP).clamp(NAMES.0, NAMES.1)
    }

    fn is_dense(&self) -> bool {
        self.lanes.len() > LANES_MAX
    }

    /// The height of a lane.
    fn row(&self) -> f64 {
        if self.is_dense() { (LANES_MAX as f64 * ROW / self.lanes.len() as f64).max(DENSE_ROW) } else { ROW }
    }

    /// The labels of its spans, and their colours.
    fn names(&self) -> Vec<(&str, Tone)> {
        let mut names: Vec<(&str, Tone)> = Vec::new();
        for span in self.lanes.iter().flat_map(|lane| &lane.spans) {
            if names.iter().all(|(name, _)| *name != span.label) {
                names.push((&span.label, span.tone));
            }
        }
        names
    }

    /// As an SVG document.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let heading = Heading::new(&self.title, "", WIDTH);
        let (left, top) = (self.left(), TOP + heading.extra_height());
        let lanes_height = self.lanes.len() as f64 * self.row();
        let height = lanes_height + self.steps.len() as f64 * ROW;
        let bottom = top + height;
        let names = self.names();
        let legend = self.is_dense().then(|| Legend::new(&names, left, WIDTH - RIGHT));
        let below = legend.as_ref().map_or(0.0, |legend| LEGEND + legend.extra_height());
        let mut canvas = Canvas::new(WIDTH, bottom + BOTTOM + below);
        let end = self.end_us();
        let x = |us: f64| left + (WIDTH - left - RIGHT) * if end > 0.0 { us / end } else { 0.0 };
        heading.draw(&mut canvas);
        canvas.rounded("plot", (left, top), (WIDTH - left - RIGHT, height), 2.0);
        let inside = canvas.inside();
        for tick in linear_ticks(end, 8) {
            canvas.line("grid", (x(tick), top), (x(tick), bottom));
            let places = [Anchor::Middle, Anchor::End].map(|anchor| ((x(tick), bottom + 20.0), anchor));
            canvas.label("small muted", &format::span_us(tick), &inside, &places);
        }
        for (index, lane) in self.lanes.iter().enumerate() {
            let corner = (left, top + index as f64 * self.row());
            match self.is_dense() {
                true => draw_dense(&mut canvas, lane, corner, self.row(), &x),
                false => draw_lane(&mut canvas, lane, corner, &x),
            }
        }
        for (index, steps) in self.steps.iter().enumerate() {
            draw_steps(&mut canvas, steps, (left, top + lanes_height + index as f64 * ROW), x(end), &x);
        }
        for mark in &self.marks {
            let at = x(mark.at_us);
            canvas.line("curve s-ink dashed", (at, top), (at, bottom));
            let places = [Anchor::Middle, Anchor::Start, Anchor::End].map(|anchor| ((at, top - 5.0), anchor));
            canvas.label("small muted", &mark.label, &inside, &places);
        }
        if let Some(legend) = legend {
            legend.draw(&mut canvas, bottom + BOTTOM + LEGEND / 2.0 - 4.0);
        }
        canvas.finish(&self.title)
    }
}

fn draw_name(canvas: &mut Canvas, name: &str, (left, top): (f64, f64)) {
    let room = left - NAME_GAP - MARGIN;
    canvas.text_within("", (left - NAME_GAP, top + ROW / 2.0 + 4.5), Anchor::End, name, room);
    canvas.line("faint", (left, top), (WIDTH - RIGHT, top));
}

fn draw_lane(canvas: &mut Canvas, lane: &Lane, corner: (f64, f64), x: &dyn Fn(f64) -> f64) {
    draw_name(canvas, &lane.name, corner);
    let top = corner.1;
    for span in &lane.spans {
        // A hair between neighbours.
        let (start, width) = (x(span.start_us), (x(span.end_us) - x(span.start_us) - 1.0).max(BAR_LEAST));
        let start = start.min(WIDTH - RIGHT - width);
        let bar =
            Area { left: start, top: top + (ROW - BAR) / 2.0, right: start + width, bottom: top + (ROW + BAR) / 2.0 };
        canvas.rounded(&span.tone.fill(), (bar.left, bar.top), (width, BAR), 3.0);
        let place = ((start + width / 2.0, top + ROW / 2.0 + 4.0), Anchor::Middle);
        canvas.label("small on", &span.label, &bar, &[place]);
    }
}

/// As [`draw_lane`], of any height, with the name where it covers no other.
fn draw_dense(canvas: &mut Canvas, lane: &Lane, (left, top): (f64, f64), row: f64, x: &dyn Fn(f64) -> f64) {
    let inside = canvas.inside();
    canvas.label("small", &lane.name, &inside, &[((left - NAME_GAP, top + row / 2.0 + 4.0), Anchor::End)]);
    for span in &lane.spans {
        let width = (x(span.end_us) - x(span.start_us)).max(BAR_LEAST);
        let start = x(span.start_us).min(WIDTH - RIGHT - width);
        canvas.rounded(&span.tone.fill(), (start, top), (width, row - DENSE_GAP), 0.0);
    }
}

fn draw_steps(canvas: &mut Canvas, steps: &Steps, corner: (f64, f64), right: f64, x: &dyn Fn(f64) -> f64) {
    draw_name(canvas, &steps.name, corner);
    let top = corner.1;
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
