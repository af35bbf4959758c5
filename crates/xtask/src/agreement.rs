//! `agreement`: stored runs of the software GPU beside stored runs of the GPU that it models, row by row.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::Outcome;

/// The runs that are compared: the name of the file is the name of the bench.
const BENCHES: [&str; 7] = ["latency", "burst", "overhead", "priorities", "endless", "frontier", "bandwidth"];
/// How far a figure may be off.
const TOLERANCE: f64 = 0.20;
/// What is compared.
const FIGURES: [&str; 2] = ["p50_us", "bulk_gbps"];

/// The rows of one bench of one run, by what tells them apart.
type Rows = Vec<(Key, [Option<f64>; 2])>;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    direction: String,
    method: String,
    high_bytes: u64,
    bulk_bytes: u64,
    /// The setting, or the priority.
    setting: String,
}

/// Lowest and highest of what was measured, and what the model gave.
struct Pair {
    lowest: f64,
    highest: f64,
    model: f64,
}

impl Pair {
    /// How far the model is from what was measured; 1 where it lies between two measurements.
    fn ratio(&self) -> f64 {
        self.model / self.model.clamp(self.lowest, self.highest)
    }

    fn is_off(&self) -> bool {
        (self.ratio() - 1.0).abs() > TOLERANCE
    }

    fn text(&self) -> String {
        let mark = if self.is_off() { '*' } else { ' ' };
        format!("{:>9.1} {:>9.1} {:>9.1} {:>5.2}{mark}", self.lowest, self.highest, self.model, self.ratio())
    }
}

/// The table, for the folder of the model's run and those of the GPU's.
pub fn run(folders: &[&str]) -> Outcome {
    let [model, measured @ ..] = folders else { return Err("the folder of the model's run is missing\n".to_owned()) };
    if measured.is_empty() {
        return Err("the folders of the GPU's runs are missing\n".to_owned());
    }
    let mut text = format!("$ cargo xtask agreement {}\n", folders.join(" "));
    text += "Lowest and highest figure of the stored runs of the GPU, the model's, and the model's over the nearest of \
             them.\n";
    let _ = writeln!(text, "* is more than {:.0} % off.\n", 100.0 * TOLERANCE);
    let _ = writeln!(
        text,
        "{:<10} {:<9} {:<16} {:<32} {:>6}  {:^36}  {:^36}",
        "bench",
        "direction",
        "method",
        "setting",
        "KiB",
        "p50 us: GPU, GPU, model, ratio",
        "bulk GB/s: GPU, GPU, model, ratio"
    );
    let mut counts = BTreeMap::new();
    for bench in BENCHES {
        let Some(rows) = read(Path::new(model), bench)? else { continue };
        let mut facts = Vec::new();
        for folder in measured {
            facts.extend(read(Path::new(folder), bench)?.unwrap_or_default());
        }
        for row in rows {
            line(&mut text, bench, &row, &facts, &mut counts);
        }
    }
    text.push('\n');
    for ((place, figure), (all, off)) in counts {
        let _ = writeln!(text, "{:<10} {figure:<9} {all:>3} rows, {off:>2} of them off", BENCHES[place]);
    }
    Ok(text)
}

/// One line, and the counts of rows and of rows that are off.
fn line(
    text: &mut String,
    bench: &str,
    (key, figures): &(Key, [Option<f64>; 2]),
    facts: &Rows,
    counts: &mut BTreeMap<(usize, &'static str), (u32, u32)>,
) {
    let pairs = [0, 1].map(|figure| pair(figures[figure], facts.iter().filter(|(k, _)| k == key).map(|f| f.1[figure])));
    if pairs.iter().all(Option::is_none) {
        return;
    }
    let place = BENCHES.iter().position(|name| *name == bench).unwrap_or(0);
    for (name, pair) in FIGURES.into_iter().zip(&pairs) {
        if let Some(pair) = pair {
            let count = counts.entry((place, name)).or_insert((0, 0));
            *count = (count.0 + 1, count.1 + u32::from(pair.is_off()));
        }
    }
    let [latency, bulk] = pairs.map(|pair| pair.map_or(String::new(), |pair| pair.text()));
    let kib = if key.high_bytes == 0 { key.bulk_bytes } else { key.high_bytes } >> 10;
    let Key { direction, method, setting, .. } = key;
    let line = format!("{bench:<10} {direction:<9} {method:<16} {setting:<32} {kib:>6}  {latency:<36}  {bulk}");
    let _ = writeln!(text, "{}", line.trim_end());
}

fn pair(model: Option<f64>, facts: impl Iterator<Item = Option<f64>>) -> Option<Pair> {
    let facts: Vec<f64> = facts.flatten().collect();
    let lowest = facts.iter().copied().reduce(f64::min)?;
    let highest = facts.iter().copied().reduce(f64::max)?;
    Some(Pair { lowest, highest, model: model? })
}

/// The rows of a bench; nothing where the run has none.
fn read(folder: &Path, bench: &str) -> Result<Option<Rows>, String> {
    let file = folder.join(bench).with_extension("json");
    let Ok(text) = std::fs::read_to_string(&file) else { return Ok(None) };
    let run: Value = serde_json::from_str(&text).map_err(|error| format!("{}: {error}\n", file.display()))?;
    let rows = run["rows"].as_array().ok_or_else(|| format!("{}: there are no rows\n", file.display()))?;
    Ok(Some(rows.iter().map(|row| (key(row), FIGURES.map(|figure| row[figure].as_f64()))).collect()))
}

fn key(row: &Value) -> Key {
    let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let number = |name: &str| row[name].as_u64().unwrap_or_default();
    let priority = row["priority"].as_u64().map(|priority| format!("priority {priority}"));
    Key {
        direction: text("direction"),
        method: text("method"),
        high_bytes: number("high_bytes"),
        bulk_bytes: number("bulk_bytes"),
        setting: priority.unwrap_or_else(|| text("setting")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_measurements_nothing_is_off() {
        let pair = |model| Pair { lowest: 10.0, highest: 20.0, model };
        assert!((pair(15.0).ratio() - 1.0).abs() < 1e-9 && !pair(8.1).is_off() && !pair(23.9).is_off());
        assert!(pair(7.9).is_off() && pair(24.1).is_off());
    }

    #[test]
    fn rows_meet_their_like_and_those_that_are_off_are_counted() {
        let folder = crate::wheels::Scratch::new().unwrap();
        let write = |name: &str, p50_us: f64| {
            let row = |method: &str| format!(r#"{{"method":"{method}","direction":"h2d","p50_us":{p50_us}}}"#);
            let at = folder.path().join(name);
            std::fs::create_dir(&at).unwrap();
            let text = format!(r#"{{"rows":[{},{}]}}"#, row("idle"), row(if name == "soft" { "new" } else { "old" }));
            std::fs::write(at.join("latency.json"), text).unwrap();
            at.to_str().unwrap().to_owned()
        };
        let folders = [write("soft", 9.0), write("one", 12.0), write("two", 19.0)];
        let text = run(&folders.each_ref().map(String::as_str)).unwrap();
        assert!(text.contains("12.0      19.0       9.0  0.75*"), "{text}");
        assert!(text.contains("  1 rows,  1 of them off"), "{text}");
        assert!(run(&[]).is_err() && run(&["soft"]).is_err());
    }
}
