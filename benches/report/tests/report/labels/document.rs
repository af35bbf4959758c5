//! A figure's SVG, read back: shapes and texts with the rectangles that they take.

use overtake_report::font::{ASCENT, DESCENT, Font};

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Area {
    /// Whether two rectangles have a point in common that is not on their sides.
    pub fn overlaps(&self, other: &Area) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    /// Whether `other` is inside, up to `slack` pixels.
    pub fn holds(&self, other: &Area, slack: f64) -> bool {
        self.left - slack <= other.left
            && other.right <= self.right + slack
            && self.top - slack <= other.top
            && other.bottom <= self.bottom + slack
    }
}

/// One element that is drawn.
pub struct Shape {
    /// `rect`, `line`, `circle`, `path` or `text`.
    pub kind: String,
    pub classes: Vec<String>,
    /// Of a text: its words.
    pub text: String,
    /// Of a circle: that of its centre.
    pub area: Area,
}

impl Shape {
    pub fn has(&self, class: &str) -> bool {
        self.classes.iter().any(|its| its == class)
    }
}

/// All that a figure draws.
pub struct Document {
    pub shapes: Vec<Shape>,
}

impl Document {
    /// Reads the output of this crate: one element in a line.
    pub fn parse(svg: &str) -> Document {
        let style = between(svg, "<style>", "</style>").expect("a figure has a style sheet");
        let style = style.split("@media").next().unwrap_or_default();
        let kinds = ["rect", "line", "circle", "path", "text"];
        let shape = |line: &str| {
            let kind = kinds.into_iter().find(|kind| line.starts_with(&format!("<{kind} ")))?;
            Some(read(kind, line, style))
        };
        Document { shapes: svg.lines().filter_map(shape).collect() }
    }
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(after)?.0)
}

fn read(kind: &str, line: &str, style: &str) -> Shape {
    let attribute = |name: &str| between(line, &format!(" {name}=\""), "\"").unwrap_or_default();
    let number = |name: &str| attribute(name).parse::<f64>().unwrap_or_else(|_| panic!("{name} of {line}"));
    let classes: Vec<String> = attribute("class").split_whitespace().map(str::to_owned).collect();
    let mut text = String::new();
    let area = match kind {
        "rect" => {
            let (left, top) = (number("x"), number("y"));
            Area { left, top, right: left + number("width"), bottom: top + number("height") }
        }
        "line" => around(&[(number("x1"), number("y1")), (number("x2"), number("y2"))]),
        "circle" => around(&[(number("cx"), number("cy"))]),
        "path" => around(&points(attribute("d"))),
        _ => {
            text = words(line);
            text_area(&text, font(&classes, style), (number("x"), number("y")), attribute("text-anchor"))
        }
    };
    Shape { kind: kind.to_owned(), classes, text, area }
}

fn around(points: &[(f64, f64)]) -> Area {
    let (first, rest) = points.split_first().expect("a shape has a point");
    let area = Area { left: first.0, top: first.1, right: first.0, bottom: first.1 };
    rest.iter().fold(area, |area, point| Area {
        left: area.left.min(point.0),
        top: area.top.min(point.1),
        right: area.right.max(point.0),
        bottom: area.bottom.max(point.1),
    })
}

fn points(path: &str) -> Vec<(f64, f64)> {
    let point = |pair: &str| {
        let (x, y) = pair.split_once(' ')?;
        Some((x.parse().ok()?, y.parse().ok()?))
    };
    let pairs = path.split(['M', 'L', 'Z']).filter(|pair| !pair.is_empty());
    pairs.map(|pair| point(pair).unwrap_or_else(|| panic!("{pair} of {path}"))).collect()
}

/// The text between the tags, without the title that a browser shows under the pointer.
fn words(line: &str) -> String {
    let inside = between(line, ">", "</text>").expect("a text ends in its line");
    let shown = inside.rsplit("</title>").next().unwrap_or_default();
    shown.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

fn text_area(text: &str, font: Font, (x, y): (f64, f64), anchor: &str) -> Area {
    let width = font.width_px(text);
    let left = match anchor {
        "start" => x,
        "middle" => x - width / 2.0,
        "end" => x - width,
        other => panic!("an unknown anchor: {other}"),
    };
    Area { left, top: y - ASCENT * font.size_px, right: left + width, bottom: y + DESCENT * font.size_px }
}

/// The font as the style sheet gives it: that of `text`, changed by the rule of each class.
fn font(classes: &[String], style: &str) -> Font {
    let size = |rule: &str, before: &str| between(rule, before, "px").and_then(|size| size.parse().ok());
    let all = between(style, "text{", "}").expect("a rule for all texts");
    let mut font = Font { size_px: size(all, "font:").expect("a size for all texts"), is_bold: false };
    // Rules of one class each have the same weight, so a later one wins, in any order of an element's classes.
    for rule in style.split('}') {
        let Some((selector, rule)) = rule.trim().split_once('{') else { continue };
        if selector.strip_prefix('.').is_some_and(|class| classes.iter().any(|its| its == class)) {
            font.size_px = size(rule, "font-size:").unwrap_or(font.size_px);
            font.is_bold |= rule.contains("font-weight:600");
        }
    }
    font
}
