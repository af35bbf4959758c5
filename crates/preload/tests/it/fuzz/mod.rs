//! Random programs (`tests/c/fuzz/main.c`), natively and in four deployments. Every call must have the same result,
//! every buffer the same bytes, and the program the same end.
//!
//! As a test it runs a few. `cargo xtask fuzz --programs 10000` runs many, looks for the smallest program that still
//! differs, and prints the commands that repeat it.

mod campaign;
mod request;
mod shrink;
mod trial;

use std::process::ExitCode;

use libtest_mimic::{Failed, Trial};

use campaign::{Campaign, Summary};
use request::Request;

/// Few enough for a run of all tests, and enough to have every kind of copy and a few rescues.
const A_FEW: &str = "--programs 40 --first 41 --each 10 --jobs 2";

fn a_few() -> Result<(), Failed> {
    let words: Vec<String> = A_FEW.split_whitespace().map(str::to_owned).collect();
    let summary = Campaign::new(Request::read(&words)?).run(|_| {})?;
    summary.judge()?;
    Ok(())
}

fn by_hand(words: &[String]) -> Result<Summary, String> {
    let request = Request::read(words)?;
    let is_json = request.is_json;
    let summary = Campaign::new(request).run(|line| eprintln!("{line}"))?;
    match is_json {
        true => println!("{}", summary.json()),
        false => print!("{summary}"),
    }
    summary.judge()?;
    Ok(summary)
}

/// Runs as many programs as these arguments say, where they do.
pub fn campaign(words: &[String]) -> Option<ExitCode> {
    words.iter().any(|word| word == "--programs").then(|| match by_hand(words) {
        Ok(_) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    })
}

pub fn trials() -> Vec<Trial> {
    vec![Trial::test("fuzz::a_few_programs_end_as_natively", a_few)]
}
