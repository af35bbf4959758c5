//! The frame of a panel with the axis of values at its left.

use super::grid::Grid;
use super::heading::Heading;
use super::scale::LogScale;
use crate::format;
use crate::svg::{Anchor, Area, Canvas, font};

/// Width of every figure.
pub(super) const WIDTH: f64 = 960.0;
/// Right of the last panel.
pub(super) const RIGHT: f64 = 24.0;
/// Top of the first panel's frame, below a heading of one line each.
const TOP: f64 = 108.0;
/// Room for the labels of the value axis: at least this.
const LEFT: f64 = 66.0;
/// Between these labels and the frame, and between them and the figure's own frame.
const LABEL_GAP: f64 = 8.0;
const LABEL_MARGIN: f64 = 12.0;

/// The places of the panels of a figure with a logarithmic value axis. A frame has `height`; its labels, and the title
/// of the panel of the next row, take `below`.
pub(super) fn grid(count: usize, scale: Option<LogScale>, heading: &Heading, height: f64, below: f64) -> Grid {
    let ticks = scale.map(LogScale::ticks).unwrap_or_default();
    let labels = ticks.into_iter().filter(|tick| tick.1).map(|tick| font("small").width_px(&format::span_us(tick.0)));
    let left = labels.fold(LEFT, |left, width| left.max(width + LABEL_GAP + LABEL_MARGIN));
    let top = TOP + heading.extra_height();
    Grid::new(count, (left, WIDTH - RIGHT), top, height, height + below)
}

/// Draws a panel's frame, its title and the lines of the value axis, with labels where `has_labels`.
pub(super) fn draw(canvas: &mut Canvas, area: &Area, title: &str, scale: LogScale, has_labels: bool) {
    let Area { left, top, right, bottom } = *area;
    canvas.text_within("head", (left, top - 14.0), Anchor::Start, title, right - left);
    canvas.rounded("plot", (left, top), (right - left, bottom - top), 2.0);
    let inside = canvas.inside();
    for (value, is_labelled) in scale.ticks() {
        let y = bottom - (bottom - top) * scale.share(value);
        canvas.line(if is_labelled { "grid" } else { "faint" }, (left, y), (right, y));
        if is_labelled && has_labels {
            let place = ((left - LABEL_GAP, y + 4.0), Anchor::End);
            canvas.label("small muted", &format::span_us(value), &inside, &[place]);
        }
    }
}

/// Labels a vertical line at `x` below a panel: centred, or leaning inwards at the panel's ends.
pub(super) fn label_below(canvas: &mut Canvas, area: &Area, x: f64, text: &str) {
    let anchor = match x {
        x if x < area.left + 1.0 => Anchor::Start,
        x if x > area.right - 1.0 => Anchor::End,
        _ => Anchor::Middle,
    };
    let inside = canvas.inside();
    canvas.label("small muted", text, &inside, &[((x, area.bottom + 18.0), anchor)]);
}
