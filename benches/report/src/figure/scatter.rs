//! Latency against bandwidth: the dots of each method with a line through them, in one panel or more.

use super::heading::Heading;
use super::legend::Legend;
use super::scale::{FromZero, LogScale};
use super::{Tone, axes};
use crate::svg::{Anchor, Area, Canvas};

/// One measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Dot {
    /// Bandwidth of the bulk, in percent of its bandwidth alone.
    pub percent: f64,
    /// Median latency.
    pub p50_us: f64,
    /// The value of a setting in which the dots of its cloud differ, with its unit: `60 us`.
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
/// Dots that follow each other within this distance have one label.
const NEAR: f64 = 12.0;
/// A label of a dot with all of the bandwidth may reach so far beyond the frame.
const BEYOND: f64 = 14.0;
/// With more methods than this only the ends of their lines have labels.
const ALL_LABELS_MAX: usize = 3;
/// The name of the dashed line.
const IDLE: &str = "idle device";

/// One panel's place, and the axes.
struct Plot {
    area: Area,
    scale: LogScale,
    percent: FromZero,
}

impl Plot {
    fn x(&self, percent: f64) -> f64 {
        let (left, right) = (self.area.left + SIDE, self.area.right - SIDE);
        left + (right - left) * self.percent.share(percent)
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
        let has_idle = self.panels.iter().any(|panel| panel.idle_us.is_some());
        let mut legend: Vec<(&str, Tone)> = has_idle.then_some((IDLE, Tone::Grey)).into_iter().collect();
        for cloud in self.panels.iter().flat_map(|panel| &panel.clouds) {
            if legend.iter().all(|(name, _)| *name != cloud.name) {
                legend.push((&cloud.name, cloud.tone));
            }
        }
        legend
    }

    /// From the shortest latency to the longest; nothing where there is no dot.
    fn scale(&self) -> Option<LogScale> {
        let idle = self.panels.iter().filter_map(|panel| panel.idle_us);
        let latencies: Vec<f64> = self.dots().map(|dot| dot.p50_us).collect();
        let low = latencies.iter().copied().reduce(f64::min)?;
        let high = latencies.into_iter().chain(idle.clone()).fold(low, f64::max);
        Some(LogScale::covering(idle.fold(low, f64::min), high))
    }

    /// From nothing to all of it, or to the highest where that is more.
    fn percent(&self) -> FromZero {
        FromZero::covering(self.dots().map(|dot| dot.percent).fold(100.0, f64::max))
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
    for (percent, label) in plot.percent.ticks() {
        let x = plot.x(percent);
        canvas.line("faint", (x, top), (x, bottom));
        axes::label_below(canvas, &plot.area, x, &format!("{label} %"));
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
    points.into_iter().for_each(|point| canvas.dot(&cloud.tone.fill(), point, 4.5));
}

fn draw_labels(canvas: &mut Canvas, plot: &Plot, panel: &ScatterPanel) {
    let place = |dot: &Dot| (plot.x(dot.percent), plot.y(dot.p50_us));
    let is_near = |one: &Dot, next: &Dot| {
        let (one, next) = (place(one), place(next));
        (one.0 - next.0).abs() <= NEAR && (one.1 - next.1).abs() <= NEAR
    };
    let bounds = Area { right: plot.area.right + BEYOND, ..plot.area };
    for cloud in &panel.clouds {
        let parts: Vec<&[Dot]> = cloud.dots.chunk_by(is_near).collect();
        for (index, dots) in parts.iter().enumerate() {
            let is_end = index == 0 || index + 1 == parts.len();
            if !is_end && panel.clouds.len() > ALL_LABELS_MAX {
                continue;
            }
            let (x, y) = place(&dots[0]);
            let beside = |offset: f64| [((x - 9.0, y + offset), Anchor::End), ((x + 9.0, y + offset), Anchor::Start)];
            let above = [-9.0, 19.0].map(|offset| ((x, y + offset), Anchor::Middle));
            let far = [-6.0, 15.0, -18.0, 27.0].map(beside).concat();
            let places = [&beside(4.0)[..], &above, &far].concat();
            let class = format!("small head {}", cloud.tone.fill());
            canvas.label(&class, &joint_label(dots), &bounds, &places);
        }
    }
}

/// One label for neighbours: `0, 30 us`, `0 to 80 us`.
fn joint_label(dots: &[Dot]) -> String {
    let labels: Vec<&str> = dots.iter().map(|dot| dot.label.as_str()).filter(|label| !label.is_empty()).collect();
    let bare = |label: &str| label.split(' ').next().unwrap_or(label).to_owned();
    match labels[..] {
        [] => String::new(),
        [one] => one.to_owned(),
        [one, other] => format!("{}, {other}", bare(one)),
        [first, .., last] => format!("{} to {last}", bare(first)),
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

    fn dot(percent: f64, p50_us: f64, label: &str) -> Dot {
        Dot { percent, p50_us, label: label.into() }
    }

    #[test]
    fn better_is_lower_and_further_right_and_bandwidth_begins_at_0() {
        let scatter = scatter(vec![dot(80.0, 20.0, "10 us"), dot(95.0, 60.0, "40 us")]);
        let area = Area { left: 0.0, top: 0.0, right: 100.0, bottom: 100.0 };
        let plot = Plot { area, scale: scatter.scale().unwrap(), percent: scatter.percent() };
        assert!(plot.x(95.0) > plot.x(80.0) && plot.y(60.0) < plot.y(20.0));
        assert_eq!([0.0, 51.0, 102.0].map(|percent| plot.x(percent)), [SIDE, 50.0, 100.0 - SIDE]);
        let svg = scatter.to_svg();
        assert_eq!(svg.matches("<circle").count(), 2);
        for text in ["engine/hold", "idle device", ">10 us<", ">40 us<"] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
    }

    #[test]
    fn neighbours_share_a_label() {
        let near = |labels: &[&str]| labels.iter().map(|label| dot(80.0, 20.0, label)).collect::<Vec<_>>();
        let label = |labels: &[&str]| joint_label(&near(labels));
        assert_eq!([label(&[]), label(&[""]), label(&["0 us"])], ["", "", "0 us"]);
        assert_eq!([label(&["0 us", "30 us"]), label(&["0 us", "30 us", "60 us"])], ["0, 30 us", "0 to 60 us"]);
        let svg = scatter([near(&["0 us", "30 us", "60 us"]), vec![dot(99.0, 55.0, "100 us")]].concat()).to_svg();
        assert!(svg.contains(">0 to 60 us<") && svg.contains(">100 us<") && !svg.contains(">30 us<"), "{svg}");
    }

    #[test]
    fn nothing_measured_draws_no_plot() {
        let svg = scatter(Vec::new()).to_svg();
        assert!(svg.contains("engine/hold") && !svg.contains("<circle"));
    }
}
