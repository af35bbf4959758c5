//! A legend below a figure, in as many rows as it needs.

use super::Tone;
use crate::svg::{Anchor, Canvas, font};

/// Pixels from one row to the next.
const ROW: f64 = 20.0;
/// Pixels of the line before a name, of the gap behind it, and between two entries.
const LINE: f64 = 26.0;
const INDENT: f64 = 34.0;
const BETWEEN: f64 = 18.0;

struct Entry<'a> {
    name: &'a str,
    tone: Tone,
    x: f64,
    width: f64,
    row: usize,
}

/// Names and tones, laid out.
pub(super) struct Legend<'a> {
    entries: Vec<Entry<'a>>,
}

impl<'a> Legend<'a> {
    /// Lays entries out between `left` and `right`.
    pub(super) fn new(names: &[(&'a str, Tone)], left: f64, right: f64) -> Legend<'a> {
        let (mut x, mut row) = (left, 0);
        let mut entries = Vec::new();
        for &(name, tone) in names {
            let width = (INDENT + font("").width_px(name)).min(right - left);
            if x > left && x + width > right {
                (x, row) = (left, row + 1);
            }
            entries.push(Entry { name, tone, x, width, row });
            x += width + BETWEEN;
        }
        Legend { entries }
    }

    /// The height beyond one row.
    pub(super) fn extra_height(&self) -> f64 {
        ROW * self.entries.last().map_or(0, |entry| entry.row) as f64
    }

    /// Draws it with the first row's baseline at `y`.
    pub(super) fn draw(&self, canvas: &mut Canvas, y: f64) {
        for Entry { name, tone, x, width, row } in &self.entries {
            let y = y + ROW * *row as f64;
            canvas.line(&format!("key curve {}", tone.stroke()), (*x, y - 4.0), (x + LINE, y - 4.0));
            canvas.text_within("", (x + INDENT, y), Anchor::Start, name, width - INDENT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_legends_wrap_and_grow_the_figure() {
        let names = ["one", "two", "a much longer name than those before it"].map(|name| (name, Tone::Blue));
        assert_eq!(Legend::new(&names[..2], 60.0, 900.0).extra_height(), 0.0);
        let narrow = Legend::new(&names, 60.0, 330.0);
        assert_eq!(narrow.entries.iter().map(|entry| entry.row).collect::<Vec<_>>(), [0, 0, 1]);
        assert_eq!(narrow.extra_height(), ROW);
    }
}
