//! `overtake run --compare`: runs the program natively, watched, and with overtake, in turn.

use std::io::Write as _;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::Instant;

use report::format;
use serde::Serialize;
use shim::help::Help;
use shim::observed::Observed;
use shim::record::FORMAT;

use super::args::RunArguments;
use super::comparison::{Round, Sample, judge, table};
use super::reports::{Folder, Target, Total};
use super::supervise::{Ending, supervise};
use super::unseen::Looks;
use super::variables::{Changes, OBSERVE, REPORT_FOLDER};
use super::{command, loading, refused, why_unseen};
use crate::output;
use console::failure::{Failure, Result};

/// How the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Natively,
    WithOvertake,
}

impl Mode {
    const BOTH: [Mode; 2] = [Mode::Natively, Mode::WithOvertake];

    fn name(self) -> &'static str {
        match self {
            Mode::Natively => "natively",
            Mode::WithOvertake => "with overtake",
        }
    }

    /// The value of the variable that has the drop-in watch.
    fn value(self) -> &'static str {
        match self {
            Mode::Natively => "only",
            Mode::WithOvertake => "also",
        }
    }
}

/// The JSON of a comparison.
#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    command: Vec<String>,
    rounds: &'a [Round],
    /// What was seen of all runs together.
    native: &'a Observed,
    overtake: &'a Observed,
    help: &'a Help,
}

/// The end of a comparison before its last round.
enum Stop {
    /// The program did not start.
    Refused(ExitCode),
    /// It ended otherwise than well.
    Ended(Ending),
}

/// One run that ended well.
struct Seen {
    sample: Sample,
    observed: Observed,
}

/// What to say of the time that is left after some of the runs, if the others take as long.
fn to_go(done: u32, all: u32, spent_us: f64) -> String {
    match done {
        0 => String::new(),
        _ => format!("; {} to go", format::span_us(spent_us / f64::from(done) * f64::from(all - done))),
    }
}

/// Compares. The status is the program's, or that of its first run that ended otherwise than well.
pub fn compare(run: &RunArguments, library: &Path, changes: &Changes, rounds: u32, is_quiet: bool) -> Result<ExitCode> {
    let json = run.json.as_deref().map(Target::open).transpose()?;
    let mut measured = Vec::new();
    let mut seen = [Observed::default(), Observed::default()];
    let (mut done, mut spent_us) = (0, 0.0);
    for number in 1..=rounds {
        let mut round = Round::default();
        // The second run of a round may find a warmer machine: each way is the second one as often as the first.
        let order = if number % 2 == 1 { Mode::BOTH } else { [Mode::WithOvertake, Mode::Natively] };
        for mode in order {
            if !is_quiet {
                let rest = to_go(done, 2 * rounds, spent_us);
                output::say(format_args!("overtake run: round {number} of {rounds}, {}{rest}", mode.name()));
            }
            match once(run, library, changes, mode)? {
                Ok(run) => {
                    seen[mode as usize].add(&run.observed);
                    (done, spent_us) = (done + 1, spent_us + run.sample.wall_us);
                    *if mode == Mode::Natively { &mut round.native } else { &mut round.overtake } = run.sample;
                }
                Err(Stop::Refused(code)) => return Ok(code),
                Err(Stop::Ended(ending)) => {
                    output::complain(format_args!("{}", stopped(ending, mode, number, run.hide_output)));
                    return Ok(ending.repeat());
                }
            }
        }
        measured.push(round);
    }
    let [native, overtake] = seen;
    let help = judge(&measured, &native);
    let words = run.program.iter().map(|word| word.display().to_string()).collect::<Vec<_>>();
    if let Some(target) = json {
        let (rounds, help) = (&measured[..], &help);
        let document =
            Document { format: FORMAT, command: words.clone(), rounds, native: &native, overtake: &overtake, help };
        let text = serde_json::to_string_pretty(&document)
            .map_err(|error| Failure::Other(format!("the comparison does not serialise: {error}")))?;
        target.write(&(text + "\n"))?;
    }
    let text = render(&words.join(" "), &measured, spent_us, &help);
    // Standard error may be closed; the program's result stands.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
    Ok(ExitCode::SUCCESS)
}

fn render(command: &str, rounds: &[Round], spent_us: f64, help: &Help) -> String {
    let (count, spent) = (2 * rounds.len(), format::span_us(spent_us));
    let mut text = format!("\novertake run: {command} (compared by {count} runs, {spent} in all)\n\n");
    for row in table(rounds).to_string().lines() {
        text.push_str(&format!("  {row}\n"));
    }
    text.push_str(&format!("\nverdict\n* {}\n", help.what));
    if let Some(cure) = &help.cure {
        text.push_str(&format!("  try: {cure}\n"));
    }
    text
}

/// What to say of a run that ended otherwise than well.
fn stopped(ending: Ending, mode: Mode, round: u32, is_hidden: bool) -> String {
    let how = match ending {
        Ending::Exited(status) => format!("ended with {status}"),
        Ending::Killed(signal) => format!("was ended by signal {signal}"),
    };
    let other = match mode {
        Mode::Natively => "so there is nothing to compare",
        Mode::WithOvertake => "so nothing is compared; `overtake run -- PROGRAM` shows whether it does so again",
    };
    let hint = if is_hidden { "; leave --hide-output away to see what it says" } else { "" };
    format!("the program {how} {} in round {round}, {other}{hint}", mode.name())
}

/// Runs the program once.
#[expect(clippy::disallowed_methods, reason = "how long the program ran is compared")]
fn once(run: &RunArguments, library: &Path, changes: &Changes, mode: Mode) -> Result<std::result::Result<Seen, Stop>> {
    let folder = Folder::new()?;
    let mut changes = changes.clone();
    changes.extend(loading(run.deployment, library, Some(&folder))?);
    let mut command = command(run, &changes);
    command.env(REPORT_FOLDER, folder.path()).env(OBSERVE, mode.value());
    if run.hide_output {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    let mut looks = Looks::new(library);
    let start = Instant::now();
    let ending = match supervise(&mut command, &mut looks) {
        Ok(ending) => ending,
        Err(error) => return Ok(Err(Stop::Refused(refused(&run.program[0], &error)))),
    };
    let wall_us = start.elapsed().as_micros() as f64;
    if ending != Ending::Exited(0) {
        return Ok(Err(Stop::Ended(ending)));
    }
    let found = folder.reports();
    let total = Total::of(found.processes.iter().map(|process| &process.record));
    found.complaints.iter().for_each(output::complain);
    let Some(observed) = total.observed else {
        let (why, cure) = why_unseen(run, &looks.seen());
        return Err(Failure::Other(format!("no process used CUDA through the drop-in: {why}; try {cure}")));
    };
    Ok(Ok(Seen { sample: Sample::of(wall_us, &observed), observed }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_is_left_is_told_from_the_second_run_on() {
        assert_eq!(to_go(0, 6, 0.0), "");
        assert_eq!(to_go(2, 6, 25e6), "; 50 s to go");
    }

    #[test]
    fn a_run_that_fails_is_told_with_its_mode() {
        let said = stopped(Ending::Exited(3), Mode::Natively, 1, false);
        assert_eq!(said, "the program ended with 3 natively in round 1, so there is nothing to compare");
        let said = stopped(Ending::Killed(11), Mode::WithOvertake, 2, true);
        assert!(said.starts_with("the program was ended by signal 11 with overtake in round 2"), "{said}");
        assert!(said.ends_with("leave --hide-output away to see what it says"), "{said}");
    }
}
