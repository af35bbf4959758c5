//! The table of the front page's first screen: what three users would see, each by its medians alone.

use report::views::percent_of_raw;
use report::{Column, Table, format};

use super::cells::{NONE, median};
use super::groups::Group;
use super::programs::Line;
use super::sources::{self, asked};
use super::video;
use crate::stored::Stored;

/// Programs: the question, the case of its rows, and the words of the table.
const PROGRAMS: [(&str, &str, &str); 2] = [
    ("contended", "H2D side", "PyTorch, a 64 KiB copy to the device, median"),
    ("serving", "first small copy of a step", "serving, the first copy of a step, median"),
];
/// The cameras of the row about video, as rows name them and as the table does.
const CAMERAS: (&str, &str) = ("4x1080p60:nv12", "four 1080p60 cameras, pictures late or lost");

/// `first-screen DEVICE`: beside bulk by CUDA alone and with overtake, and the idle device.
pub fn table(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let device = sources::device(words)?.to_uppercase();
    let mut table = Table::new(vec![
        Column::words(format!("{device}, while large copies run")),
        Column::numbers("CUDA alone"),
        Column::numbers("overtake"),
        Column::numbers("idle GPU"),
        Column::numbers("large copies keep, %"),
    ]);
    let mut used: Vec<(&str, Vec<&Stored>)> = Vec::new();
    for (question, case, title) in PROGRAMS {
        let its = asked(runs, question, words)?;
        let line = |mode, phase| Line::find(&its, case, mode, phase);
        let (native, ours, idle) = (line("native", "loaded"), line("overtake", "loaded"), line("native", "idle"));
        let span = |line: &Line| middle(&line.medians_us(), format::span_us);
        let kept = middle(&ours.bulk_percents(&native), percent);
        table.push([title.to_owned(), span(&native), span(&ours), span(&idle), kept]);
        used.push((question, its));
    }
    let its = video::with_queues(runs, words)?;
    let all = video::beside_all(&its);
    let find = |method: &str| all.iter().find(|group| group.key.method == method && group.key.cameras == CAMERAS.0);
    let missed = |method: &str| find(method).and_then(Group::missed).unwrap_or(NONE.to_owned());
    let kept = find("pipeline").map_or(Vec::new(), |group| group.values(percent_of_raw));
    let cells = [missed("native+priority"), missed("pipeline"), NONE.to_owned(), middle(&kept, percent)];
    table.push([CAMERAS.1.to_owned()].into_iter().chain(cells));
    used.push(("video", its));
    match used.iter().find(|(_, its)| its.is_empty()) {
        Some((question, _)) => Ok(sources::none(question)),
        None => Ok(table.to_markdown() + "\n" + &sources::line_of_several(&used)),
    }
}

fn middle(values: &[f64], show: impl Fn(f64) -> String) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() { NONE.to_owned() } else { show(median(&sorted)) }
}

fn percent(value: f64) -> String {
    format!("{value:.0}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headline::example;

    #[test]
    fn each_row_has_the_medians_of_its_question() {
        let serving = |p50_us: [f64; 4]| {
            let mut run = example::contended(p50_us);
            run.question = "serving".into();
            run.rows.iter_mut().for_each(|row| row["case"] = PROGRAMS[1].1.into());
            run
        };
        let mut runs = vec![
            example::contended([10.0, 20.0, 76_000.0, 61.0]),
            example::contended([20.0, 20.0, 78_000.0, 63.0]),
            serving([67.0, 96.0, 23_893.0, 65.9]),
        ];
        assert!(table(&runs, &["h100"]).unwrap().starts_with("No run of product"));
        runs.extend(["native+priority", "pipeline"].map(video::tests::of_method));
        let text = table(&runs, &["h100"]).unwrap();
        for line in [
            "| PyTorch, a 64 KiB copy to the device, median | 77 ms | 62 us | 15 us | - |",
            "| serving, the first copy of a step, median | 23.9 ms | 65.9 us | 67 us | - |",
            "| four 1080p60 cameras, pictures late or lost | 7 of 1,500 | 7 of 1,500 | - | - |",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(text.contains("2 runs of [contended](reports/contended/README.md)"), "{text}");
    }
}
