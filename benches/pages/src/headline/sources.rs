//! The sources of figures.

use report::{Column, Table};

use super::groups::current;
use crate::archive;
use crate::stored::{FOLDER, Stored};

/// The device that a page names: the first word.
pub fn device<'a>(words: &[&'a str]) -> Result<&'a str, String> {
    words.first().copied().ok_or_else(|| "the name of the device's folder is missing".to_owned())
}

/// The line below a table: the number of runs, their product and their device.
pub fn line(runs: &[&Stored], question: &str) -> String {
    let tails = "A p99 *together* is that of the samples of all runs; where those are too few for one, their maximum \
                 stands.";
    match runs.first() {
        Some(first) => format!("{} {tails} {}\n", origin(runs, first), raw(question, first)),
        None => none(question),
    }
}

/// The same below a table that has no tails.
pub fn line_of_medians(runs: &[&Stored], question: &str) -> String {
    match runs.first() {
        Some(first) => format!("{} {}\n", origin(runs, first), raw(question, first)),
        None => none(question),
    }
}

/// The line below a table of several questions.
pub fn line_of_several(questions: &[(&str, Vec<&Stored>)]) -> String {
    let told = questions.iter().map(|(question, runs)| {
        let plural = if runs.len() == 1 { "" } else { "s" };
        format!("{} run{plural} of [{question}]({FOLDER}/{question}/README.md)", runs.len())
    });
    let told = told.collect::<Vec<_>>().join(", ");
    let mut devices: Vec<String> = questions
        .iter()
        .flat_map(|(_, runs)| runs.iter().map(|run| format!("{}, {}", run.header.device, driver(run))))
        .collect();
    devices.sort();
    devices.dedup();
    format!("Medians of {told}; {}; product {}.\n", devices.join("; "), report::PRODUCT)
}

fn origin(runs: &[&Stored], first: &Stored) -> String {
    let mut commits: Vec<&str> = runs.iter().map(|run| &run.header.commit[..run.header.commit.len().min(7)]).collect();
    commits.dedup();
    let count = match runs.len() {
        1 => "One run".to_owned(),
        count => format!("Median (lowest to highest) of {count} runs"),
    };
    let plural = if commits.len() == 1 { "" } else { "s" };
    format!(
        "{count}; {}, {}; product {}, commit{plural} {}.",
        first.header.device,
        driver(first),
        first.header.product,
        commits.join(", "),
    )
}

fn raw(question: &str, first: &Stored) -> String {
    format!("Raw data: `{}/` in `{FOLDER}/{question}/{}`.", first.device, archive::NAME)
}

/// The text for a question without runs.
pub fn none(question: &str) -> String {
    format!("No run of product {} is stored for `{FOLDER}/{question}/` yet.\n", report::PRODUCT)
}

fn driver(run: &Stored) -> String {
    match (&run.header.driver_release, run.header.backend.as_str()) {
        (Some(release), _) => format!("driver {release}"),
        (None, "soft") => "in virtual time".to_owned(),
        (None, _) => format!("driver {}", run.header.driver),
    }
}

/// A table of the stored runs of a question, of any content; runs of one list appear once.
pub fn runs(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let question = words.first().ok_or("the question is missing")?;
    let mut table = Table::new(vec![
        Column::words("run"),
        Column::words("device, driver"),
        Column::words("commit"),
        Column::numbers("product"),
        Column::words("command"),
    ]);
    let mut before = "";
    for run in runs.iter().filter(|run| run.question == *question) {
        if run.file == before {
            continue;
        }
        before = &run.file;
        let folder = format!("{FOLDER}/{question}/");
        let name = run.file.strip_prefix(&folder).unwrap_or(&run.file);
        let header = &run.header;
        let environment: String = header.environment.iter().map(|(name, value)| format!("{name}={value} ")).collect();
        table.push([
            format!("`{name}`"),
            format!("{}, {}", header.device, driver(run)),
            header.commit.chars().take(if header.commit.contains(' ') { 40 } else { 7 }).collect(),
            match header.product {
                0 => "none".to_owned(),
                product => product.to_string(),
            },
            format!("`{environment}{}`", header.command),
        ]);
    }
    Ok(table.to_markdown())
}

/// `questions`: every question, with the number of current runs of each device.
pub fn questions(runs: &[Stored], _: &[&str]) -> Result<String, String> {
    let mut table =
        Table::new(vec![Column::words("question"), Column::words("runs of the product"), Column::words("others")]);
    let mut names: Vec<&str> = runs.iter().map(|run| run.question.as_str()).collect();
    names.dedup();
    for name in names {
        let its = || runs.iter().filter(|run| run.question == name);
        let mut devices: Vec<&str> = its().map(|run| run.device.as_str()).collect();
        devices.dedup();
        let count = |is: fn(&Stored) -> bool| -> String {
            let of = |device: &&str| {
                let count = its().filter(|run| run.device == *device && is(run)).count();
                (count > 0).then(|| format!("{count} {device}"))
            };
            devices.iter().filter_map(of).collect::<Vec<_>>().join(", ")
        };
        table.push([format!("[{name}]({name}/README.md)"), count(Stored::is_current), count(|run| !run.is_current())]);
    }
    Ok(table.to_markdown())
}

/// The current runs of a question on the device that a page names.
pub fn asked<'a>(runs: &'a [Stored], question: &str, words: &[&str]) -> Result<Vec<&'a Stored>, String> {
    Ok(current(runs, question, device(words)?))
}
