//! The table of the front page about video: pictures with deadlines beside every background at once.

use report::{Column, Table};

use super::cells::{NONE, factor, spread};
use super::copies::group_tail;
use super::groups::{Group, bulk_percent, groups, over_idle};
use super::sources::{self, asked};
use crate::stored::Stored;

/// The variable that sets the driver's queues for kernels.
pub const MAX_CONNECTIONS: &str = "CUDA_DEVICE_MAX_CONNECTIONS";

/// The methods, as rows name them and as the table does.
const METHODS: [(&str, &str); 3] =
    [("native+priority", "CUDA alone, highest stream priority"), ("dispatcher", "tasks"), ("pipeline", "pipelines")];
/// The background: all of them.
const SETTING: &str = "all";

/// `video DEVICE`: the frames that missed their deadline, by method and number of queues.
pub fn table(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let runs: Vec<&Stored> =
        asked(runs, "video", words)?.into_iter().filter(|run| !rows_beside_all(&[run]).is_empty()).collect();
    let all = rows_beside_all(&runs);
    if all.is_empty() {
        return Ok(sources::none("video"));
    }
    let mut table = Table::new(vec![
        Column::words("cameras beside everything"),
        Column::words("way"),
        Column::numbers("queues for kernels"),
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
                queues(group),
                group.missed().unwrap_or(NONE.to_owned()),
                spread(&group.values(over_idle), factor),
                group_tail(group),
                spread(&group.values(bulk_percent), |percent| format!("{percent:.0}")),
            ]);
        }
    }
    Ok(format!("{}\n{}", table.to_markdown(), sources::line(&runs, "video")))
}

fn rows_beside_all(runs: &[&Stored]) -> Vec<Group> {
    let mut all = groups(runs);
    all.retain(|group| group.key.setting == SETTING && METHODS.iter().any(|(method, _)| *method == group.key.method));
    all
}

/// The queues of the rows' runs: those that the environment names, or the driver's own number.
fn queues(group: &Group) -> String {
    let named = group.key.variant.split(' ').find_map(|word| word.strip_prefix(MAX_CONNECTIONS)?.strip_prefix('='));
    named.unwrap_or("8").to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::headline::example;

    fn run(queues: Option<&str>, missed: u64) -> Stored {
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
        run.header.environment.extend(queues.map(|queues| (MAX_CONNECTIONS.to_owned(), queues.to_owned())));
        run
    }

    #[test]
    fn frames_are_added_up_by_the_number_of_queues() {
        let runs = [run(None, 700), run(Some("32"), 0), run(Some("32"), 1)];
        let text = table(&runs, &["h100"]).unwrap();
        for line in [
            "| 4x1080p60 | pipelines | 8 | 700 of 1,500 | 3.00 | 60.0 | - |",
            "| 4x1080p60 | pipelines | 32 | 1 of 3,000 | 3.00 | 60.0 | - |",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert_eq!(text.matches("pipelines").count(), 2, "other backgrounds are left out: {text}");
        assert!(table(&[], &["h100"]).unwrap().contains("No run"));
    }
}
