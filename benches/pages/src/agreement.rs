//! `agreement`: stored runs of the software GPU beside stored runs of the GPU that it models, row by row.

use std::fmt::Write as _;
use std::path::Path;

use report::BenchRow;

use crate::Outcome;
use crate::headline::groups::{Key, current, groups};
use crate::stored::{self, Stored};

/// The questions that are compared.
pub const BENCHES: [&str; 7] = ["latency", "burst", "overhead", "priorities", "endless", "frontier", "bandwidth"];
/// The folder of the model's runs.
const MODEL: &str = "soft";
/// The permitted deviation of a figure.
const TOLERANCE: f64 = 0.20;
/// The figures that are compared.
const FIGURES: [(&str, Figure); 2] = [("p50 us", |row| row.p50_us), ("bulk GB/s", |row| row.bulk_gbps)];

/// A figure of a row.
type Figure = fn(&BenchRow) -> Option<f64>;

/// One figure of one row: the lowest and the highest measurement, and the model's value.
pub struct Line {
    /// The index in [`BENCHES`].
    pub bench: usize,
    /// The name of the figure.
    pub figure: &'static str,
    key: Key,
    lowest: f64,
    highest: f64,
    model: f64,
}

impl Line {
    /// The model's value over the nearest measurement; 1 if it lies between two measurements.
    pub fn ratio(&self) -> f64 {
        self.model / self.model.clamp(self.lowest, self.highest)
    }
}

/// Whether a ratio is too far from 1.
pub fn is_off(ratio: f64) -> bool {
    (ratio - 1.0).abs() > TOLERANCE
}

/// Every figure that both the model and the runs of a device have.
pub fn lines(runs: &[Stored], device: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    for (bench, question) in BENCHES.into_iter().enumerate() {
        let measured = groups(&current(runs, question, device));
        for model in groups(&current(runs, question, MODEL)) {
            let Some(fact) = measured.iter().find(|group| group.key == model.key) else { continue };
            for (figure, value) in FIGURES {
                let facts = fact.values(value);
                let lowest = facts.iter().copied().reduce(f64::min);
                let highest = facts.iter().copied().reduce(f64::max);
                let given = model.values(value).first().copied();
                if let (Some(lowest), Some(highest), Some(given)) = (lowest, highest, given) {
                    lines.push(Line { bench, figure, key: model.key.clone(), lowest, highest, model: given });
                }
            }
        }
    }
    lines
}

/// Every figure of the model beside those of the runs of a device.
pub fn run(root: &Path, device: &str) -> Outcome {
    let runs = stored::read_all(root).map_err(|wrong| wrong.join("\n") + "\n")?;
    let lines = lines(&runs, device);
    if lines.is_empty() {
        return Err(format!("no stored run of `{device}` has a row that the model's have\n"));
    }
    let mut text = format!(
        "Lowest and highest figure of the stored runs of {device}, the model's, and the model's over the nearest of \
         them.\n* is more than {:.0} % off.\n\n",
        100.0 * TOLERANCE
    );
    for line in &lines {
        let Key { direction, method, setting, priority, bytes, .. } = &line.key;
        let setting = priority.map_or(setting.clone(), |priority| format!("priority {priority}"));
        let kib = if bytes.0 == 0 { bytes.1 } else { bytes.0 } >> 10;
        let _ = writeln!(
            text,
            "{:<10} {direction:<4} {method:<16} {setting:<32} {kib:>6} KiB  {:<9} {:>9.1} {:>9.1} {:>9.1} {:>5.2}{}",
            BENCHES[line.bench],
            line.figure,
            line.lowest,
            line.highest,
            line.model,
            line.ratio(),
            if is_off(line.ratio()) { "*" } else { "" }
        );
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headline::example;

    #[test]
    fn between_two_measurements_nothing_is_off() {
        let key = Key::default();
        let ratio = |model| Line { bench: 0, figure: "", key: key.clone(), lowest: 10.0, highest: 20.0, model }.ratio();
        assert!((ratio(15.0) - 1.0).abs() < 1e-9 && !is_off(ratio(8.1)) && !is_off(ratio(23.9)));
        assert!(is_off(ratio(7.9)) && is_off(ratio(24.1)));
    }

    #[test]
    fn rows_meet_their_like() {
        let runs = [("soft", "idle", 9.0), ("soft", "new", 9.0), ("h100", "idle", 12.0), ("h100", "idle", 19.0)]
            .map(|(device, method, p50_us)| example::bench("latency", device, method, p50_us));
        let lines = lines(&runs, "h100");
        assert_eq!(lines.len(), FIGURES.len(), "rows of the model alone are not compared");
        assert_eq!((lines[0].lowest, lines[0].highest), (12.0, 19.0));
        assert!(is_off(lines[0].ratio()));
    }
}
