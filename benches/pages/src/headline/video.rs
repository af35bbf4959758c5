//! The table of the front page about video: pictures with deadlines beside every background at once, with the queues
//! that the command asks for.

use report::views::percent_of_raw;
use report::{Column, Table};

use super::cells::{NONE, factor, spread};
use super::copies::group_tail;
use super::groups::{Group, groups, over_idle};
use super::sources::{self, asked};
use crate::stored::Stored;

/// The variable that sets the driver's queues for kernels.
pub const MAX_CONNECTIONS: &str = "CUDA_DEVICE_MAX_CONNECTIONS";
/// The same for copies.
pub const MAX_COPY_CONNECTIONS: &str = "CUDA_DEVICE_MAX_COPY_CONNECTIONS";

/// The environment that the command makes (`overtake::queues::ask`).
const ASKED: [(&str, &str); 2] = [(MAX_CONNECTIONS, "32"), (MAX_COPY_CONNECTIONS, "4")];

/// The methods, as rows name them and as the table does.
const METHODS: [(&str, &str); 2] = [("native+priority", "CUDA alone, highest priority"), ("pipeline", "overtake")];
/// The background: all of them.
const SETTING: &str = "all";

/// `video DEVICE`: the frames that missed their deadline, by cameras and method.
pub fn table(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let runs = with_queues(runs, words)?;
    let all = beside_all(&runs);
    if all.is_empty() {
        return Ok(sources::none("video"));
    }
    let mut table = Table::new(vec![
        Column::words("cameras"),
        Column::words("way"),
        Column::numbers("pictures late or lost"),
        Column::numbers("p50 / idle"),
        Column::numbers("p99 us"),
        Column::numbers("bulk keeps, %"),
    ]);
    for (method, title) in METHODS {
        for group in all.iter().filter(|group| group.key.method == method) {
            table.push([
                group.key.cameras.clone(),
                title.to_owned(),
                group.missed().unwrap_or(NONE.to_owned()),
                spread(&group.values(over_idle), factor),
                group_tail(group),
                spread(&group.values(percent_of_raw), |percent| format!("{percent:.0}")),
            ]);
        }
    }
    Ok(format!("{}\n{}", table.to_markdown(), sources::line(&runs, "video")))
}

/// The runs with the queues that the command asks for, and rows beside every background.
pub fn with_queues<'a>(runs: &'a [Stored], words: &[&str]) -> Result<Vec<&'a Stored>, String> {
    let is_shown = |run: &&Stored| has_queues(run) && !beside_all(&[run]).is_empty();
    Ok(asked(runs, "video", words)?.into_iter().filter(is_shown).collect())
}

/// Their rows beside every background at once.
pub fn beside_all(runs: &[&Stored]) -> Vec<Group> {
    let mut all = groups(runs);
    all.retain(|group| group.key.setting == SETTING && METHODS.iter().any(|(method, _)| *method == group.key.method));
    all
}

fn has_queues(run: &Stored) -> bool {
    ASKED.iter().all(|(name, value)| run.header.environment.get(*name).is_some_and(|set| set == value))
}

#[cfg(test)]
pub mod tests {
    use serde_json::json;

    use super::*;
    use crate::headline::example;

    fn run(queues: &str, missed: u64) -> Stored {
        let row = |method: &str, setting: &str| {
            json!(report::BenchRow {
                method: method.into(),
                setting: Some(setting.into()),
                stream: Some("4x1080p60".into()),
                samples: 1_500,
                p50_us: Some(30.0),
                p99_us: Some(60.0),
                idle_p50_us: Some(10.0),
                due: Some(1_500),
                missed: Some(missed),
                ..report::BenchRow::default()
            })
        };
        let mut run = example::run("video", "h100", vec![row("pipeline", "all"), row("pipeline", "model")]);
        run.header.environment.extend(ASKED.map(|(name, value)| (name.to_owned(), value.to_owned())));
        run.header.environment.insert(MAX_CONNECTIONS.to_owned(), queues.to_owned());
        run
    }

    /// A run with the queues, of one method.
    pub fn of_method(method: &str) -> Stored {
        let mut run = run("32", 7);
        for row in &mut run.rows {
            row["method"] = method.into();
            row["stream"] = "4x1080p60:nv12".into();
        }
        run
    }

    #[test]
    fn frames_of_runs_with_the_queues_are_added_up() {
        let runs = [run("8", 700), run("32", 0), run("32", 1)];
        let text = table(&runs, &["h100"]).unwrap();
        assert!(text.contains("| 4x1080p60 | overtake | 1 of 3,000 | 3.00 | 60.0 | - |"), "{text}");
        assert_eq!(text.matches("4x1080p60").count(), 1, "other backgrounds and queues are left out: {text}");
        assert!(table(&[], &["h100"]).unwrap().contains("No run"));
    }
}
