//! Latency against bandwidth: one cloud of dots for each method, panels side by side.

use super::Tone;
use super::legend::Legend;
use super::scale::{LogScale, linear_ticks};
use crate::format;
use crate::svg::{Anchor, Canvas};

/// One measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Dot {
    /// Bandwidth of the bulk, in percent of what it has alone.
    pub percent: f64,
    /// Median latency.
    pub p50_us: f64,
    /// How much of that the caller itself spent in the driver: drawn as a stem down to this height.
    pub enqueue_us: Option<f64>,
    /// What tells it from the other dots of its cloud, such as a setting.
    pub label: String,
}

/// The dots of one method, joined in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Cloud {
    /// The same name in every panel: the legend shows it once.
    pub name: String,
    /// Its colour.
    pub tone: Tone,
    /// Its measurements.
    pub dots: Vec<Dot>,
}

/// One plot of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct ScatterPanel {
    /// What is particular to this plot.
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
    /// What was measured, where.
    pub subtitle: String,
    /// The plots, left to right.
    pub panels: Vec<ScatterPanel>,
}

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 500.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 108.0;
const BOTTOM: f64 = 104.0;
const BETWEEN: f64 = 28.0;

/// One panel's place, and the axes.
struct Plot {
    left: f64,
    width: f64,
    scale: LogScale,
    low_percent: f64,
}

impl Plot {
    fn bottom() -> f64 {
        HEIGHT - BOTTOM
    }

    fn x(&self, percent: f64) -> f64 {
        let share = (percent - self.low_percent) / (100.0 - self.low_percent);
        self.left + self.width * share.clamp(0.0, 1.03)
    }

    fn y(&self, us: f64) -> f64 {
        TOP + (Plot::bottom() - TOP) * (1.0 - self.scale.share(us))
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

    /// From the lowest bandwidth, rounded down to tens, to all of it; from the smallest enqueueing to the highest
    /// latency.
    fn plot(&self, index: usize) -> Option<Plot> {
        let idle = self.panels.iter().filter_map(|panel| panel.idle_us);
        let low = self.dots().map(|dot| dot.enqueue_us.unwrap_or(dot.p50_us)).chain(idle).reduce(f64::min)?;
        let high = self.dots().map(|dot| dot.p50_us).reduce(f64::max)?;
        let least = self.dots().map(|dot| dot.percent).reduce(f64::min)?;
        let count = self.panels.len() as f64;
        let width = (WIDTH - LEFT - RIGHT - BETWEEN * (count - 1.0)) / count;
        Some(Plot {
            left: LEFT + index as f64 * (width + BETWEEN),
            width,
            scale: LogScale::covering(low, high),
            low_percent: ((least - 2.0) / 10.0).floor().clamp(0.0, 9.0) * 10.0,
        })
    }

    /// As an SVG document.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let entries = self.legend();
        let legend = Legend::new(&entries, LEFT, WIDTH - RIGHT);
        let mut canvas = Canvas::new(WIDTH, HEIGHT + legend.extra_height());
        canvas.text("title", (24.0, 34.0), Anchor::Start, &self.title);
        canvas.text("muted", (24.0, 56.0), Anchor::Start, &self.subtitle);
        for (index, panel) in self.panels.iter().enumerate() {
            if let Some(plot) = self.plot(index) {
                draw_axes(&mut canvas, &plot, panel, index == 0);
                panel.clouds.iter().for_each(|cloud| draw_cloud(&mut canvas, &plot, cloud));
            }
        }
        legend.draw(&mut canvas, HEIGHT - 26.0);
        canvas.finish(&format!("{}. {}", self.title, self.subtitle))
    }
}

fn draw_axes(canvas: &mut Canvas, plot: &Plot, panel: &ScatterPanel, is_first: bool) {
    let (right, bottom) = (plot.left + plot.width, Plot::bottom());
    canvas.text("head", (plot.left, TOP - 14.0), Anchor::Start, &panel.title);
    canvas.rounded("plot", (plot.left, TOP), (plot.width, bottom - TOP), 2.0);
    for (value, is_labelled) in plot.scale.ticks() {
        let y = plot.y(value);
        canvas.line(if is_labelled { "grid" } else { "faint" }, (plot.left, y), (right, y));
        if is_labelled && is_first {
            canvas.text("small muted", (plot.left - 8.0, y + 4.0), Anchor::End, &format::span_us(value));
        }
    }
    for tick in linear_ticks(100.0 - plot.low_percent, 5) {
        let x = plot.x(plot.low_percent + tick);
        canvas.line("faint", (x, TOP), (x, bottom));
        canvas.text("small muted", (x, bottom + 18.0), Anchor::Middle, &format!("{:.0} %", plot.low_percent + tick));
    }
    let middle = plot.left + plot.width / 2.0;
    canvas.text("small muted", (middle, bottom + 40.0), Anchor::Middle, "bulk bandwidth, of what it has alone");
    canvas.line("axis", (plot.left, bottom), (right, bottom));
    if let Some(idle) = panel.idle_us {
        let y = plot.y(idle);
        canvas.line("curve s-grey dashed", (plot.left, y), (right, y));
        canvas.text("small muted", (plot.left + 6.0, y - 6.0), Anchor::Start, "idle device");
    }
}

fn draw_cloud(canvas: &mut Canvas, plot: &Plot, cloud: &Cloud) {
    let at = |dot: &Dot| (plot.x(dot.percent), plot.y(dot.p50_us));
    let points: Vec<(f64, f64)> = cloud.dots.iter().map(at).collect();
    if points.len() > 1 {
        canvas.curve(&cloud.tone.stroke(), &points);
    }
    for (dot, point) in cloud.dots.iter().zip(points) {
        if let Some(enqueue) = dot.enqueue_us.filter(|enqueue| *enqueue < dot.p50_us) {
            canvas.line(&cloud.tone.stroke(), point, (point.0, plot.y(enqueue)));
        }
        canvas.dot(&cloud.tone.fill(), point, 4.5);
        canvas.text("small muted", (point.0 + 7.0, point.1 - 6.0), Anchor::Start, &dot.label);
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
        let plot = scatter.plot(0).unwrap();
        assert!(plot.x(95.0) > plot.x(80.0) && plot.y(60.0) < plot.y(20.0));
        assert_eq!(plot.low_percent, 70.0);
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
