//! `overtake check`: checks files of rules and options as the drop-in will read them.

use std::path::Path;

use console::failure::{Failure, Result};
use console::output;
use os::fault::{Fault, Source};
use serde::Serialize;
use shim::settings::Settings;

use crate::args::CheckArguments;

/// A mistake, for a script.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct FaultRow {
    line: Option<usize>,
    column: Option<usize>,
    message: String,
}

#[derive(Debug, Serialize)]
struct Judgement {
    file: String,
    is_good: bool,
    rules: usize,
    faults: Vec<FaultRow>,
    #[serde(skip)]
    text: String,
}

/// Runs the command. It fails if a file has mistakes.
pub fn run(arguments: &CheckArguments) -> Result<()> {
    let judgements: Vec<Judgement> = arguments.files.iter().map(|path| judge(path)).collect();
    if arguments.json {
        output::print_json(&judgements)?;
    } else {
        judgements.iter().try_for_each(|judgement| output::print(&judgement.text))?;
    }
    match judgements.iter().map(|judgement| judgement.faults.len()).sum() {
        0 => Ok(()),
        1 => Err(Failure::Other("1 fault".to_owned())),
        count => Err(Failure::Other(format!("{count} faults"))),
    }
}

fn judge(path: &Path) -> Judgement {
    let (origin, mut settings) = (path.display().to_string(), Settings::default());
    match os::file::read_text(path) {
        Ok(text) => settings.apply_toml(&Source { origin: &origin, text: &text }),
        Err(error) => {
            let unread = Source { origin: &origin, text: "" }.fault_of_all(format!("cannot be read: {error}"));
            settings.faults.push(unread);
        }
    }
    let row = |fault: &Fault| FaultRow {
        line: fault.place.as_ref().map(|place| place.line),
        column: fault.place.as_ref().map(|place| place.column),
        message: fault.message.clone(),
    };
    let rules = settings.rules.len();
    let text = match &settings.faults[..] {
        [] => format!("{origin}: good; rules: {rules}\n"),
        faults => faults.iter().map(|fault| format!("{fault}\n")).collect(),
    };
    let faults: Vec<FaultRow> = settings.faults.iter().map(row).collect();
    Judgement { file: origin, is_good: faults.is_empty(), rules, faults, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(text: &str) -> Judgement {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules.toml");
        std::fs::write(&path, text).unwrap();
        judge(&path)
    }

    #[test]
    fn a_good_file_is_said_to_be_good() {
        let good = judged("wait_budget_us = 30\n[[rule]]\npriority = \"pass\"\n");
        assert!(good.is_good && good.rules == 1 && good.text.ends_with("rules.toml: good; rules: 1\n"), "{good:?}");
    }

    #[test]
    fn every_fault_is_shown_with_its_place() {
        let bad = judged("wait_buget_us = 30\n[[rule]]\npriority = 9\n");
        let places: Vec<_> = bad.faults.iter().map(|fault| (fault.line, fault.column)).collect();
        assert_eq!(places, [(Some(1), Some(1)), (Some(3), Some(12))]);
        assert!(
            !bad.is_good && bad.text.contains("is it wait_budget_us?\n  1 | wait_buget_us = 30\n    | ^^"),
            "{}",
            bad.text
        );
    }

    #[test]
    fn a_missing_file_is_a_fault() {
        let zero = judge("/dev/zero".as_ref());
        assert!(zero.text.contains("not a regular file") && zero.faults[0].line.is_none(), "{zero:?}");
    }
}
