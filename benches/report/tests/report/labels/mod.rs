//! No label of any figure lies over another, and nothing is drawn outside its frame.
//!
//! The boxes of all texts are computed from the document itself: its own style sheet says how large the letters are,
//! and [`overtake_report::font`] how wide they get in the widest font that the style sheet names.

mod cases;
mod document;
mod rules;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use document::Document;

/// Fails with every rule that a figure breaks.
fn assert_readable(name: &str, svg: &str) {
    let wrong = rules::broken(&Document::parse(svg));
    assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n"));
}

fn below(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        match path.is_dir() {
            true => below(&path, extension, found),
            false if path.extension().is_some_and(|is| is == extension) => found.push(path),
            false => {}
        }
    }
}

#[test]
fn every_stored_picture_is_readable() {
    let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports");
    let mut pictures = Vec::new();
    below(&reports, "svg", &mut pictures);
    assert!(!pictures.is_empty(), "no picture below {}", reports.display());
    for picture in pictures {
        assert_readable(&picture.display().to_string(), &std::fs::read_to_string(&picture).unwrap());
    }
}

/// The runs of all stored files, each with the name of its file.
fn stored_runs() -> BTreeMap<String, String> {
    let mut files = pages::stored::texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    files.retain(|name, _| name.ends_with(".json"));
    assert!(files.len() > 50, "{files:?}");
    files
}

#[test]
fn every_figure_of_a_page_about_a_stored_run_is_readable() {
    let mut count = 0;
    for (name, text) in stored_runs() {
        let page = overtake_report::runs::page("all", &overtake_report::runs::read("run", &text).unwrap());
        for part in page.split("<svg ").skip(1) {
            assert_readable(&name, &format!("<svg {}</svg>", part.split("</svg>").next().unwrap()));
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn latency_figures_are_readable() {
    cases::latency().into_iter().for_each(|(name, figure)| assert_readable(&name, &figure.to_svg()));
}

#[test]
fn scatters_are_readable() {
    cases::scatters().into_iter().for_each(|(name, figure)| assert_readable(&name, &figure.to_svg()));
}

#[test]
fn range_figures_are_readable() {
    cases::ranges().into_iter().for_each(|(name, figure)| assert_readable(&name, &figure.to_svg()));
}

#[test]
fn timelines_are_readable() {
    cases::timelines().into_iter().for_each(|(name, figure)| assert_readable(&name, &figure.to_svg()));
}

#[test]
fn labels_that_fit_are_there() {
    let (name, figure) = cases::latency().into_iter().next().unwrap();
    let svg = figure.to_svg();
    for text in ["host to device", "p99", "13.2 us", "8.46 ms", "640x", "the idle p50", ">idle<"] {
        assert!(svg.contains(text), "{name}: {text} is missing in {svg}");
    }
}

#[test]
fn the_rules_find_every_fault() {
    let figure = |body: &str| {
        format!(
            "<svg viewBox=\"0 0 200 100\">\n<style>\ntext{{font:10px sans-serif;fill:#fff}}\n.big{{font-size:20px}}\n\
             </style>\n<rect class=\"figure-panel\" x=\"0\" y=\"0\" width=\"200\" height=\"100\" rx=\"8\"/>\n\
             <rect class=\"plot\" x=\"50\" y=\"20\" width=\"100\" height=\"60\" rx=\"2\"/>\n{body}\n</svg>\n"
        )
    };
    let text = |class: &str, x: f64, y: f64, anchor: &str, text: &str| {
        format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>\n")
    };
    let wrong = |body: &str| rules::broken(&Document::parse(&figure(body)));
    let two =
        |class: &str, y: f64| text("", 60.0, 40.0, "start", "one &amp; two") + &text(class, 60.0, y, "start", "2");
    assert_eq!(wrong(&two("", 50.0)), [""; 0], "a line apart");
    assert!(wrong(&two("", 45.0))[0].contains("`one & two` and `2`"), "half a line apart");
    assert_eq!(wrong(&two("big", 50.0)).len(), 1, "a line apart, in larger letters");
    assert_eq!(wrong(&text("", 170.0, 40.0, "start", "12,345,678")).len(), 1, "beyond the right side");
    assert_eq!(wrong(&text("", 20.0, 40.0, "end", "12,345,678")).len(), 1, "beyond the left side");
    assert_eq!(wrong(&text("", 20.0, 5.0, "start", "a")).len(), 1, "beyond the top");
    assert_eq!(wrong("<circle class=\"f-red\" cx=\"160\" cy=\"50\" r=\"4\"/>").len(), 1, "a dot outside the plot");
    assert_eq!(wrong("<path class=\"curve s-red\" d=\"M60.0 30.0L70.0 90.0\"/>").len(), 1, "a curve below the plot");
    assert_eq!(wrong("<line class=\"curve s-red\" x1=\"40\" y1=\"30\" x2=\"60\" y2=\"30\"/>").len(), 1, "a range");
    assert_eq!(wrong("<line class=\"key curve\" x1=\"10\" y1=\"90\" x2=\"30\" y2=\"90\"/>"), [""; 0], "of the legend");
    assert_eq!(wrong("<line class=\"grid\" x1=\"-1\" y1=\"90\" x2=\"30\" y2=\"90\"/>").len(), 1, "beyond the figure");
}
