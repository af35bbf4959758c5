//! Figures: SVG for pages, plain text for terminals.

mod axes;
mod grid;
mod heading;
mod latency;
mod latency_text;
mod legend;
mod plan;
mod ranges;
mod scale;
mod scatter;
mod timeline;
mod timeline_text;

pub use latency::{Gap, LatencyFigure, Panel, Series};
pub use plan::{PlanFigure, Work};
pub use ranges::{Axis, RangeFigure, RangePanel, RangeRow};
pub use scatter::{Cloud, Dot, Scatter, ScatterPanel};
pub use timeline::{Lane, Mark, Span, Steps, Timeline};

/// A colour with a meaning, the same one in every figure ([`crate::views::tone`]); each has a shade for light and one
/// for dark pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A reference, such as the idle device. Drawn dashed.
    Grey,
    /// Copies without overtake.
    Red,
    /// Copies without overtake, set up in a second way.
    Orange,
    /// Copies through overtake.
    Green,
    /// Copies through overtake, by a second method.
    Blue,
    /// The first of six for the other methods.
    Violet,
    /// See [`Tone::Violet`].
    Teal,
    /// See [`Tone::Violet`].
    Pink,
    /// See [`Tone::Violet`].
    Olive,
    /// See [`Tone::Violet`]; the colour of the text.
    Ink,
    /// See [`Tone::Violet`].
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
        self.solid() + if self == Tone::Grey { " dashed" } else { "" }
    }

    /// A line without dashes, for one that is too short for them.
    fn solid(self) -> String {
        format!("s-{}", self.name())
    }

    fn fill(self) -> String {
        format!("f-{}", self.name())
    }
}
