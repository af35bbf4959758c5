//! Latency by percentile: one curve for each series on a logarithmic axis, panels side by side.

use super::Tone;
use super::legend::Legend;
use super::scale::LogScale;
use crate::svg::{Anchor, Canvas};
use crate::{Distribution, carries, format};

/// A named distribution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The same name in every panel: the legend shows it once.
    pub name: String,
    /// Its colour.
    pub tone: Tone,
    /// Its samples.
    pub distribution: Distribution,
}

/// One plot of a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panel {
    /// What is particular to this plot, such as the direction of the copies.
    pub title: String,
    /// The curves.
    pub series: Vec<Series>,
    /// Two series, by index, between whose medians an arrow shows the ratio: first the smaller.
    pub gap: Option<(usize, usize)>,
}

/// A figure of one or more panels that share their axes and their legend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyFigure {
    /// The headline.
    pub title: String,
    /// What was measured, where.
    pub subtitle: String,
    /// The plots, left to right.
    pub panels: Vec<Panel>,
}

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 430.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 108.0;
const BOTTOM: f64 = 86.0;
const BETWEEN: f64 = 28.0;
const LABEL_HEIGHT: f64 = 15.0;
/// Steps of a curve from the minimum to the last percentile shown.
const STEPS: u32 = 120;
/// The last percentiles that an axis may end at, by their count of nines.
const LAST: [(f64, f64); 2] = [(0.999, 3.0), (0.99, 2.0)];

/// Where the arrow of a gap stands, as a share of all samples: between the labels of p50 and p90.
const GAP_SHARE: f64 = 0.82;

/// One panel's place, and the axes.
struct Plot {
    left: f64,
    width: f64,
    scale: LogScale,
    nines: f64,
}

impl Plot {
    fn height() -> f64 {
        HEIGHT - TOP - BOTTOM
    }

    /// Percentiles stand at their count of nines: p90 at 1, p99 at 2; so the tail, which matters, gets the room.
    fn x(&self, share: f64) -> f64 {
        let nines = -(1.0 - share).max(1e-12).log10();
        self.left + self.width * (nines / self.nines).min(1.0)
    }

    fn y(&self, us: f64) -> f64 {
        TOP + Self::height() * (1.0 - self.scale.share(us))
    }
}

impl LatencyFigure {
    fn all_series(&self) -> impl Iterator<Item = &Series> {
        self.panels.iter().flat_map(|panel| &panel.series)
    }

    /// The scale that covers every series up to its 99.9th percentile; `None` where there is no series.
    pub(super) fn scale(&self) -> Option<LogScale> {
        let low = self.all_series().map(|series| series.distribution.quantile_us(0.0)).reduce(f64::min)?;
        let high = self.all_series().map(|series| series.distribution.quantile_us(0.999)).reduce(f64::max)?;
        Some(LogScale::covering(low, high))
    }

    /// Series in the order of the panels, each name once.
    fn legend(&self) -> Vec<&Series> {
        let mut legend: Vec<&Series> = Vec::new();
        for series in self.all_series() {
            if legend.iter().all(|known| known.name != series.name) {
                legend.push(series);
            }
        }
        legend
    }

    /// As an SVG document.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let entries = self.legend().into_iter().map(|series| (series.name.as_str(), series.tone)).collect::<Vec<_>>();
        let legend = Legend::new(&entries, LEFT, WIDTH - RIGHT);
        let mut canvas = Canvas::new(WIDTH, HEIGHT + legend.extra_height());
        canvas.text("title", (24.0, 34.0), Anchor::Start, &self.title);
        canvas.text("muted", (24.0, 56.0), Anchor::Start, &self.subtitle);
        if let Some(scale) = self.scale() {
            let count = self.panels.len() as f64;
            let width = (WIDTH - LEFT - RIGHT - BETWEEN * (count - 1.0)) / count;
            let most = self.all_series().map(|series| series.distribution.samples()).max().unwrap_or(0);
            let nines = LAST.into_iter().find(|(share, _)| carries(most, *share)).map_or(1.0, |(_, nines)| nines);
            for (index, panel) in self.panels.iter().enumerate() {
                let plot = Plot { left: LEFT + index as f64 * (width + BETWEEN), width, scale, nines };
                draw_axes(&mut canvas, &plot, panel, index == 0);
                draw_series(&mut canvas, &plot, panel);
                draw_gap(&mut canvas, &plot, panel);
            }
        }
        legend.draw(&mut canvas, HEIGHT - 26.0);
        canvas.finish(&format!("{}. {}", self.title, self.subtitle))
    }
}

fn draw_axes(canvas: &mut Canvas, plot: &Plot, panel: &Panel, is_first: bool) {
    let (right, bottom) = (plot.left + plot.width, TOP + Plot::height());
    canvas.text("head", (plot.left, TOP - 14.0), Anchor::Start, &panel.title);
    canvas.rounded("plot", (plot.left, TOP), (plot.width, Plot::height()), 2.0);
    for (value, is_labelled) in plot.scale.ticks() {
        let y = plot.y(value);
        canvas.line(if is_labelled { "grid" } else { "faint" }, (plot.left, y), (right, y));
        if is_labelled && is_first {
            canvas.text("small muted", (plot.left - 8.0, y + 4.0), Anchor::End, &format::span_us(value));
        }
    }
    for (share, name) in [(0.0, "min"), (0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9")] {
        if -(1.0_f64 - share).log10() > plot.nines + 1e-9 {
            continue;
        }
        let x = plot.x(share);
        let anchor = match x {
            x if x < plot.left + 1.0 => Anchor::Start,
            x if x > right - 1.0 => Anchor::End,
            _ => Anchor::Middle,
        };
        canvas.line("faint", (x, TOP), (x, bottom));
        canvas.text("small muted", (x, bottom + 18.0), anchor, name);
    }
    canvas.line("axis", (plot.left, bottom), (right, bottom));
}

/// How far a curve goes: to the last percentile that its samples carry, and to the median at least.
fn nines_carried(distribution: &Distribution) -> f64 {
    (1..=STEPS)
        .map(|step| 3.0 * f64::from(step) / f64::from(STEPS))
        .take_while(|nines| carries(distribution.samples(), 1.0 - 10_f64.powf(-nines)))
        .fold(2_f64.log10(), f64::max)
}

fn draw_series(canvas: &mut Canvas, plot: &Plot, panel: &Panel) {
    for series in &panel.series {
        let points: Vec<(f64, f64)> = (0..=STEPS)
            .map(|step| {
                let nines = nines_carried(&series.distribution).min(plot.nines) * f64::from(step) / f64::from(STEPS);
                let share = 1.0 - 10_f64.powf(-nines);
                (plot.x(share), plot.y(series.distribution.quantile_us(share)))
            })
            .collect();
        canvas.curve(&series.tone.stroke(), &points);
        canvas.dot(&series.tone.fill(), (plot.x(0.5), plot.y(series.distribution.quantile_us(0.5))), 4.0);
    }
    let medians: Vec<f64> = panel.series.iter().map(|series| series.distribution.quantile_us(0.5)).collect();
    let labels = place_labels(&medians.iter().map(|us| plot.y(*us)).collect::<Vec<_>>());
    for ((series, median), y) in panel.series.iter().zip(medians).zip(labels) {
        let class = format!("small head {}", series.tone.fill());
        canvas.text(&class, (plot.x(0.5) + 9.0, y), Anchor::Start, &format::span_us(median));
    }
}

/// A baseline for the label of each dot at height `dots[i]`: above its dot where that is free, else below, else further
/// off; free of the other dots (and so of their curves, which are flat around the median) and of labels placed before.
fn place_labels(dots: &[f64]) -> Vec<f64> {
    let middle = |baseline: f64| baseline - 4.0;
    let inside = |baseline: f64| baseline > TOP + 11.0 && baseline < TOP + Plot::height() - 3.0;
    let mut placed: Vec<f64> = Vec::new();
    for dot in dots {
        let is_free = |baseline: &f64| {
            inside(*baseline)
                && dots.iter().all(|other| (middle(*baseline) - other).abs() > 8.0)
                && placed.iter().all(|label| (label - baseline).abs() >= LABEL_HEIGHT)
        };
        let candidates = [-9.0, 19.0, -25.0, 35.0, -41.0, 51.0].map(|offset| dot + offset);
        placed.push(candidates.into_iter().find(is_free).unwrap_or(candidates[0]));
    }
    placed
}

fn draw_gap(canvas: &mut Canvas, plot: &Plot, panel: &Panel) {
    let Some((smaller, larger)) = panel.gap else { return };
    let (Some(smaller), Some(larger)) = (panel.series.get(smaller), panel.series.get(larger)) else { return };
    let (low, high) = (smaller.distribution.quantile_us(GAP_SHARE), larger.distribution.quantile_us(GAP_SHARE));
    let (x, from, to) = (plot.x(GAP_SHARE), plot.y(low) - 5.0, plot.y(high) + 5.0);
    // Curves this close leave no room for an arrow, and there is no gap to speak of.
    if from - to < 48.0 {
        return;
    }
    let medians = (larger.distribution.quantile_us(0.5), smaller.distribution.quantile_us(0.5));
    canvas.line("axis", (x, from - 6.0), (x, to + 6.0));
    canvas.arrow_head("f-grey", (x, from), 1.0);
    canvas.arrow_head("f-grey", (x, to), -1.0);
    let middle = (from + to) / 2.0;
    canvas.text("title", (x + 10.0, middle + 2.0), Anchor::Start, &format::ratio(medians.0, medians.1));
    canvas.text("small muted", (x + 10.0, middle + 19.0), Anchor::Start, "at the median");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_clear_of_each_other_and_of_the_dots() {
        assert_eq!(place_labels(&[200.0, 300.0]), [191.0, 291.0]);
        assert_eq!(place_labels(&[200.0, 202.0]), [191.0, 221.0], "the second goes below");
        assert_eq!(place_labels(&[TOP + 5.0]), [TOP + 24.0], "no room above");
        assert_eq!(place_labels(&[200.0, 200.0, 200.0]), [191.0, 219.0, 175.0]);
    }
}
