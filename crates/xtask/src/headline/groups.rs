//! Rows of several runs that measured the same: what a line of a table is made of.

use report::BenchRow;

use crate::stored::Stored;

/// The current runs that answer a question on a device.
pub fn current<'a>(runs: &'a [Stored], question: &str, device: &str) -> Vec<&'a Stored> {
    let is_its = |run: &&Stored| run.question == question && run.device == device && run.is_current();
    runs.iter().filter(is_its).collect()
}

/// What tells rows of a bench apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Key {
    /// What of the environment matters.
    pub variant: String,
    /// Which way.
    pub direction: String,
    /// By which method.
    pub method: String,
    /// With which setting, or share.
    pub setting: String,
    /// Of which priority.
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
            priority: row.priority,
            bytes: (row.high_bytes, row.bulk_bytes),
        }
    }
}

/// The rows of one key.
#[derive(Clone, Debug)]
pub struct Group {
    /// What they have in common.
    pub key: Key,
    /// One of each run that has it.
    pub rows: Vec<BenchRow>,
}

impl Group {
    /// A figure of every row that has it.
    pub fn values(&self, figure: impl Fn(&BenchRow) -> Option<f64>) -> Vec<f64> {
        self.rows.iter().filter_map(figure).collect()
    }
}

/// The rows of runs by what tells them apart, in the order in which they first come.
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

/// How many times the idle median a row takes.
pub fn over_idle(row: &BenchRow) -> Option<f64> {
    row.p50_us.zip(row.idle_p50_us).map(|(p50_us, idle_us)| p50_us / idle_us)
}

/// How much of what it has alone bulk keeps, in percent.
pub fn bulk_percent(row: &BenchRow) -> Option<f64> {
    row.bulk_gbps.zip(row.raw_gbps).map(|(bulk, raw)| 100.0 * bulk / raw)
}
