//! Latency by percentile: one curve for each series on a logarithmic axis, in one panel or more.

use super::heading::Heading;
use super::legend::Legend;
use super::scale::LogScale;
use super::{Tone, axes};
use crate::svg::{Anchor, Area, Canvas};
use crate::{Distribution, carries, format};

/// A named distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The same name in every panel: the legend shows it once.
    pub name: String,
    /// The colour of its curve.
    pub tone: Tone,
    /// The samples that the curve shows.
    pub distribution: Distribution,
    /// The median that is written beside the curve: the one that a table beside the figure shows.
    pub p50_us: f64,
}

impl Series {
    /// A series whose median is that of its samples.
    #[must_use]
    pub fn new(name: String, tone: Tone, distribution: Distribution) -> Series {
        let p50_us = distribution.quantile_us(0.5);
        Series { name, tone, distribution, p50_us }
    }
}

/// An arrow from the curve of the idle device to another one, with the factor between their medians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// The series of the idle device, by its index in the panel.
    pub idle: usize,
    /// The other series, which takes longer.
    pub other: usize,
    /// The factor that is written beside the arrow: the one that a table beside the figure shows.
    pub factor: f64,
}

/// One plot of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The condition of this plot, such as the direction of the copies.
    pub title: String,
    /// The curves.
    pub series: Vec<Series>,
    /// The two curves between which an arrow stands.
    pub gap: Option<Gap>,
    /// The time that each sample has: a dashed line.
    pub limit_us: Option<f64>,
}

impl Panel {
    /// The series in the order of their medians, the highest first.
    fn downwards(&self) -> Vec<&Series> {
        let mut series: Vec<&Series> = self.series.iter().collect();
        series.sort_by(|one, other| other.p50_us.total_cmp(&one.p50_us));
        series
    }
}

/// A figure of one or more panels that share their axes and their legend.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyFigure {
    /// The headline.
    pub title: String,
    /// The conditions of the measurement, such as device and sizes.
    pub subtitle: String,
    /// The plots, left to right and then downwards.
    pub panels: Vec<Panel>,
}

/// Height of a panel's frame, and of the legend's first row with the air around it.
const HEIGHT: f64 = 236.0;
const LEGEND: f64 = 86.0;
/// Below a frame: the names of the percentiles, and the title of the panel of the next row.
const BELOW: f64 = 66.0;
/// Points of a curve from the minimum to the last percentile shown.
const STEPS: u32 = 120;
/// The last percentiles that an axis may end at, by their count of nines.
const LAST: [(f64, f64); 2] = [(0.999, 3.0), (0.99, 2.0)];
/// The percentiles that have a line, with their names; where there is no room for all names, the first ones have it.
const PERCENTILES: [(f64, &str); 5] = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9"), (0.0, "min")];
/// The place of a gap's arrow, as a share of all samples: between the labels of p50 and p90.
const GAP_SHARE: f64 = 0.82;
/// From one label of a median to the next.
const LABEL_ROW: f64 = 13.0;
/// What it costs that a curve passes behind a label, and that there is none.
const CROSSING: f64 = 20.0;
const MISSING: f64 = 1_000.0;

/// One panel's place, and the axes.
struct Plot {
    area: Area,
    scale: LogScale,
    nines: f64,
}

impl Plot {
    /// Percentiles stand at their count of nines: p90 at 1, p99 at 2; so the tail, which matters, gets the room.
    fn x(&self, share: f64) -> f64 {
        let nines = -(1.0 - share).max(1e-12).log10();
        self.area.left + (self.area.right - self.area.left) * (nines / self.nines).min(1.0)
    }

    fn y(&self, us: f64) -> f64 {
        self.area.bottom - (self.area.bottom - self.area.top) * self.scale.share(us)
    }

    /// The frame without its outermost pixels: labels inside it do not touch its lines.
    fn inside(&self) -> Area {
        let Area { left, top, right, bottom } = self.area;
        Area { left: left + 2.0, top: top + 2.0, right: right - 2.0, bottom: bottom - 1.0 }
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
        let limits = self.panels.iter().filter_map(|panel| panel.limit_us).filter(|limit| *limit > 0.0);
        let (low, high) = limits.fold((low, high), |(low, high), limit| (low.min(limit), high.max(limit)));
        Some(LogScale::covering(low, high))
    }

    /// Each name once, in the order of the curves of the first panel that has it, from above.
    fn legend(&self) -> Vec<&Series> {
        let mut legend: Vec<&Series> = Vec::new();
        for series in self.panels.iter().flat_map(Panel::downwards) {
            if legend.iter().all(|known| known.name != series.name) {
                legend.push(series);
            }
        }
        legend
    }

    /// The end of the axis: the last percentile that the longest series carries.
    fn nines(&self) -> f64 {
        let most = self.all_series().map(|series| series.distribution.samples()).max().unwrap_or(0);
        LAST.into_iter().find(|(share, _)| carries(most, *share)).map_or(1.0, |(_, nines)| nines)
    }

    /// As an SVG document.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let heading = Heading::new(&self.title, &self.subtitle, axes::WIDTH);
        let scale = self.scale();
        let grid = axes::grid(self.panels.len(), scale, &heading, HEIGHT, BELOW);
        let first = grid.area(0);
        let entries = self.legend().into_iter().map(|series| (series.name.as_str(), series.tone)).collect::<Vec<_>>();
        let legend = Legend::new(&entries, first.left, axes::WIDTH - axes::RIGHT);
        let bottom = first.bottom + grid.extra_height() + LEGEND;
        let mut canvas = Canvas::new(axes::WIDTH, bottom + legend.extra_height());
        heading.draw(&mut canvas);
        for (index, panel) in self.panels.iter().enumerate() {
            if let Some(scale) = scale {
                let plot = Plot { area: grid.area(index), scale, nines: self.nines() };
                draw_axes(&mut canvas, &plot, panel, grid.is_first_of_row(index));
                draw_series(&mut canvas, &plot, panel);
                draw_gap(&mut canvas, &plot, panel);
                draw_medians(&mut canvas, &plot, panel);
                draw_limit(&mut canvas, &plot, panel);
            }
        }
        legend.draw(&mut canvas, bottom - 26.0);
        canvas.finish(&format!("{}. {}", self.title, self.subtitle))
    }
}

fn draw_axes(canvas: &mut Canvas, plot: &Plot, panel: &Panel, has_labels: bool) {
    let Area { left, top, right, bottom } = plot.area;
    axes::draw(canvas, &plot.area, &panel.title, plot.scale, has_labels);
    for (share, name) in PERCENTILES {
        if -(1.0_f64 - share).log10() <= plot.nines + 1e-9 {
            let x = plot.x(share);
            canvas.line("faint", (x, top), (x, bottom));
            axes::label_below(canvas, &plot.area, x, name);
        }
    }
    canvas.line("axis", (left, bottom), (right, bottom));
}

/// The end of a curve: the last percentile that its samples carry, and the median at least.
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
    }
    for series in &panel.series {
        canvas.dot(&series.tone.fill(), (plot.x(0.5), plot.y(series.p50_us)), 4.0);
    }
}

/// Labels the dots, in the order of the curves from above: each where it costs least, as far as its label is below that
/// of the curve above it.
fn draw_medians(canvas: &mut Canvas, plot: &Plot, panel: &Panel) {
    let (x, inside, all) = (plot.x(0.5), plot.inside(), panel.downwards());
    let text = |series: &Series| format::span_us(series.p50_us);
    let offers: Vec<Vec<Offer>> = all
        .iter()
        .enumerate()
        .map(|(index, series)| {
            let (dot, class) = (plot.y(series.p50_us), format!("small head {}", series.tone.fill()));
            let is_last = index > 0 && index + 1 == all.len();
            offsets(is_last)
                .flat_map(|offset| [((x + 9.0, dot + offset), Anchor::Start), ((x - 9.0, dot + offset), Anchor::End)])
                .enumerate()
                .filter_map(|(rank, place)| {
                    let is_clear = canvas.has_room(&class, &text(series), &inside, place)?;
                    Some(Offer { place, cost: rank as f64 + if is_clear { 0.0 } else { CROSSING } })
                })
                .collect()
        })
        .collect();
    for (series, place) in all.iter().zip(in_order(&offers)) {
        let class = format!("small head {}", series.tone.fill());
        if let Some(place) = place {
            canvas.label(&class, &text(series), &inside, &[place]);
        }
    }
}

/// Baselines from a dot on: just above it, just below it, then further off; below it first for the lowest curve.
fn offsets(is_last: bool) -> impl Iterator<Item = f64> {
    let pairs = [(-7.0, 16.0), (-9.0, 19.0), (-13.0, 14.0), (-17.0, 23.0), (-25.0, 27.0), (-41.0, 35.0), (-57.0, 51.0)];
    pairs.into_iter().flat_map(move |(above, below)| if is_last { [below, above] } else { [above, below] })
}

/// A place for a label.
type Place = ((f64, f64), Anchor);

/// The baseline of the last label, what the labels so far cost, and their places.
type Way = (f64, f64, Vec<Option<Place>>);

/// A place, and what it costs to take it.
struct Offer {
    place: Place,
    cost: f64,
}

/// The place of each label, from above, so that each is a row below the one before it, and all together cost least. A
/// label that finds no place is left out.
fn in_order(offers: &[Vec<Offer>]) -> Vec<Option<Place>> {
    // For each place of the last label the least cost, with the places of all labels.
    let mut ways: Vec<Way> = vec![(f64::MIN, 0.0, Vec::new())];
    for of_one in offers {
        let mut next: Vec<Way> = Vec::new();
        for (lowest, cost, places) in &ways {
            let fits = of_one.iter().filter(|offer| offer.place.0.1 >= lowest + LABEL_ROW);
            let taken = fits.map(|offer| (offer.place.0.1, cost + offer.cost, Some(offer.place)));
            for (lowest, cost, place) in taken.chain([(*lowest, cost + MISSING, None)]) {
                let better = next.iter_mut().find(|way| way.0 == lowest);
                let way = || (lowest, cost, [&places[..], &[place]].concat());
                match better {
                    Some(known) if known.1 > cost => *known = way(),
                    Some(_) => {}
                    None => next.push(way()),
                }
            }
        }
        ways = next;
    }
    ways.into_iter().min_by(|one, other| one.1.total_cmp(&other.1)).map_or(Vec::new(), |way| way.2)
}

fn draw_limit(canvas: &mut Canvas, plot: &Plot, panel: &Panel) {
    let Some(limit_us) = panel.limit_us.filter(|limit| *limit > 0.0) else { return };
    let (Area { left, right, .. }, y) = (plot.area, plot.y(limit_us));
    canvas.line("curve s-ink dashed", (left, y), (right, y));
    let at = |x: f64, anchor| [-6.0, 15.0].map(|offset| ((x, y + offset), anchor));
    let places = [at(left + 8.0, Anchor::Start), at(right - 8.0, Anchor::End)].concat();
    canvas.label("small muted", &format!("deadline {}", format::span_us(limit_us)), &plot.inside(), &places);
}

/// An arrow that begins on the idle curve and ends at the other one.
fn draw_gap(canvas: &mut Canvas, plot: &Plot, panel: &Panel) {
    let Some(gap) = panel.gap else { return };
    let (Some(lower), Some(upper)) = (panel.series.get(gap.idle), panel.series.get(gap.other)) else { return };
    let (low, high) = (lower.distribution.quantile_us(GAP_SHARE), upper.distribution.quantile_us(GAP_SHARE));
    let (x, from, to) = (plot.x(GAP_SHARE), plot.y(low), plot.y(high) + 5.0);
    // Curves this close leave no room for an arrow, and there is no gap to speak of.
    if from - to < 48.0 {
        return;
    }
    let places = |offset: f64| {
        let heights = [0.5, 0.35, 0.65, 0.2, 0.8].map(|share| to + (from - to) * share + offset);
        heights.map(|y| [((x + 10.0, y), Anchor::Start), ((x - 10.0, y), Anchor::End)]).concat()
    };
    if canvas.label("title", &format::ratio(gap.factor, 1.0), &plot.inside(), &places(2.0)) {
        canvas.label("small muted", "the idle p50", &plot.inside(), &places(19.0));
        canvas.line("axis", (x, from), (x, to + 6.0));
        canvas.keep_clear(Area { left: x - 4.0, top: to, right: x + 4.0, bottom: from });
        canvas.dot("f-grey", (x, from), 2.5);
        canvas.arrow_head("f-grey", (x, to), -1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three medians close together, and one far above them.
    fn panel() -> Panel {
        let samples = |us: u64| Distribution::new((0..2_000).map(|index| us * 1_000 + 9 * index).collect()).unwrap();
        let one = |name: &str, tone, us| Series::new(name.to_owned(), tone, samples(us));
        let series = vec![
            one("idle", Tone::Grey, 12),
            one("alone", Tone::Red, 8_400),
            one("overtake", Tone::Green, 16),
            one("second", Tone::Blue, 33),
        ];
        Panel {
            title: "device to host".into(),
            series,
            gap: Some(Gap { idle: 0, other: 1, factor: 9.0 }),
            limit_us: None,
        }
    }

    fn figure() -> String {
        LatencyFigure { title: "x".into(), subtitle: String::new(), panels: vec![panel()] }.to_svg()
    }

    fn number(line: &str, name: &str) -> f64 {
        let from = line.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
        line[from..].split('"').next().unwrap().parse().unwrap()
    }

    #[test]
    fn labels_and_legend_stand_in_the_order_of_the_curves() {
        let svg = figure();
        let of = |class: &str, start: &str| {
            let line = svg.lines().find(|line| line.starts_with(start) && line.contains(&format!("{class}\"")));
            line.unwrap_or_else(|| panic!("{class} in {svg}"))
        };
        let tones = ["red", "blue", "green", "grey"];
        let labels = tones.map(|tone| number(of(&format!("small head f-{tone}"), "<text"), "y"));
        assert!(labels.windows(2).all(|two| two[0] + LABEL_ROW <= two[1] + 0.1), "{labels:?}");
        let keys = ["s-red", "s-blue", "s-green", "s-grey dashed"];
        let legend = keys.map(|key| number(of(&format!("key curve {key}"), "<line"), "x1"));
        assert!(legend.is_sorted(), "{legend:?}");
    }

    #[test]
    fn the_arrow_begins_on_the_idle_curve_and_has_one_head() {
        let svg = figure();
        let foot = svg.lines().find(|line| line.contains("f-grey") && line.contains("r=\"2.5\"")).unwrap();
        let scale = LatencyFigure { title: String::new(), subtitle: String::new(), panels: vec![panel()] }.scale();
        let idle = panel().series[0].distribution.quantile_us(GAP_SHARE);
        let y = 344.0 - 236.0 * scale.unwrap().share(idle);
        assert!((number(foot, "cy") - y).abs() < 0.1, "{foot}, {y}");
        assert_eq!(svg.matches("<path class=\"f-grey\"").count(), 1);
    }

    #[test]
    fn a_label_that_finds_no_place_below_the_others_is_left_out() {
        let offer = |y: f64, cost| Offer { place: ((0.0, y), Anchor::Start), cost };
        let places = |offers: &[Vec<Offer>]| -> Vec<Option<f64>> {
            in_order(offers).into_iter().map(|place| place.map(|((_, y), _)| y)).collect()
        };
        let first = || vec![offer(20.0, 0.0), offer(10.0, 1.0)];
        assert_eq!(places(&[first(), vec![offer(25.0, 0.0)]]), [Some(10.0), Some(25.0)], "the first one moves up");
        assert_eq!(places(&[first(), vec![offer(40.0, 0.0)]]), [Some(20.0), Some(40.0)]);
        let none = places(&[vec![offer(20.0, 0.0)], vec![offer(20.0, 5.0)], vec![offer(50.0, 0.0)]]);
        assert_eq!(none, [Some(20.0), None, Some(50.0)]);
        assert_eq!(places(&[]), []);
    }
}
