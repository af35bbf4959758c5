//! The rules of a readable figure.

use super::document::{Document, Shape};

/// Coordinates are rounded to a tenth of a pixel, and lines have a width.
const SLACK: f64 = 1.0;

/// Every rule that a figure breaks, with the texts or shapes that break it.
pub fn broken(document: &Document) -> Vec<String> {
    let mut broken = Vec::new();
    labels_are_apart(document, &mut broken);
    everything_is_inside(document, &mut broken);
    marks_are_in_a_plot(document, &mut broken);
    broken
}

fn labels_are_apart(document: &Document, broken: &mut Vec<String>) {
    let texts: Vec<&Shape> = document.shapes.iter().filter(|shape| shape.kind == "text").collect();
    for (index, one) in texts.iter().enumerate() {
        for other in &texts[index + 1..] {
            if one.area.overlaps(&other.area) {
                let places = (one.area, other.area);
                broken.push(format!("`{}` and `{}` overlap: {places:?}", one.text, other.text));
            }
        }
    }
}

fn everything_is_inside(document: &Document, broken: &mut Vec<String>) {
    let is_frame = |shape: &&Shape| shape.has("figure-panel");
    let frame = document.shapes.iter().find(is_frame).expect("a figure has a panel").area;
    for shape in document.shapes.iter().filter(|shape| !is_frame(shape)) {
        if !frame.holds(&shape.area, 0.0) {
            broken.push(format!("{} `{}` leaves the figure: {:?}", shape.kind, shape.text, shape.area));
        }
    }
}

/// Curves, ranges and dots lie in the frame of a plot; the lines of the legend lie in none.
fn marks_are_in_a_plot(document: &Document, broken: &mut Vec<String>) {
    let plots: Vec<_> = document.shapes.iter().filter(|shape| shape.has("plot")).map(|shape| shape.area).collect();
    let is_mark = |shape: &&Shape| shape.kind == "circle" || (shape.has("curve") && !shape.has("key"));
    for mark in document.shapes.iter().filter(is_mark) {
        if !plots.iter().any(|plot| plot.holds(&mark.area, SLACK)) {
            broken.push(format!("{} {:?} is in no plot: {:?}", mark.kind, mark.classes, mark.area));
        }
    }
}
