//! Figures: SVG for pages, plain text for terminals.

mod latency;
mod latency_text;
mod legend;
mod ranges;
mod scale;
mod scatter;
mod timeline;
mod timeline_text;

pub use latency::{LatencyFigure, Panel, Series};
pub use ranges::{RangeFigure, RangePanel, RangeRow};
pub use scatter::{Cloud, Dot, Scatter, ScatterPanel};
pub use timeline::{Lane, Span, Steps, Timeline};

/// A colour by what it means; each has a shade for light and one for dark pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A reference: what is possible, what was before. Drawn dashed.
    Grey,
    /// The problem.
    Red,
    /// The problem, another way.
    Orange,
    /// The cure.
    Green,
    /// The cure, another way.
    Blue,
    /// Anything else.
    Violet,
    /// Anything else, another way.
    Teal,
    /// Anything else, a third way.
    Pink,
    /// Anything else, a fourth way.
    Olive,
    /// Anything else, a fifth way: the colour of the text.
    Ink,
    /// Anything else, a sixth way.
    Sky,
}

impl Tone {
    fn name(self) -> &'static str {
        match self {
            Tone::Grey => "grey",
            Tone::Red => "red",
            Tone::Orange => "orange",
            Tone::Green => "green",
            Tone::Blue => "blue",
            Tone::Violet => "violet",
            Tone::Teal => "teal",
            Tone::Pink => "pink",
            Tone::Olive => "olive",
            Tone::Ink => "ink",
            Tone::Sky => "sky",
        }
    }

    fn stroke(self) -> String {
        let dashes = if self == Tone::Grey { " dashed" } else { "" };
        format!("s-{}{dashes}", self.name())
    }

    fn fill(self) -> String {
        format!("f-{}", self.name())
    }
}
