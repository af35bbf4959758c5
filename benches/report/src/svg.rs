//! A small SVG writer: shapes with classes, and one style sheet for light and dark pages.

use std::fmt::Write as _;

use crate::font::{ASCENT, DESCENT, Font};

/// The anchor of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The font of a text with these classes, as the style sheet below sets it.
pub(crate) fn font(class: &str) -> Font {
    let has = |wanted: &str| class.split(' ').any(|name| name == wanted);
    let size_px = match class {
        _ if has("title") => 17.0,
        _ if has("small") => 11.5,
        _ => 13.0,
    };
    Font { size_px, is_bold: has("title") || has("head") }
}

/// A rectangle of the drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Area {
    /// The room that a text needs.
    pub(crate) fn of_text(class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) -> Area {
        let font = font(class);
        let width = font.width_px(text);
        let left = match anchor {
            Anchor::Start => x,
            Anchor::Middle => x - width / 2.0,
            Anchor::End => x - width,
        };
        Area { left, top: y - ASCENT * font.size_px, right: left + width, bottom: y + DESCENT * font.size_px }
    }

    fn touches(&self, other: &Area) -> bool {
        let apart = self.right + AIR <= other.left
            || other.right + AIR <= self.left
            || self.bottom <= other.top
            || other.bottom <= self.top;
        !apart
    }

    fn holds(&self, other: &Area) -> bool {
        self.left <= other.left && other.right <= self.right && self.top <= other.top && other.bottom <= self.bottom
    }
}

/// Pixels that stay free between two labels side by side.
const AIR: f64 = 3.0;

/// A figure has its own panel, so that it can be read on a page that ignores the reader's colour scheme.
const STYLE: &str = "\
text{font:13px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2328}
.title{font-size:17px;font-weight:600}.head{font-weight:600}.small{font-size:11.5px}
.muted{fill:#59636e}.figure-panel{fill:#ffffff;stroke:#d1d9e0}.plot{fill:#f6f8fa}
.grid{stroke:#d8dee4}.faint{stroke:#eaeef2}.axis{stroke:#8c959f}
.curve{fill:none;stroke-width:2.4;stroke-linejoin:round}.dashed{stroke-dasharray:5 4}
.s-grey{stroke:#6e7781}.f-grey{fill:#6e7781}.s-red{stroke:#cf222e}.f-red{fill:#cf222e}
.s-orange{stroke:#c4670a}.f-orange{fill:#c4670a}.s-green{stroke:#1a7f37}.f-green{fill:#1a7f37}
.s-blue{stroke:#0969da}.f-blue{fill:#0969da}.s-violet{stroke:#8250df}.f-violet{fill:#8250df}
.s-teal{stroke:#0b7a75}.f-teal{fill:#0b7a75}.s-pink{stroke:#bf3989}.f-pink{fill:#bf3989}
.s-olive{stroke:#7d6b00}.f-olive{fill:#7d6b00}.s-ink{stroke:#1f2328}.f-ink{fill:#1f2328}
.s-sky{stroke:#54aeff}.f-sky{fill:#54aeff}
.on{fill:#ffffff}
.small.head{paint-order:stroke;stroke:#f6f8fa;stroke-width:3px;stroke-linejoin:round}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.muted{fill:#9198a1}.figure-panel{fill:#0d1117;stroke:#3d444d}.plot{fill:#151b23}
.grid{stroke:#2f3742}.faint{stroke:#222a34}.axis{stroke:#656c76}
.s-grey{stroke:#9198a1}.f-grey{fill:#9198a1}.s-red{stroke:#ff7b72}.f-red{fill:#ff7b72}
.s-orange{stroke:#ffa657}.f-orange{fill:#ffa657}.s-green{stroke:#3fb950}.f-green{fill:#3fb950}
.s-blue{stroke:#58a6ff}.f-blue{fill:#58a6ff}.s-violet{stroke:#bc8cff}.f-violet{fill:#bc8cff}
.s-teal{stroke:#56d4c8}.f-teal{fill:#56d4c8}.s-pink{stroke:#f778ba}.f-pink{fill:#f778ba}
.s-olive{stroke:#d4c052}.f-olive{fill:#d4c052}.s-ink{stroke:#e6edf3}.f-ink{fill:#e6edf3}
.s-sky{stroke:#80ccff}.f-sky{fill:#80ccff}
.on{fill:#0d1117}
.small.head{stroke:#151b23}
}";

/// Text that XML and HTML read back as it was, but for the characters that XML cannot have.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push(letter),
            '\0'..' ' | '\u{fffe}' | '\u{ffff}' => escaped.push(char::REPLACEMENT_CHARACTER),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// An unfinished drawing. Coordinates are pixels, written with one decimal so that output is stable and small.
///
/// It remembers where texts and curves stand, so that a label can be offered several places and takes a free one.
pub(crate) struct Canvas {
    width: f64,
    height: f64,
    body: String,
    texts: Vec<Area>,
    marks: Vec<Area>,
}

impl Canvas {
    /// A drawing with the figure's own rounded panel.
    pub(crate) fn new(width: f64, height: f64) -> Canvas {
        let mut canvas = Canvas { width, height, body: String::new(), texts: Vec::new(), marks: Vec::new() };
        canvas.rounded("figure-panel", (0.5, 0.5), (width - 1.0, height - 1.0), 8.0);
        canvas
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        self.body.write_fmt(element).expect("writing to a String does not fail");
        self.body.push('\n');
    }

    pub(crate) fn rounded(&mut self, class: &str, corner: (f64, f64), size: (f64, f64), radius: f64) {
        let ((x, y), (width, height)) = (corner, size);
        self.add(format_args!(
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="{radius}"/>"#
        ));
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.add(format_args!(r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#));
    }

    pub(crate) fn dot(&mut self, class: &str, centre: (f64, f64), radius: f64) {
        let (x, y) = centre;
        self.marks.push(Area { left: x - radius, top: y - radius, right: x + radius, bottom: y + radius });
        self.add(format_args!(r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="{radius}"/>"#));
    }

    pub(crate) fn curve(&mut self, class: &str, points: &[(f64, f64)]) {
        let mut path = String::new();
        for (index, (x, y)) in points.iter().enumerate() {
            let letter = if index == 0 { 'M' } else { 'L' };
            write!(path, "{letter}{x:.1} {y:.1}").expect("writing to a String does not fail");
        }
        self.marks.extend(points.windows(2).map(|ends| Area {
            left: ends[0].0.min(ends[1].0),
            top: ends[0].1.min(ends[1].1) - 1.2,
            right: ends[0].0.max(ends[1].0),
            bottom: ends[0].1.max(ends[1].1) + 1.2,
        }));
        self.add(format_args!(r#"<path class="curve {class}" d="{path}"/>"#));
    }

    /// A filled triangle that points up (`direction` -1) or down (1) with its tip at `tip`.
    pub(crate) fn arrow_head(&mut self, class: &str, tip: (f64, f64), direction: f64) {
        let ((x, y), base) = (tip, tip.1 - 7.0 * direction);
        let (left, right) = (x - 4.0, x + 4.0);
        self.add(format_args!(
            r#"<path class="{class}" d="M{x:.1} {y:.1}L{left:.1} {base:.1}L{right:.1} {base:.1}Z"/>"#
        ));
    }

    /// A text whose place the layout has kept free for it.
    pub(crate) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        self.write(class, at, anchor, text, None);
    }

    /// A text of at most `width_px`. A longer one is shortened, and shows in full under the pointer.
    pub(crate) fn text_within(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str, width_px: f64) {
        let short = font(class).shortened(text, width_px);
        self.write(class, at, anchor, &short, (short != text).then_some(text));
    }

    /// A label for the first of `places` inside `bounds` where it covers no text, and no curve either if there is such
    /// a place. Where none is free the label is left out, because two labels over each other tell less than one.
    pub(crate) fn label(&mut self, class: &str, text: &str, bounds: &Area, places: &[((f64, f64), Anchor)]) -> bool {
        let free = places.iter().filter_map(|place| Some((place, self.has_room(class, text, bounds, *place)?)));
        let best = free.clone().find(|(_, is_clear)| *is_clear).or_else(|| free.clone().next());
        let Some((&(at, anchor), _)) = best else { return false };
        self.text(class, at, anchor, text);
        true
    }

    /// Whether a label has room at a place: nothing if it would leave `bounds` or cover a text, and else whether it
    /// covers no curve.
    pub(crate) fn has_room(
        &self,
        class: &str,
        text: &str,
        bounds: &Area,
        (at, anchor): ((f64, f64), Anchor),
    ) -> Option<bool> {
        let area = Area::of_text(class, at, anchor, text);
        let touches_any = |area: &Area, others: &[Area]| others.iter().any(|other| area.touches(other));
        // Labels are numbers, most of them: a curve may pass where only a few letters descend.
        let is_possible = bounds.holds(&area) && !touches_any(&area, &self.texts);
        is_possible.then(|| !touches_any(&Area { bottom: at.1, ..area }, &self.marks))
    }

    /// Has later labels avoid an area, if they have another place.
    pub(crate) fn keep_clear(&mut self, area: Area) {
        self.marks.push(area);
    }

    /// The whole drawing but for a margin.
    pub(crate) fn inside(&self) -> Area {
        const MARGIN: f64 = 6.0;
        Area { left: MARGIN, top: MARGIN, right: self.width - MARGIN, bottom: self.height - MARGIN }
    }

    fn write(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str, full: Option<&str>) {
        if text.is_empty() {
            return;
        }
        self.texts.push(Area::of_text(class, at, anchor, text));
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let ((x, y), text) = (at, escape(text));
        let full = full.map_or_else(String::new, |full| format!("<title>{}</title>", escape(full)));
        self.add(format_args!(
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{full}{text}</text>"#
        ));
    }

    /// The document, with `title` for screen readers.
    pub(crate) fn finish(self, title: &str) -> String {
        let (width, height, title) = (self.width, self.height, escape(title));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n<style>\n{STYLE}\n\
             </style>\n{}</svg>\n",
            self.body
        )
    }
}
