//! Medians and their ranges: one line for each value, an axis for each panel, panels below each other.

use super::Tone;
use super::axes::WIDTH;
use super::heading::Heading;
use super::scale::{FromZero, LogScale};
use crate::format;
use crate::svg::{Anchor, Canvas, font};

/// The axis of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// For values that differ by factors, such as latencies.
    Logarithmic,
    /// From 0 on, for parts of a whole, such as bandwidths.
    FromZero,
}

/// One value: lowest, median and highest of several runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeRow {
    /// The measured quantity.
    pub name: String,
    /// The colour of its line.
    pub tone: Tone,
    /// Lowest, median and highest.
    pub values: [f64; 3],
}

impl RangeRow {
    /// From the values of several runs; nothing where the axis could show none of them.
    #[must_use]
    pub fn new(name: String, tone: Tone, axis: Axis, mut values: Vec<f64>) -> Option<RangeRow> {
        values.retain(|value| value.is_finite() && (*value > 0.0 || (*value == 0.0 && axis == Axis::FromZero)));
        values.sort_by(f64::total_cmp);
        let (first, last) = (*values.first()?, *values.last()?);
        let middle = f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2]);
        Some(RangeRow { name, tone, values: [first, middle, last] })
    }
}

/// Values of one unit.
#[derive(Clone, Debug, PartialEq)]
pub struct RangePanel {
    /// Their name and their unit.
    pub title: String,
    /// What they are drawn along.
    pub axis: Axis,
    /// The lines, from above.
    pub rows: Vec<RangeRow>,
}

/// A picture of one panel or more.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeFigure {
    /// The headline.
    pub title: String,
    /// The conditions of the measurement, such as device and number of runs.
    pub subtitle: String,
    /// From above.
    pub panels: Vec<RangePanel>,
}

/// Left of every text at the left.
const MARGIN: f64 = 24.0;
/// The names of the rows have at least and at most this much room, and the medians at the right.
const NAMES: (f64, f64) = (200.0, 520.0);
const MEDIANS: (f64, f64) = (60.0, 220.0);
const TOP: f64 = 100.0;
const ROW: f64 = 18.0;
/// Above the lines of a panel for its title, and below them for the axis.
const PANEL: f64 = 64.0;

/// The two ends of the lines of all panels.
struct Sides {
    left: f64,
    right: f64,
}

impl RangeFigure {
    fn sides(&self) -> Sides {
        let rows = || self.panels.iter().flat_map(|panel| &panel.rows);
        let widest = |width: f64, text: &str| width.max(font("small").width_px(text));
        let names = rows().fold(0.0, |width, row| widest(width, &row.name)) + 10.0 + MARGIN;
        let medians = rows().fold(0.0, |width, row| widest(width, &format::us(row.values[1]))) + 8.0 + MARGIN;
        Sides { left: names.clamp(NAMES.0, NAMES.1), right: WIDTH - medians.clamp(MEDIANS.0, MEDIANS.1) }
    }

    /// As an SVG document.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let heading = Heading::new(&self.title, &self.subtitle, WIDTH);
        let height: f64 = self.panels.iter().map(|panel| PANEL + ROW * panel.rows.len() as f64).sum();
        let mut top = TOP + heading.extra_height();
        let mut canvas = Canvas::new(WIDTH, top + height);
        heading.draw(&mut canvas);
        let sides = self.sides();
        for panel in &self.panels {
            draw(&mut canvas, panel, top, &sides);
            top += PANEL + ROW * panel.rows.len() as f64;
        }
        canvas.finish(&format!("{}. {}", self.title, self.subtitle))
    }
}

/// An axis that covers the rows of a panel.
enum Scale {
    Log(LogScale),
    Linear(FromZero),
}

impl Scale {
    fn of(panel: &RangePanel) -> Option<Scale> {
        let lowest = panel.rows.iter().map(|row| row.values[0]).reduce(f64::min)?;
        let highest = panel.rows.iter().map(|row| row.values[2]).reduce(f64::max)?;
        Some(match panel.axis {
            Axis::Logarithmic => Scale::Log(LogScale::covering(lowest, highest)),
            Axis::FromZero => Scale::Linear(FromZero::covering(highest)),
        })
    }

    fn share(&self, value: f64) -> f64 {
        match self {
            Scale::Log(scale) => scale.share(value),
            Scale::Linear(scale) => scale.share(value),
        }
    }

    /// The values with a line, each with its label and whether that matters most.
    fn ticks(&self) -> Vec<(f64, String, bool)> {
        match self {
            Scale::Log(scale) => scale.ticks().into_iter().map(|(value, is)| (value, format::us(value), is)).collect(),
            Scale::Linear(scale) => scale.ticks().into_iter().map(|(value, text)| (value, text, true)).collect(),
        }
    }
}

fn draw(canvas: &mut Canvas, panel: &RangePanel, top: f64, &Sides { left, right }: &Sides) {
    let Some(scale) = Scale::of(panel) else { return };
    let height = ROW * panel.rows.len() as f64;
    let x = |value: f64| left + (right - left) * scale.share(value);
    canvas.text_within("head", (MARGIN, top - 6.0), Anchor::Start, &panel.title, WIDTH - 2.0 * MARGIN);
    canvas.rounded("plot", (left, top), (right - left, height), 2.0);
    let (labelled, others): (Vec<_>, Vec<_>) = scale.ticks().into_iter().partition(|tick| tick.2);
    let inside = canvas.inside();
    for (value, label, is_labelled) in labelled.into_iter().chain(others) {
        let class = if is_labelled { "grid" } else { "faint" };
        canvas.line(class, (x(value), top), (x(value), top + height));
        let place = ((x(value), top + height + 15.0), Anchor::Middle);
        canvas.label("small muted", &label, &inside, &[place]);
    }
    for (index, row) in panel.rows.iter().enumerate() {
        let y = top + ROW * (index as f64 + 0.5);
        let room = left - 10.0 - MARGIN;
        canvas.text_within("small", (left - 10.0, y + 4.0), Anchor::End, &row.name, room);
        canvas.line(&format!("curve {}", row.tone.solid()), (x(row.values[0]), y), (x(row.values[2]), y));
        canvas.dot(&row.tone.fill(), (x(row.values[1]), y), 4.0);
        canvas.text("small", (right + 8.0, y + 4.0), Anchor::Start, &format::us(row.values[1]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_its_lowest_median_and_highest() {
        let on =
            |axis, values: &[f64]| RangeRow::new("a".into(), Tone::Green, axis, values.to_vec()).map(|row| row.values);
        let row = |values| on(Axis::Logarithmic, values);
        assert_eq!(row(&[3.0, 1.0, 2.0]), Some([1.0, 2.0, 3.0]));
        assert_eq!(row(&[4.0, 1.0]), Some([1.0, 2.5, 4.0]));
        assert_eq!((row(&[]), row(&[0.0, f64::NAN])), (None, None), "nothing that an axis could show");
        assert_eq!(on(Axis::FromZero, &[0.0, 4.0]), Some([0.0, 2.0, 4.0]));
    }

    #[test]
    fn a_panel_from_zero_shows_parts_of_a_whole_by_their_length() {
        let row = |value| RangeRow::new("x".into(), Tone::Green, Axis::FromZero, vec![value]).unwrap();
        let rows = vec![row(50.0), row(100.0)];
        let panels = vec![RangePanel { title: "%".into(), axis: Axis::FromZero, rows }];
        let figure = RangeFigure { title: "bandwidth".into(), subtitle: String::new(), panels };
        let (svg, Sides { left, right }) = (figure.to_svg(), figure.sides());
        for (value, share) in [("0", 0.0), ("20", 20.0 / 102.0), ("100", 100.0 / 102.0)] {
            let x = left + (right - left) * share;
            let tick = format!(r#"<text class="small muted" x="{x:.1}" y="151.0" text-anchor="middle">{value}</text>"#);
            assert!(svg.contains(&tick), "{tick} in {svg}");
        }
    }

    #[test]
    fn every_row_has_its_name_its_line_and_its_median() {
        let row = |name: &str, values: &[f64]| {
            RangeRow::new(name.into(), Tone::Green, Axis::Logarithmic, values.to_vec()).unwrap()
        };
        let rows = vec![row("one", &[5.0, 7.0, 9.0]), row("two & more", &[800.0])];
        let panels = vec![RangePanel { title: "us".into(), axis: Axis::Logarithmic, rows }];
        let svg = RangeFigure { title: "latency".into(), subtitle: "made up".into(), panels }.to_svg();
        for text in [">one<", ">two &amp; more<", ">7.0<", ">800<", ">10.0<", ">100<"] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
        assert_eq!(svg.matches("<circle").count(), 2);
    }
}
