//! Rows of several runs with the same key: the material of a line of a table.

use report::{BenchRow, format};

use crate::stored::Stored;

/// The current runs that answer a question on a device.
pub fn current<'a>(runs: &'a [Stored], question: &str, device: &str) -> Vec<&'a Stored> {
    let is_its = |run: &&Stored| run.question == question && run.device == device && run.is_current();
    runs.iter().filter(is_its).collect()
}

/// The properties that distinguish the rows of a bench.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Key {
    /// The relevant part of the environment.
    pub variant: String,
    pub direction: String,
    pub method: String,
    /// The setting or the share.
    pub setting: String,
    /// The cameras, where a run has several kinds.
    pub cameras: String,
    pub priority: Option<u8>,
    /// Sizes of the urgent copy and of a bulk request.
    pub bytes: (u64, u64),
}

impl Key {
    fn of(run: &Stored, row: &BenchRow) -> Key {
        let share = row.share_configured.map(|share| format!("promised {:.0} %", 100.0 * share));
        Key {
            variant: run.variant(),
            direction: row.direction.clone(),
            method: row.method.clone(),
            setting: row.setting.clone().or(share).unwrap_or_default(),
            cameras: row.stream.clone().unwrap_or_default(),
            priority: row.priority,
            bytes: (row.high_bytes, row.bulk_bytes),
        }
    }
}

/// The rows of one key.
#[derive(Clone, Debug)]
pub struct Group {
    pub key: Key,
    /// One row of each run that has it.
    pub rows: Vec<BenchRow>,
}

impl Group {
    /// The figure of every row that has it.
    pub fn values(&self, figure: impl Fn(&BenchRow) -> Option<f64>) -> Vec<f64> {
        self.rows.iter().filter_map(figure).collect()
    }

    /// The frames of all rows that missed their time, and those that had one: `3 of 400`.
    pub fn missed(&self) -> Option<String> {
        let sum = |count: fn(&BenchRow) -> Option<u64>| self.rows.iter().filter_map(count).sum::<u64>() as f64;
        let (missed, due) = (sum(|row| row.missed), sum(|row| row.due));
        (due > 0.0).then(|| format!("{} of {}", format::grouped(missed, 0), format::grouped(due, 0)))
    }
}

/// The rows of runs by key, in the order of their first appearance.
pub fn groups(runs: &[&Stored]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for run in runs {
        for row in run.bench_rows() {
            let key = Key::of(run, &row);
            match groups.iter_mut().find(|group| group.key == key) {
                Some(group) => group.rows.push(row),
                None => groups.push(Group { key, rows: vec![row] }),
            }
        }
    }
    groups
}

/// A row's median over the idle median.
pub fn over_idle(row: &BenchRow) -> Option<f64> {
    row.p50_us.zip(row.idle_p50_us).map(|(p50_us, idle_us)| p50_us / idle_us)
}
