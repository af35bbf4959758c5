//! The figures of a run on a page.

use super::read::Stored;
use crate::views::{frontier, latency_figures, percent_of_raw};
use crate::{BenchRow, Run};

/// A figure with the heading above it.
pub(super) struct Figure {
    pub(super) heading: &'static str,
    pub(super) svg: String,
}

/// Distributions, frontier and timeline, as far as the run has them.
pub(super) fn all(run: &Stored) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut add = |heading, svg| figures.push(Figure { heading, svg });
    if let Some(header) = &run.header {
        let rows: Vec<BenchRow> = run.drawn.iter().map(|drawn| drawn.row.clone()).collect();
        let drawn = Run { header: header.clone(), rows };
        for figure in latency_figures(&drawn, "How long an urgent copy or a task takes") {
            add("Distributions", figure.to_svg());
        }
        let has_dots = drawn.rows.iter().any(|row| row.p50_us.is_some() && percent_of_raw(row).is_some());
        if has_dots {
            add("Frontier", frontier(&drawn).to_svg());
        }
    }
    if let Some(trace) = &run.trace {
        if let Some(near) = trace.around_longest() {
            let title = format!("Around the urgent copy that took longest: {}", near.summary());
            add("Timeline", near.timeline(&title).to_svg());
        }
        add("Timeline", trace.timeline(&trace.summary()).to_svg());
    }
    figures
}
