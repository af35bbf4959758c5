//! The lines above the panels of a figure.

use crate::svg::{Anchor, Canvas, font};

/// The left end and the baseline of the first line.
const LEFT: f64 = 24.0;
const FIRST: f64 = 34.0;
/// Pixels from one line to the next.
const TITLE_ROW: f64 = 22.0;
const SUBTITLE_ROW: f64 = 18.0;

/// A headline, and the conditions of the measurement, in as many lines as they need.
pub(super) struct Heading {
    title: Vec<String>,
    subtitle: Vec<String>,
}

impl Heading {
    /// Lays both out for a figure of this width.
    pub(super) fn new(title: &str, subtitle: &str, figure_width: f64) -> Heading {
        let width = figure_width - 2.0 * LEFT;
        Heading { title: font("title").wrapped(title, width), subtitle: font("muted").wrapped(subtitle, width) }
    }

    /// The height beyond one line of each.
    pub(super) fn extra_height(&self) -> f64 {
        let more = |lines: &[String], row: f64| row * lines.len().saturating_sub(1) as f64;
        more(&self.title, TITLE_ROW) + more(&self.subtitle, SUBTITLE_ROW)
    }

    /// Draws it at the top of the figure.
    pub(super) fn draw(&self, canvas: &mut Canvas) {
        let below = FIRST + TITLE_ROW * self.title.len().max(1) as f64;
        for (index, line) in self.title.iter().enumerate() {
            canvas.text("title", (LEFT, FIRST + TITLE_ROW * index as f64), Anchor::Start, line);
        }
        for (index, line) in self.subtitle.iter().enumerate() {
            canvas.text("muted", (LEFT, below + SUBTITLE_ROW * index as f64), Anchor::Start, line);
        }
    }
}
