//! The timeline for a terminal.

use super::timeline::{Lane, Steps, Timeline};
use crate::format;

/// Columns of the axis that are too few to tell anything apart.
const LEAST_AXIS: usize = 20;

impl Timeline {
    /// As plain ASCII of about `width` columns: a bar `[label===]` for each span, a digit (or `+` above 9) for each
    /// column of a stepped value.
    #[must_use]
    pub fn to_text(&self, width: usize) -> String {
        let names = self.lanes.iter().map(|lane| &lane.name).chain(self.steps.iter().map(|steps| &steps.name));
        let name_width = names.map(|name| name.chars().count()).max().unwrap_or(0);
        let axis = width.saturating_sub(name_width + 2).max(LEAST_AXIS);
        let end = self.end_us();
        let column = |us: f64| if end > 0.0 { (us / end * (axis - 1) as f64).round() as usize } else { 0 };
        let mut text = String::new();
        for lane in &self.lanes {
            text.push_str(&format!("{:>name_width$}  {}\n", lane.name, lane_text(lane, axis, &column)));
        }
        for steps in &self.steps {
            text.push_str(&format!("{:>name_width$}  {}\n", steps.name, steps_text(steps, axis, end)));
        }
        let right = format::span_us(end);
        text.push_str(&format!("{:name_width$}  0{right:>fill$}\n", "", fill = axis - 1));
        text
    }
}

fn lane_text(lane: &Lane, axis: usize, column: &dyn Fn(f64) -> usize) -> String {
    let mut line = vec![' '; axis];
    for span in &lane.spans {
        let (from, to) = (column(span.start_us), column(span.end_us).max(column(span.start_us) + 1).min(axis - 1));
        line[from..=to].fill('=');
        let room = (to - from).saturating_sub(1);
        for (place, letter) in line[from + 1..].iter_mut().take(room).zip(span.label.chars()) {
            *place = letter;
        }
        (line[from], line[to]) = ('[', ']');
    }
    line.into_iter().collect::<String>().trim_end().to_owned()
}

fn steps_text(steps: &Steps, axis: usize, end: f64) -> String {
    let value_at = |us: f64| steps.points.iter().take_while(|point| point.0 <= us).last().map_or(0, |point| point.1);
    let digit = |value: u64| u32::try_from(value).ok().and_then(|v| char::from_digit(v, 10)).unwrap_or('+');
    (0..axis).map(|column| digit(value_at(end * column as f64 / (axis - 1) as f64))).collect()
}
