//! `campaign`: leaves out each statement and each condition of the stack, and exchanges each comparison and sum, one at
//! a time, and runs the tests that reach it.
//!
//! All changes are in one build, which makes the one whose number a variable has.

#[cfg(feature = "campaign")]
mod edit;
mod reasons;
mod trials;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Outcome;
use crate::codegen::read;
use crate::scratch;
use reasons::{LIST, Reasons};
use trials::Trial;

/// The folders whose files are changed.
const FOLDERS: [&str; 18] = [
    "semaphores/src/",
    "channels/src/",
    "copies/src/",
    "graph/src/",
    "stages/src/",
    "memory/src/",
    "tasks/src/",
    "arrays/src/",
    "pipelines/src/",
    "plan/src/",
    "crates/priority/src/",
    "crates/hal/src/",
    "crates/options/src/",
    "crates/threads/src/",
    "crates/feed/src/",
    "crates/shim/src/",
    "crates/preload/src/",
    "crates/capi/src/",
];

/// A program asks here whether a change is made. It writes down what is asked where the number is `all`.
const QUESTION: &str = r#"
#[inline(never)]
pub(crate) fn mutant(id: usize) -> bool {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
    const ALL: usize = usize::MAX;
    static CHOSEN: AtomicUsize = AtomicUsize::new(0);
    static ASKED: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];
    let mut chosen = CHOSEN.load(Relaxed);
    if chosen == 0 {
        let given = std::env::var("MUTANT").unwrap_or_default();
        chosen = if given == "all" { ALL } else { given.parse().map_or(1, |id: usize| id + 2) };
        CHOSEN.store(chosen, Relaxed);
    }
    if chosen == ALL && !ASKED[id].swap(true, Relaxed) {
        use std::io::Write;
        let file = std::env::var("MUTANT_HITS").ok();
        let file = file.and_then(|file| std::fs::OpenOptions::new().append(true).create(true).open(file).ok());
        if let Some(mut file) = file {
            _ = file.write_all(format!("{id}\n").as_bytes());
        }
    }
    chosen == id + 2
}
"#;

/// The text of that call in a rewritten file.
const CALL: &str = "crate :: mutant (";

/// So many builds are tried. Each leaves out the changes that do not build.
const ROUNDS_MAX: u32 = 40;

/// A change is not run for longer.
const CHANGE_MAX: Duration = Duration::from_secs(120);

/// A statement, a condition or an operator that can be left out or exchanged.
#[derive(Clone, Serialize, Deserialize)]
struct Change {
    file: String,
    line: usize,
    what: String,
    text: String,
}

#[derive(Serialize, Deserialize)]
struct Judged {
    #[serde(flatten)]
    change: Change,
    /// The test that failed.
    caught_by: Option<String>,
    /// The tests that passed.
    passed: usize,
    /// The tests that reach it. There may have been no time for all of them.
    #[serde(default)]
    reached: usize,
}

/// Judges as many changes, drawn by lot, or all. Those judged before on the same tree are not judged again.
pub fn run(root: &Path, words: &[&str]) -> Outcome {
    let (draw, seed) = match words {
        [] => (usize::MAX, 0),
        ["--draw", draw] => (number(draw)?, 0),
        ["--draw", draw, "--seed", seed] => (number(draw)?, number(seed)? as u64),
        _ => return Err("usage: cargo xtask campaign [--draw N [--seed N]]\n".to_owned()),
    };
    let place = Place(root.join("target/campaign"));
    std::fs::create_dir_all(&place.0).map_err(|error| format!("{}: {error}\n", place.0.display()))?;
    let reasons = Reasons::of(root)?;
    let (changes, dropped, messages) = build(root, &place)?;
    reasons.check(&changes)?;
    forget_other(&place, &changes)?;
    let trials = trials::all(&messages, &place.0.join("trials.jsonl"))?;
    let file = place.0.join("judged.jsonl");
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    let key = |change: &Change| format!("{}:{}:{}:{}", change.file, change.line, change.what, change.text);
    let known: BTreeSet<String> =
        before.lines().filter_map(|line| Some(key(&serde_json::from_str::<Judged>(line).ok()?.change))).collect();
    let candidates = changes.into_iter().enumerate().filter(|(id, _)| !dropped.contains(id));
    let mut order: Vec<(usize, Change)> = candidates.collect();
    let all = order.len();
    order.sort_by_key(|(id, _)| mixed(*id as u64 ^ mixed(seed)));
    order.truncate(draw);
    let mut log =
        std::fs::OpenOptions::new().append(true).create(true).open(&file).map_err(|error| error.to_string())?;
    let mut tally = Tally::default();
    for (id, change) in order.into_iter().filter(|(_, change)| !known.contains(&key(change))) {
        let judged = judge(id, change, &trials)?;
        println!("{}", tally.count(&judged, reasons.for_change(&judged.change)));
        let text = serde_json::to_string(&judged).map_err(|error| error.to_string())?;
        writeln!(log, "{text}").map_err(|error| error.to_string())?;
    }
    let Tally { caught, survive, unreached, explained } = tally;
    Ok(format!(
        "{all} changes: of those judged now {caught} caught, {survive} survive, {unreached} not reached, {explained} \
         with a reason\n"
    ))
}

#[derive(Default)]
struct Tally {
    caught: u32,
    survive: u32,
    unreached: u32,
    /// Neither caught nor in need of it.
    explained: u32,
}

impl Tally {
    /// Counts a change, and returns a line about it.
    fn count(&mut self, judged: &Judged, reason: Option<&str>) -> String {
        let Change { file, line, what, text } = &judged.change;
        let count = match (&judged.caught_by, reason, judged.passed) {
            (Some(_), ..) => &mut self.caught,
            (None, Some(_), _) => &mut self.explained,
            (None, None, 0) => &mut self.unreached,
            (None, None, _) => &mut self.survive,
        };
        *count += 1;
        match (&judged.caught_by, reason) {
            (Some(by), None) => format!("caught    {file}:{line}: {what} `{text}` by {by}"),
            (Some(by), Some(_)) => format!("caught    {file}:{line}: {what} `{text}` by {by}: take it out of {LIST}"),
            (None, Some(why)) => format!("reason    {file}:{line}: {what} `{text}`: {why}"),
            (None, None) => {
                let Judged { passed, reached, .. } = judged;
                format!("SURVIVES  {file}:{line}: {what} `{text}` (run: {passed} of {reached} tests that reach it)")
            }
        }
    }
}

/// What tests reach is known by the numbers of changes: of others nothing is known.
fn forget_other(place: &Place, changes: &[Change]) -> Result<(), String> {
    let (list, text) = (place.0.join("changes.json"), serde_json::to_string(changes).map_err(|it| it.to_string())?);
    if std::fs::read_to_string(&list).is_ok_and(|before| before == text) {
        return Ok(());
    }
    let _absent = std::fs::remove_file(place.0.join("trials.jsonl"));
    std::fs::write(&list, text).map_err(|error| format!("{}: {error}\n", list.display()))
}

fn number(word: &str) -> Result<usize, String> {
    word.parse().map_err(|_| format!("`{word}` is no number\n"))
}

/// A permutation that looks like chance.
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

fn judge(id: usize, change: Change, trials: &[Trial]) -> Result<Judged, String> {
    let begin = Instant::now();
    let mut reaching: Vec<&Trial> = trials.iter().filter(|trial| trial.reaches.contains(&id)).collect();
    // A test that reaches little is about this.
    reaching.sort_by_key(|trial| trial.time_ms * 10 + trial.reaches.len() as u64);
    let (reached, mut passed) = (reaching.len(), 0);
    for trial in reaching {
        if begin.elapsed() > CHANGE_MAX {
            break;
        }
        if let Some(how) = trial.fails(id)? {
            let caught_by = Some(format!("{} ({how})", trial.title()));
            return Ok(Judged { change, caught_by, passed, reached });
        }
        passed += 1;
    }
    Ok(Judged { change, caught_by: None, passed, reached })
}

/// The folder of everything, below `target`.
struct Place(PathBuf);

impl Place {
    fn tree(&self, name: &str) -> PathBuf {
        self.0.join("tree").join(name)
    }

    /// Equal files are not touched, because cargo compares their times.
    fn write(&self, name: &str, content: &[u8]) -> Result<(), String> {
        let path = self.tree(name);
        if std::fs::read(&path).is_ok_and(|there| there == content) {
            return Ok(());
        }
        let why = |error: std::io::Error| format!("{}: {error}\n", path.display());
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).map_err(why)?;
        std::fs::write(&path, content).map_err(why)
    }

    /// Copies what is not rewritten, and removes what is gone.
    fn copy(&self, root: &Path, names: &BTreeSet<String>, rewritten: &BTreeSet<String>) -> Result<(), String> {
        let known = self.0.join("files");
        for gone in std::fs::read_to_string(&known).unwrap_or_default().lines().filter(|it| !names.contains(*it)) {
            let _absent = std::fs::remove_file(self.tree(gone));
        }
        for name in names.difference(rewritten) {
            // Links, and files that have been deleted, are not needed by the builds of tests.
            let Ok(content) = std::fs::read(root.join(name)) else { continue };
            self.write(name, &content)?;
        }
        let list: String = names.iter().map(|name| format!("{name}\n")).collect();
        std::fs::write(&known, list).map_err(|error| format!("{}: {error}\n", known.display()))
    }
}

/// What `leave-out` says: all changes, and the rewritten files.
#[derive(Serialize, Deserialize)]
struct Rewritten {
    changes: Vec<Change>,
    texts: BTreeMap<String, String>,
}

/// Rewrites the files until all tests build. Returns the changes, those that do not build, and the messages.
fn build(root: &Path, place: &Place) -> Result<(Vec<Change>, BTreeSet<usize>, String), String> {
    let names = scratch::names(root)?;
    let is_source = |name: &&String| {
        let is_test =
            ["tests.rs", "/tests/", "/soft.rs", "/models", "generated"].iter().any(|part| name.contains(part));
        name.ends_with(".rs") && !is_test && FOLDERS.iter().any(|folder| name.starts_with(folder))
    };
    let files: BTreeSet<String> = names.iter().filter(is_source).cloned().collect();
    let libraries: BTreeSet<String> =
        files.iter().filter_map(|file| Some(format!("{}src/lib.rs", file.split_at(file.find("src/")?).0))).collect();
    place.copy(root, &names, &files.union(&libraries).cloned().collect())?;
    let known = place.0.join("dropped");
    let mut dropped: BTreeSet<usize> =
        std::fs::read_to_string(&known).unwrap_or_default().lines().filter_map(|line| line.parse().ok()).collect();
    std::fs::write(place.0.join("sources"), files.iter().cloned().collect::<Vec<_>>().join("\n"))
        .map_err(|error| error.to_string())?;
    for round in 0..ROUNDS_MAX {
        let text: String = dropped.iter().map(|id| format!("{id}\n")).collect();
        std::fs::write(&known, text).map_err(|error| error.to_string())?;
        let Rewritten { changes, mut texts } = rewrite(root, &place.0)?;
        for library in &libraries {
            let text = texts.remove(library).map_or_else(|| read(&root.join(library)), Ok)?;
            texts.insert(library.clone(), text + &QUESTION.replace("COUNT", &changes.len().to_string()));
        }
        texts.iter().try_for_each(|(name, text)| place.write(name, text.as_bytes()))?;
        println!("round {round}: {} changes, {} do not build", changes.len(), dropped.len());
        let check = ["check", "--workspace", "--lib"];
        let build = ["build", "--workspace", "--lib", "--bins", "--tests"];
        if succeeds(place, &check, &mut dropped)?.is_some()
            && let Some(messages) = succeeds(place, &build, &mut dropped)?
        {
            return Ok((changes, dropped, messages));
        }
    }
    Err(format!("it does not build after {ROUNDS_MAX} rounds\n"))
}

/// Runs this program once more with a parser of Rust built in, so that other chores need not build it.
fn rewrite(root: &Path, top: &Path) -> Result<Rewritten, String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).args(["run", "--quiet", "--package", "overtake-xtask", "--features", "campaign", "--"]);
    let output =
        command.arg("leave-out").arg(top).output().map_err(|error| format!("cargo does not start: {error}\n"))?;
    match output.status.success() {
        true => serde_json::from_slice(&output.stdout).map_err(|error| format!("the list: {error}\n")),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Rewrites the files of a campaign.
#[cfg(feature = "campaign")]
pub fn leave_out(root: &Path, top: &Path) -> Outcome {
    let dropped = read(&top.join("dropped"))?.lines().filter_map(|line| line.parse().ok()).collect();
    let mut rewritten = Rewritten { changes: Vec::new(), texts: BTreeMap::new() };
    for file in read(&top.join("sources"))?.lines() {
        let text = edit::rewrite(file, &read(&root.join(file))?, &mut rewritten.changes, &dropped);
        let text = text.map_err(|error| format!("{file}: {error}\n"))?;
        rewritten.texts.insert(file.to_owned(), text);
    }
    serde_json::to_string(&rewritten).map_err(|error| error.to_string())
}

/// The messages of a build that succeeds. If it does not, some changes are left out from now on.
fn succeeds(place: &Place, words: &[&str], dropped: &mut BTreeSet<usize>) -> Result<Option<String>, String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(place.tree("")).env("CARGO_TARGET_DIR", place.0.join("build"));
    command.env("RUSTFLAGS", "--cap-lints allow").env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
    command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
    command.args(words).args(["--keep-going", "--message-format", "json"]);
    let output = command.output().map_err(|error| format!("cargo does not start: {error}\n"))?;
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(Some(messages));
    }
    let mut is_new = false;
    for line in messages.lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        if message["message"]["level"] == "error" {
            is_new |= drop_one(place, &message["message"], dropped)?;
        }
    }
    match is_new {
        true => Ok(None),
        false => Err(format!("it does not build with its changes:\n{}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// Leaves out the change that an error of the compiler is about: the last one within the place, or else those right
/// before and behind it. A borrow may last longer because a `return` behind it is left out.
fn drop_one(place: &Place, message: &Value, dropped: &mut BTreeSet<usize>) -> Result<bool, String> {
    let mut is_new = false;
    for span in message["spans"].as_array().into_iter().flatten().filter(|span| span["is_primary"] == true) {
        let Ok(text) = read(&place.tree(span["file_name"].as_str().unwrap_or_default())) else { continue };
        let at = |end: &str| span[end].as_u64().map_or(0, |at| at as usize).min(text.len());
        let (begin, end) = (at("byte_start"), at("byte_end"));
        let within = text[begin..end].rfind(CALL).map(|place| begin + place);
        let beside = [text[..begin].rfind(CALL), text[end..].find(CALL).map(|place| end + place)];
        let places = if within.is_some() { [within, None] } else { beside };
        for place in places.into_iter().flatten() {
            let number: String = text[place + CALL.len()..].chars().take_while(char::is_ascii_digit).collect();
            is_new |= number.parse().is_ok_and(|mutant| dropped.insert(mutant));
        }
    }
    Ok(is_new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_with_a_reason_does_not_survive() {
        let text = |it: &str| it.to_owned();
        let change = Change { file: text("a.rs"), line: 3, what: text("true"), text: text("b") };
        let judged =
            |by: Option<&str>, passed| Judged { change: change.clone(), caught_by: by.map(text), passed, reached: 5 };
        let mut tally = Tally::default();
        let said = [
            tally.count(&judged(Some("t"), 1), None),
            tally.count(&judged(Some("t"), 1), Some("it saves time")),
            tally.count(&judged(None, 2), Some("it saves time")),
            tally.count(&judged(None, 0), Some("it saves time")),
            tally.count(&judged(None, 2), None),
            tally.count(&judged(None, 0), None),
        ];
        let begins = ["caught ", "caught ", "reason ", "reason ", "SURVIVES ", "SURVIVES "];
        said.iter().zip(begins).for_each(|(line, begin)| assert!(line.starts_with(begin), "{line}"));
        assert!(said[1].ends_with("take it out of reports/mutants/campaign.toml"), "{}", said[1]);
        assert_eq!(said[2], "reason    a.rs:3: true `b`: it saves time");
        assert_eq!(said[4], "SURVIVES  a.rs:3: true `b` (run: 2 of 5 tests that reach it)");
        let Tally { caught, survive, unreached, explained } = tally;
        assert_eq!([caught, survive, unreached, explained], [2, 1, 1, 2]);
    }
}
