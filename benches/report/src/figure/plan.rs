//! Pieces of work in lanes, with the order between them: columns by the longest path, a row for each lane.

use super::Tone;
use super::heading::Heading;
use crate::svg::{Anchor, Area, Canvas, font};

/// A piece of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// Its lane, by its index.
    pub lane: usize,
    /// Its name; drawn as far as it fits.
    pub label: String,
    /// Lines below its box, such as the transfers before it.
    pub notes: Vec<String>,
    /// The works that it comes after, by their indices, which are below its own.
    pub parents: Vec<usize>,
    /// The sections around it, by their indices, the outermost first.
    pub sections: Vec<usize>,
    /// The colour of its box.
    pub tone: Tone,
}

/// A plan of works.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanFigure {
    /// The headline.
    pub title: String,
    /// The conditions of the plan.
    pub subtitle: String,
    /// The names of the lanes, from above.
    pub lanes: Vec<String>,
    /// The names of the sections.
    pub sections: Vec<String>,
    /// The works, in the order in which their lanes do them.
    pub works: Vec<Work>,
}

const MARGIN: f64 = 24.0;
const TOP: f64 = 76.0;
/// The figure is at least this wide, for its headline.
const WIDTH_LEAST: f64 = 480.0;
/// The room of a lane's name, and of a column's boxes: at most.
const NAME_MOST: f64 = 220.0;
const BOX_WIDTH: (f64, f64) = (60.0, 230.0);
const BOX_HEIGHT: f64 = 22.0;
const NOTE_ROW: f64 = 14.0;
/// Inside a box, left and right of its label.
const PADDING: f64 = 8.0;
/// Edges run between columns and above the boxes of a lane. They keep this far from boxes, and from each other as far
/// as there is room.
const GUTTER: f64 = 36.0;
const CHANNEL: f64 = 26.0;
const AIR: f64 = 6.0;
const TRACKS: usize = 5;
/// A frame has this much room for its name, and keeps this far from all in it.
const FRAME_ROW: f64 = 16.0;
const FRAME_AIR: f64 = 3.0;

/// An edge: the indices of its two ends, and its corners.
type Way = (usize, usize, Vec<(f64, f64)>);

/// Boxes and edges in their places.
#[derive(Clone, Debug, PartialEq)]
struct Layout {
    boxes: Vec<Area>,
    edges: Vec<Way>,
    /// A section by its index, and a stretch of a lane that is in it.
    frames: Vec<(usize, Area)>,
    /// The upper ends of the lanes, and the lower end of the last one.
    lane_tops: Vec<f64>,
    left: f64,
    right: f64,
}

impl PlanFigure {
    /// The column of each work: behind its parents, and behind the work before it in its lane.
    fn columns(&self) -> Vec<usize> {
        let mut ends = vec![0; self.lanes.len()];
        let mut columns: Vec<usize> = Vec::with_capacity(self.works.len());
        for work in &self.works {
            let behind = work.parents.iter().map(|parent| columns[*parent] + 1);
            let column = behind.fold(ends[work.lane], usize::max);
            ends[work.lane] = column + 1;
            columns.push(column);
        }
        columns
    }

    fn width_of(work: &Work) -> f64 {
        let label = font("small").width_px(&work.label) + 2.0 * PADDING;
        work.notes.iter().map(|note| font("small").width_px(note)).fold(label, f64::max).clamp(BOX_WIDTH.0, BOX_WIDTH.1)
    }

    fn layout(&self, top: f64) -> Layout {
        let columns = self.columns();
        let names = self.lanes.iter().map(|name| font("").width_px(name)).fold(0.0, f64::max).min(NAME_MOST);
        let left = MARGIN + names + 12.0;
        let mut widths = vec![0.0_f64; columns.iter().max().map_or(0, |last| last + 1)];
        for (work, column) in self.works.iter().zip(&columns) {
            widths[*column] = widths[*column].max(Self::width_of(work));
        }
        let mut lefts = vec![left + GUTTER];
        widths.iter().for_each(|width| lefts.push(lefts[lefts.len() - 1] + width + GUTTER));
        let mut lane_tops = vec![top];
        for lane in 0..self.lanes.len() {
            let its = self.works.iter().filter(|work| work.lane == lane);
            let notes = its.map(|work| work.notes.len()).max().unwrap_or(0);
            let frames = (FRAME_ROW + FRAME_AIR) * self.nesting(lane) as f64;
            lane_tops.push(lane_tops[lane] + CHANNEL + frames + BOX_HEIGHT + NOTE_ROW * notes as f64 + AIR);
        }
        let place = |(work, column): (&Work, &usize)| {
            let above = CHANNEL + FRAME_ROW * self.nesting(work.lane) as f64;
            let (left, top) = (lefts[*column], lane_tops[work.lane] + above);
            Area { left, top, right: left + widths[*column], bottom: top + BOX_HEIGHT }
        };
        let boxes: Vec<Area> = self.works.iter().zip(&columns).map(place).collect();
        let edges = self.edges(&boxes, &columns, &lane_tops);
        let frames = self.frames(&boxes, &lane_tops);
        Layout { boxes, edges, frames, lane_tops, left, right: lefts[lefts.len() - 1] }
    }

    /// How many sections are in each other at most in a lane.
    fn nesting(&self, lane: usize) -> usize {
        self.works.iter().filter(|work| work.lane == lane).map(|work| work.sections.len()).max().unwrap_or(0)
    }

    /// A frame for each stretch of a lane that is in a section. One inside another is lower and narrower by a step.
    fn frames(&self, boxes: &[Area], lane_tops: &[f64]) -> Vec<(usize, Area)> {
        let mut frames = Vec::new();
        for lane in 0..self.lanes.len() {
            let its: Vec<usize> = (0..self.works.len()).filter(|work| self.works[*work].lane == lane).collect();
            let nesting = self.nesting(lane);
            for level in 0..nesting {
                let section = |work: &usize| self.works[*work].sections.get(level).copied();
                for stretch in its.chunk_by(|one, next| section(one) == section(next)) {
                    let Some(section) = section(&stretch[0]) else { continue };
                    let air = FRAME_AIR * (nesting - level) as f64;
                    let (first, last) = (boxes[stretch[0]], boxes[stretch[stretch.len() - 1]]);
                    let top = first.top - FRAME_ROW * (nesting - level) as f64;
                    let bottom = lane_tops[lane + 1] - AIR - FRAME_AIR * level as f64;
                    frames.push((section, Area { left: first.left - air, top, right: last.right + air, bottom }));
                }
            }
        }
        frames
    }

    /// An edge goes straight to the next column of its lane, else through the gutters and above the boxes of a lane.
    fn edges(&self, boxes: &[Area], columns: &[usize], lane_tops: &[f64]) -> Vec<Way> {
        let mut edges = Vec::new();
        for (child, work) in self.works.iter().enumerate() {
            for parent in work.parents.iter().copied() {
                let (from, to) = (boxes[parent], boxes[child]);
                let middle = |area: Area| f64::midpoint(area.top, area.bottom);
                let (start, end) = ((from.right, middle(from)), (to.left, middle(to)));
                let is_next = columns[child] == columns[parent] + 1 && self.works[parent].lane == work.lane;
                let track = |count: usize, room: f64| room * (count % TRACKS) as f64 / TRACKS as f64;
                let out = start.0 + AIR + track(parent, GUTTER / 2.0 - AIR);
                let back = end.0 - AIR - track(child, GUTTER / 2.0 - AIR);
                let above = lane_tops[work.lane] + AIR + track(parent, CHANNEL - 2.0 * AIR);
                let way = match is_next {
                    true => vec![start, end],
                    false => vec![start, (out, start.1), (out, above), (back, above), (back, end.1), end],
                };
                edges.push((parent, child, way));
            }
        }
        edges
    }

    /// As an SVG document.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let right = self.layout(0.0).right;
        let width = (right + MARGIN).max(WIDTH_LEAST);
        let heading = Heading::new(&self.title, &self.subtitle, width);
        let layout = self.layout(TOP + heading.extra_height());
        let bottom = layout.lane_tops[self.lanes.len()];
        let mut canvas = Canvas::new(width, bottom + MARGIN);
        heading.draw(&mut canvas);
        let corner = (layout.left, layout.lane_tops[0]);
        canvas.rounded("plot", corner, (right - corner.0, bottom - corner.1), 2.0);
        for (lane, name) in self.lanes.iter().enumerate() {
            let top = layout.lane_tops[lane];
            let y = top + CHANNEL + BOX_HEIGHT / 2.0 + 4.5;
            canvas.text_within("", (layout.left - 12.0, y), Anchor::End, name, NAME_MOST);
            canvas.line("grid", (layout.left, top), (right, top));
        }
        for (section, area) in &layout.frames {
            draw_frame(&mut canvas, &self.sections[*section], area);
        }
        for (parent, child, way) in &layout.edges {
            let class = if self.works[*parent].lane == self.works[*child].lane { "axis" } else { "axis dashed" };
            way.windows(2).for_each(|ends| canvas.line(class, ends[0], ends[1]));
            canvas.dot("f-grey", way[way.len() - 1], 2.5);
        }
        self.works.iter().zip(&layout.boxes).for_each(|(work, area)| draw(&mut canvas, work, area));
        canvas.finish(&format!("{}. {}", self.title, self.subtitle))
    }
}

fn draw_frame(canvas: &mut Canvas, name: &str, area: &Area) {
    let Area { left, top, right, bottom } = *area;
    let corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
    corners.windows(2).for_each(|ends| canvas.line("grid", ends[0], ends[1]));
    canvas.text_within("small muted", (left + PADDING, top + 12.0), Anchor::Start, name, right - left - 2.0 * PADDING);
}

fn draw(canvas: &mut Canvas, work: &Work, area: &Area) {
    let width = area.right - area.left;
    canvas.rounded(&work.tone.fill(), (area.left, area.top), (width, BOX_HEIGHT), 3.0);
    let centre = (f64::midpoint(area.left, area.right), area.top + BOX_HEIGHT / 2.0 + 4.0);
    canvas.text_within("small on", centre, Anchor::Middle, &work.label, width - 2.0 * PADDING);
    for (row, note) in work.notes.iter().enumerate() {
        let y = area.bottom + NOTE_ROW * (row as f64 + 0.85);
        canvas.text_within("small muted", (area.left, y), Anchor::Start, note, width);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(lane: usize, parents: &[usize]) -> Work {
        let label = format!("after {parents:?}");
        let notes = vec!["x from the host".to_owned()];
        Work { lane, label, notes, parents: parents.to_vec(), sections: Vec::new(), tone: Tone::Blue }
    }

    /// A section with another one in it, in two lanes; the second lane has a work between two of them.
    fn sectioned() -> PlanFigure {
        let mut figure = figure();
        figure.sections = ["outer", "inner"].map(str::to_owned).to_vec();
        for (work, sections) in [(1, &[0, 1][..]), (2, &[0]), (4, &[0]), (5, &[0, 1])] {
            figure.works[work].sections = sections.to_vec();
        }
        figure
    }

    fn is_within(inner: &Area, outer: &Area) -> bool {
        outer.left < inner.left && inner.right < outer.right && outer.top < inner.top && inner.bottom < outer.bottom
    }

    /// A fork, a join, an edge over several columns, and one back to the first lane.
    fn figure() -> PlanFigure {
        let works = vec![
            work(0, &[]),
            work(0, &[0]),
            work(1, &[0]),
            work(2, &[]),
            work(0, &[0, 1, 2]),
            work(1, &[3]),
            work(0, &[0, 3, 5]),
        ];
        let lanes = ["host", "device 0, stream 0", "device 1, stream 1"].map(str::to_owned).to_vec();
        PlanFigure { title: "a plan".into(), subtitle: "made up".into(), lanes, sections: Vec::new(), works }
    }

    #[test]
    fn columns_follow_the_longest_path_and_the_lane() {
        assert_eq!(figure().columns(), [0, 1, 1, 0, 2, 2, 3]);
    }

    #[test]
    fn no_edge_passes_through_a_box_and_no_boxes_overlap() {
        let layout = figure().layout(100.0);
        let overlap = |one: &Area, other: &Area| {
            one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom
        };
        for (index, area) in layout.boxes.iter().enumerate() {
            assert!(layout.boxes[..index].iter().all(|other| !overlap(area, other)), "{index}: {layout:?}");
        }
        assert_eq!(layout.edges.len(), 9);
        for (parent, child, way) in &layout.edges {
            assert!(layout.boxes[*parent].right < layout.boxes[*child].left, "{parent} to {child}");
            for ends in way.windows(2) {
                let piece = Area {
                    left: ends[0].0.min(ends[1].0),
                    right: ends[0].0.max(ends[1].0),
                    top: ends[0].1.min(ends[1].1),
                    bottom: ends[0].1.max(ends[1].1),
                };
                assert!(layout.boxes.iter().all(|area| !overlap(area, &piece)), "{parent} to {child}: {way:?}");
            }
        }
    }

    /// Each stretch of a lane has a frame around its works and their notes, and around no other ones.
    #[test]
    fn frames_are_around_the_works_of_their_sections() {
        let (figure, layout) = (sectioned(), sectioned().layout(100.0));
        let sections: Vec<usize> = layout.frames.iter().map(|(section, _)| *section).collect();
        assert_eq!(sections, [0, 1, 0, 1], "{layout:?}");
        for (work, area) in figure.works.iter().zip(&layout.boxes) {
            let with_notes = Area { bottom: area.bottom + NOTE_ROW * work.notes.len() as f64, ..*area };
            let mut around: Vec<usize> =
                layout.frames.iter().filter(|(_, frame)| is_within(&with_notes, frame)).map(|(it, _)| *it).collect();
            around.sort_unstable();
            assert_eq!(around, work.sections, "{work:?} {layout:?}");
        }
        for (_, inner) in layout.frames.iter().filter(|(section, _)| *section == 1) {
            assert!(layout.frames.iter().any(|(section, outer)| *section == 0 && is_within(inner, outer)));
        }
        let svg = figure.to_svg();
        assert_eq!(["outer", "inner"].map(|name| svg.matches(&format!(">{name}<")).count()), [2, 2], "{svg}");
    }

    #[test]
    fn every_work_edge_and_note_is_drawn() {
        let svg = figure().to_svg();
        for text in [">after [0, 1, 2]<", ">x from the host<", ">device 1, stream 1<"] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
        assert_eq!((svg.matches("<circle").count(), svg.matches("class=\"axis dashed\"").count()), (9, 5 * 5));
    }
}
