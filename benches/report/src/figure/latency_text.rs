//! The latency figure for a terminal: one bar for each series on a logarithmic axis.

use super::latency::{LatencyFigure, Panel};
use super::scale::LogScale;
use crate::{carries, format};

/// Columns of the axis that are too few to tell anything apart.
const LEAST_AXIS: usize = 20;

/// A line of fixed width into which texts are written at columns.
struct Line(Vec<char>);

impl Line {
    fn new(width: usize) -> Line {
        Line(vec![' '; width])
    }

    fn fill(&mut self, from: usize, to: usize, mark: char) {
        self.0[from..=to].fill(mark);
    }

    /// Writes `text` around `column`, unless it would touch an earlier text.
    fn centre(&mut self, column: usize, text: &str) {
        let length = text.chars().count();
        let start = column.saturating_sub(length / 2).min(self.0.len().saturating_sub(length));
        let around = start.saturating_sub(1)..(start + length + 1).min(self.0.len());
        if self.0[around].iter().all(|mark| *mark == ' ') {
            for (place, mark) in self.0[start..].iter_mut().zip(text.chars()) {
                *place = mark;
            }
        }
    }

    fn finish(self) -> String {
        self.0.into_iter().collect::<String>().trim_end().to_owned()
    }
}

impl LatencyFigure {
    /// As plain ASCII of at most `width` columns (or a little more where that is too narrow to show anything).
    #[must_use]
    pub fn to_text(&self, width: usize) -> String {
        let Some(scale) = self.scale() else { return String::new() };
        let names = self.panels.iter().flat_map(|panel| &panel.series).map(|series| series.name.chars().count());
        let name_width = names.chain(self.panels.iter().map(|panel| panel.title.chars().count())).max().unwrap_or(0);
        let axis = width.saturating_sub(name_width + 2).max(LEAST_AXIS);
        let panels = self.panels.iter().map(|panel| panel_text(panel, scale, name_width, axis));
        let mut text = panels.collect::<Vec<_>>().join("\n");
        text.push_str("\n  - minimum to p99, of fewer than 1,000 to the maximum    = p10 to p90    # median\n");
        text
    }
}

fn panel_text(panel: &Panel, scale: LogScale, name_width: usize, axis: usize) -> String {
    let column = |us: f64| (scale.share(us) * (axis - 1) as f64).round() as usize;
    let mut labels = Line::new(axis);
    for (value, _) in scale.ticks().into_iter().filter(|(_, is_labelled)| *is_labelled) {
        labels.centre(column(value), &format::span_us(value));
    }
    let mut text = format!("{:<name_width$}  {}\n", panel.title, labels.finish());
    for series in &panel.series {
        let at = |share: f64| column(series.distribution.quantile_us(share));
        let mut bar = Line::new(axis);
        bar.fill(at(0.0), at(if carries(series.distribution.samples(), 0.99) { 0.99 } else { 1.0 }), '-');
        bar.fill(at(0.1), at(0.9), '=');
        bar.fill(at(0.5), at(0.5), '#');
        text.push_str(&format!("{:<name_width$}  {}\n", series.name, bar.finish()));
    }
    text
}
