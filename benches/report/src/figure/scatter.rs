//! Latency against bandwidth: one cloud of dots for each method, in one panel or more.

use super::heading::Heading;
use super::legend::Legend;
use super::scale::{LogScale, linear_ticks};
use super::{Tone, axes};
use crate::svg::{Anchor, Area, Canvas};

/// One measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Dot {
    /// Bandwidth of the bulk, in percent of its bandwidth alone.
    pub percent: f64,
    /// Median latency.
    pub p50_us: f64,
    /// The part of that which the caller itself spent in the driver: drawn as a stem down to this height.
    pub enqueue_us: Option<f64>,
    /// A setting or the like, which the other dots of its cloud do not share.
    pub label: String,
}

/// The dots of one method, joined in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Cloud {
    /// The same name in every panel: the legend shows it once.
    pub name: String,
    /// The colour of its dots.
    pub tone: Tone,
    /// Measurements, in the order in which a line joins them.
    pub dots: Vec<Dot>,
}

/// One plot of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct ScatterPanel {
    /// The condition of this plot, such as the direction of the copies.
    pub title: String,
    /// The methods.
    pub clouds: Vec<Cloud>,
    /// The latency on an idle device: a dashed line.
    pub idle_us: Option<f64>,
}

/// A figure of one or more panels that share their axes and their legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Scatter {
    /// The headline.
    pub title: String,
    /// The conditions of the measurement, such as device and sizes.
    pub subtitle: String,
    /// The plots, left to right and then downwards.
    pub panels: Vec<ScatterPanel>,
}

/// Height of a panel's frame, and of the legend's first row with the air around it.
const HEIGHT: f64 = 288.0;
const LEGEND: f64 = 104.0;
/// Below a frame: the labels and the name of the axis, and the title of the panel of the next row.
const BELOW: f64 = 88.0;
/// Dots keep this far from the sides of the frame.
const SIDE: f64 = 8.0;

/// One panel's place, and the axes.
struct Plot {
    area: Area,
    scale: LogScale,
    percent: (f64, f64),
}

impl Plot {
    fn x(&self, percent: f64) -> f64 {
        let (low, high) = self.percent;
        let (left, right) = (self.area.left + SIDE, self.area.right - SIDE);
        left + (right - left) * ((percent - low) / (high - low)).clamp(0.0, 1.0)
    }

    fn y(&self, us: f64) -> f64 {
        self.area.bottom - (self.area.bottom - self.area.top) * self.scale.share(us)
    }
}

impl Scatter {
    fn dots(&self) -> impl Iterator<Item = &Dot> {
        self.panels.iter().flat_map(|panel| &panel.clouds).flat_map(|cloud| &cloud.dots)
    }

    fn legend(&self) -> Vec<(&str, Tone)> {
        let mut legend: Vec<(&str, Tone)> = Vec::new();
        for cloud in self.panels.iter().flat_map(|panel| &panel.clouds) {
            if legend.iter().all(|(name, _)| *name != cloud.name) {
                legend.push((&cloud.name, cloud.tone));
            }
        }
        legend
    }

    /// From the shortest enqueueing to the longest latency; nothing where there is no dot.
    fn scale(&self) -> Option<LogScale> {
        let idle = self.panels.iter().filter_map(|panel| panel.idle_us);
        let low = self.dots().map(|dot| dot.enqueue_us.unwrap_or(dot.p50_us)).chain(idle.clone()).reduce(f64::min)?;
        let high = self.dots().map(|dot| dot.p50_us).reduce(f64::max)?;
        Some(LogScale::covering(low, idle.fold(high, f64::max)))
    }

    /// From the lowest bandwidth, rounded down to tens, to all of it, or to the highest where that is more.
    fn percent(&self) -> (f64, f64) {
        let least = self.dots().map(|dot| dot.percent).fold(100.0, f64::min);
        let most = self.dots().map(|dot| dot.percent).fold(100.0, f64::max);
        (((least - 2.0) / 10.0).floor().clamp(0.0, 9.0) * 10.0, most)
    }

    /// As an SVG document.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let heading = Heading::new(&self.title, &self.subtitle, axes::WIDTH);
        let scale = self.scale();
        let grid = axes::grid(self.panels.len(), scale, &heading, HEIGHT, BELOW);
        let first = grid.area(0);
        let entries = self.legend();
        let legend = Legend::new(&entries, first.left, axes::WIDTH - axes::RIGHT);
        let bottom = first.bottom + grid.extra_height() + LEGEND;
        let mut canvas = Canvas::new(axes::WIDTH, bottom + legend.extra_height());
        heading.draw(&mut canvas);
        for (index, panel) in self.panels.iter().enumerate() {
            if let Some(scale) = scale {
                let plot = Plot { area: grid.area(index), scale, percent: self.percent() };
                draw_axes(&mut canvas, &plot, panel, grid.is_first_of_row(index));
                panel.clouds.iter().for_each(|cloud| draw_marks(&mut canvas, &plot, cloud));
                draw_labels(&mut canvas, &plot, panel);
            }
        }
        legend.draw(&mut canvas, bottom - 26.0);
        canvas.finish(&format!("{}. {}", self.title, self.subtitle))
    }
}

fn draw_axes(canvas: &mut Canvas, plot: &Plot, panel: &ScatterPanel, has_labels: bool) {
    let Area { left, top, right, bottom } = plot.area;
    axes::draw(canvas, &plot.area, &panel.title, plot.scale, has_labels);
    for tick in linear_ticks(plot.percent.1 - plot.percent.0, 5) {
        let percent = plot.percent.0 + tick;
        let x = plot.x(percent);
        canvas.line("faint", (x, top), (x, bottom));
        axes::label_below(canvas, &plot.area, x, &format!("{percent:.0} %"));
    }
    let middle = ((left + right) / 2.0, bottom + 40.0);
    canvas.text_within("small muted", middle, Anchor::Middle, "bulk bandwidth, % of bulk alone", right - left);
    canvas.line("axis", (left, bottom), (right, bottom));
    if let Some(idle) = panel.idle_us {
        canvas.line("curve s-grey dashed", (left, plot.y(idle)), (right, plot.y(idle)));
    }
}

fn draw_marks(canvas: &mut Canvas, plot: &Plot, cloud: &Cloud) {
    let points: Vec<(f64, f64)> = cloud.dots.iter().map(|dot| (plot.x(dot.percent), plot.y(dot.p50_us))).collect();
    if points.len() > 1 {
        canvas.curve(&cloud.tone.stroke(), &points);
    }
    for (dot, point) in cloud.dots.iter().zip(points) {
        if let Some(enqueue) = dot.enqueue_us.filter(|enqueue| *enqueue < dot.p50_us) {
            canvas.line(&cloud.tone.stroke(), point, (point.0, plot.y(enqueue)));
        }
        canvas.dot(&cloud.tone.fill(), point, 4.5);
    }
}

fn draw_labels(canvas: &mut Canvas, plot: &Plot, panel: &ScatterPanel) {
    if let Some(idle) = panel.idle_us {
        let y = plot.y(idle);
        let at = |x: f64, anchor| [((x, y - 6.0), anchor), ((x, y + 15.0), anchor)];
        let places = [at(plot.area.left + 6.0, Anchor::Start), at(plot.area.right - 6.0, Anchor::End)].concat();
        canvas.label("small muted", "idle device", &plot.area, &places);
    }
    for dot in panel.clouds.iter().flat_map(|cloud| &cloud.dots) {
        let (x, y) = (plot.x(dot.percent), plot.y(dot.p50_us));
        let beside = |x: f64, anchor| [-6.0, 4.0, 15.0, -18.0, 27.0].map(|offset| ((x, y + offset), anchor));
        let places = [beside(x + 7.0, Anchor::Start), beside(x - 7.0, Anchor::End)].concat();
        canvas.label("small muted", &dot.label, &plot.area, &places);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scatter(dots: Vec<Dot>) -> Scatter {
        let cloud = Cloud { name: "engine/hold".into(), tone: Tone::Blue, dots };
        let panel = ScatterPanel { title: "host to device".into(), clouds: vec![cloud], idle_us: Some(9.0) };
        Scatter { title: "frontier".into(), subtitle: String::new(), panels: vec![panel] }
    }

    fn dot(percent: f64, p50_us: f64) -> Dot {
        Dot { percent, p50_us, enqueue_us: Some(5.0), label: "40".into() }
    }

    #[test]
    fn better_is_lower_and_further_right() {
        let scatter = scatter(vec![dot(80.0, 20.0), dot(95.0, 60.0)]);
        let area = Area { left: 0.0, top: 0.0, right: 100.0, bottom: 100.0 };
        let plot = Plot { area, scale: scatter.scale().unwrap(), percent: scatter.percent() };
        assert!(plot.x(95.0) > plot.x(80.0) && plot.y(60.0) < plot.y(20.0));
        assert_eq!(plot.percent, (70.0, 100.0));
        let svg = scatter.to_svg();
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains("engine/hold") && svg.contains("idle device"), "{svg}");
    }

    #[test]
    fn nothing_measured_draws_no_plot() {
        let svg = scatter(Vec::new()).to_svg();
        assert!(svg.contains("engine/hold") && !svg.contains("<circle"));
    }
}
