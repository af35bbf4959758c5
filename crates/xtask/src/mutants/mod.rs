//! `mutants`: compares the changes of `cargo-mutants` that no test finds, in the parts that decide, with the list of
//! known ones and their reasons.

mod list;
mod programs;
#[cfg(feature = "mutants")]
pub mod rewrite;
mod switches;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use crate::Outcome;
use crate::codegen::{read, succeed};
use crate::scratch::Tree;
use switches::Judgement;

/// The known survivors.
const LIST: &str = "reports/mutants/survivors.toml";

/// A unit of work: a package, its files, and the tests that have to find changes there.
struct Part {
    package: &'static str,
    files: &'static [&'static str],
    tests: &'static [&'static str],
    /// One build makes all changes that can be chosen at run time: for pure code, whose tests take no time.
    is_switched: bool,
}

const PARTS: [Part; 11] = [
    Part {
        package: "overtake-graph",
        files: &[
            "graph/src/copy_strands.rs",
            "graph/src/direct.rs",
            "graph/src/dispatch.rs",
            "graph/src/edges.rs",
            "graph/src/finish.rs",
            "graph/src/graph.rs",
            "graph/src/held_back.rs",
            "graph/src/inherit.rs",
            "graph/src/lanes.rs",
            "graph/src/lanes/joins.rs",
            "graph/src/lanes/strands.rs",
            "graph/src/node.rs",
            "graph/src/nodes.rs",
            "graph/src/options.rs",
            "graph/src/passes.rs",
            "graph/src/points.rs",
            "graph/src/queue.rs",
            "graph/src/rank.rs",
            "graph/src/ranked.rs",
            "graph/src/refused.rs",
            "graph/src/reserve.rs",
            "graph/src/room.rs",
            "graph/src/submit.rs",
            "graph/src/template.rs",
            "graph/src/batch.rs",
        ],
        tests: &["--tests"],
        is_switched: true,
    },
    Part {
        package: "overtake-graph",
        files: &[
            "graph/src/data/access.rs",
            "graph/src/data/records.rs",
            "graph/src/data/spans.rs",
            "graph/src/data/uses.rs",
            "graph/src/data/validity.rs",
            "graph/src/infer.rs",
            "graph/src/redundant.rs",
        ],
        tests: &["--lib", "--test", "data", "--test", "uses", "--test", "validity"],
        is_switched: true,
    },
    Part {
        package: "overtake-graph",
        files: &[
            "graph/src/devices/bandwidth.rs",
            "graph/src/devices/location.rs",
            "graph/src/devices/select.rs",
            "graph/src/devices/stream.rs",
        ],
        tests: &["--test", "devices"],
        is_switched: true,
    },
    Part {
        package: "overtake-plan",
        files: &[
            "plan/src/dag/dot.rs",
            "plan/src/dag/fault.rs",
            "plan/src/dag/parse.rs",
            "plan/src/dag/planner.rs",
            "plan/src/dag/policies.rs",
            "plan/src/dag/program.rs",
            "plan/src/dag/step.rs",
            "plan/src/dag/streams.rs",
            "plan/src/dag/words.rs",
        ],
        tests: &["--test", "it"],
        is_switched: true,
    },
    Part {
        package: "overtake-priority",
        files: &["crates/priority/src/direction.rs", "crates/priority/src/priority.rs"],
        tests: &["--lib"],
        is_switched: false,
    },
    Part {
        package: "overtake-semaphores",
        files: &[
            "semaphores/src/bank.rs",
            "semaphores/src/emulation.rs",
            "semaphores/src/ledger.rs",
            "semaphores/src/words.rs",
        ],
        tests: &["--tests"],
        is_switched: false,
    },
    Part { package: "overtake-hal", files: &["crates/hal/src/shape.rs"], tests: &["--lib"], is_switched: false },
    Part {
        package: "overtake-channels",
        files: &[
            "channels/src/bracket.rs",
            "channels/src/chunk.rs",
            "channels/src/fold.rs",
            "channels/src/share.rs",
            "channels/src/watchdog.rs",
        ],
        tests: &["--tests"],
        is_switched: false,
    },
    Part {
        package: "overtake-copies",
        files: &["copies/src/cargo.rs", "copies/src/decide/mod.rs", "copies/src/decide/budget.rs"],
        tests: &["--lib", "--", "decide::", "cargo::"],
        is_switched: true,
    },
    Part {
        package: "overtake-copies",
        files: &[
            "copies/src/records/traffic.rs",
            "copies/src/records/traffic/book.rs",
            "copies/src/records/traffic/urgent.rs",
        ],
        tests: &["--lib", "--", "records::traffic::"],
        is_switched: true,
    },
    Part {
        package: "overtake-copies",
        files: &["copies/src/guard/book.rs", "copies/src/guard/callers.rs", "copies/src/kernel/handshake.rs"],
        tests: &["--lib", "--", "guard::", "kernel::handshake::"],
        is_switched: false,
    },
];

/// Tests that take longer than these times the unchanged tree's, and longer than these seconds, hang. Whether they do
/// must not depend on the speed or the load of the machine.
const SLOWNESS_MAX: &str = "10";
const HANG_SECONDS_MIN: &str = "60";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    survivor: Vec<Survivor>,
}

/// A change that no test finds, and the reason why that is acceptable.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Survivor {
    /// The file, and the change in the words of `cargo-mutants`, without line and column.
    mutant: String,
    /// The number of places.
    #[serde(default = "one")]
    count: usize,
    /// The reason why no test finds it.
    reason: String,
}

fn one() -> usize {
    1
}

/// Changes these files, or all of the parts above.
pub fn run(root: &Path, files: &[&str]) -> Outcome {
    if let Some(file) = files.iter().find(|file| !PARTS.iter().any(|part| part.files.contains(file))) {
        return Err(format!("mutants does not look at {file}; crates/xtask/src/mutants/mod.rs lists its files\n"));
    }
    let known = known(&read(&root.join(LIST))?)?;
    have_tool()?;
    let tree = Tree::of(root, "mutants")?;
    let (mut survivors, mut seen) = (Vec::new(), BTreeSet::new());
    for part in &PARTS {
        let wanted = part.files.iter().copied().filter(|file| files.is_empty() || files.contains(file));
        let wanted: Vec<&str> = wanted.collect();
        seen.extend(wanted.iter().copied());
        if part.is_switched && !wanted.is_empty() {
            survivors.append(&mut switched(root, &tree, part, &wanted)?);
            continue;
        }
        for file in wanted {
            let (tally, mut missed) = one_by_one(&tree, part, file, &[])?;
            println!("{}", tally.said_of(file, part.package)?);
            survivors.append(&mut missed);
        }
    }
    compare(&known, &survivors, &seen)
}

/// The survivors in these files, with the changes that can be made in one build made so.
fn switched(root: &Path, tree: &Tree, part: &Part, files: &[&str]) -> Result<Vec<String>, String> {
    let results = switches::judge(root, tree, part.package, files, part.tests)?;
    // The files as they are.
    let tree = Tree::of(root, "mutants")?;
    let mut survivors = Vec::new();
    for file in files {
        let of_file = results.iter().filter(|(mutant, _)| mutant.file == *file);
        let names = |judgement| of_file.clone().filter(move |it| it.1 == judgement).map(|(mutant, _)| &*mutant.name);
        let mut tally = Tally {
            found: names(Judgement::Found).count(),
            unviable: names(Judgement::DoesNotBuild).count(),
            survive: names(Judgement::Survives).count(),
        };
        survivors.extend(names(Judgement::Survives).filter_map(without_place));
        let rest: Vec<&str> = names(Judgement::NotMade).collect();
        if !rest.is_empty() {
            let (others, mut missed) = one_by_one(&tree, part, file, &rest)?;
            survivors.append(&mut missed);
            if others.all() != rest.len() {
                return Err(format!("cargo mutants makes {} of these changes:\n{}\n", others.all(), rest.join("\n")));
            }
            tally = tally.with(&others);
        }
        println!("{}", tally.said_of(file, part.package)?);
    }
    Ok(survivors)
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn have_tool() -> Result<(), String> {
    if cargo().args(["mutants", "--version"]).output().is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    println!("cargo-mutants is missing: installing it");
    succeed(cargo().args(["install", "cargo-mutants", "--locked"]))
}

/// The survivors in a file, or of these changes of it, with a build for each. A change that makes the tests hang is
/// found.
fn one_by_one(tree: &Tree, part: &Part, file: &str, changes: &[&str]) -> Result<(Tally, Vec<String>), String> {
    let output = tree.folder().with_file_name("out");
    let mut command = cargo();
    command.current_dir(tree.folder()).env("CARGO_TARGET_DIR", tree.build());
    command.args(["mutants", "--in-place", "--no-shuffle", "--package", part.package, "--file", file]);
    command.args(["--timeout-multiplier", SLOWNESS_MAX, "--minimum-test-timeout", HANG_SECONDS_MIN]);
    command.args(changes.iter().flat_map(|change| ["--re".to_owned(), pattern(change)]));
    command.args(["--exclude-re", "tests::", "--output"]).arg(&output).arg("--").args(part.tests);
    let status = command.status().map_err(|error| format!("cargo mutants does not start: {error}\n"))?;
    // 2: some survive; 3: some make the tests hang.
    if !matches!(status.code(), Some(0 | 2 | 3)) {
        return Err(format!("cargo mutants cannot judge {file}: {status}\n"));
    }
    // Fields of structures are changed whether a pattern fits or not.
    let is_wanted = |line: &&str| changes.is_empty() || changes.contains(line);
    let lines = |name: &str| -> Result<Vec<String>, String> {
        let text = read(&output.join("mutants.out").join(name))?;
        Ok(text.lines().filter(is_wanted).map(str::to_owned).collect())
    };
    let missed = lines("missed.txt")?;
    let tally = Tally {
        found: lines("caught.txt")?.len() + lines("timeout.txt")?.len(),
        unviable: lines("unviable.txt")?.len(),
        survive: missed.len(),
    };
    let names = missed.iter().map(|line| without_place(line).ok_or_else(|| format!("`{line}` is no mutant\n")));
    Ok((tally, names.collect::<Result<_, _>>()?))
}

/// The regular expression of this text alone.
fn pattern(text: &str) -> String {
    let escaped = text.chars().map(|letter| match r"\.+*?()|[]{}^$".contains(letter) {
        true => format!("\\{letter}"),
        false => letter.to_string(),
    });
    format!("^{}$", escaped.collect::<String>())
}

/// The results of the changes in a file.
struct Tally {
    found: usize,
    unviable: usize,
    survive: usize,
}

impl Tally {
    fn with(self, other: &Tally) -> Tally {
        Tally {
            found: self.found + other.found,
            unviable: self.unviable + other.unviable,
            survive: self.survive + other.survive,
        }
    }

    fn all(&self) -> usize {
        self.found + self.unviable + self.survive
    }

    /// A file without changes has not been judged: most likely it is in another package by now.
    fn said_of(&self, file: &str, package: &str) -> Outcome {
        let Tally { found, unviable, survive } = self;
        match self.all() {
            0 => Err(format!("cargo mutants changes nothing in {file}: is it of the package {package}?\n")),
            all => Ok(format!("{file}: {all} changed, {found} found, {unviable} do not build, {survive} survive")),
        }
    }
}

/// `file:line:column: text` without line and column, which move with every edit.
fn without_place(line: &str) -> Option<String> {
    let (file, rest) = line.split_once(':')?;
    let what = rest.splitn(3, ':').nth(2)?;
    Some(format!("{file}:{what}"))
}

fn known(text: &str) -> Result<BTreeMap<String, usize>, String> {
    let list: List = toml::from_str(text).map_err(|error| format!("{LIST}: {error}\n"))?;
    let mut known = BTreeMap::new();
    for Survivor { mutant, count, reason } in list.survivor {
        if reason.trim().is_empty() {
            return Err(format!("{LIST}: `{mutant}` has no reason\n"));
        }
        if known.insert(mutant.clone(), count).is_some() {
            return Err(format!("{LIST}: `{mutant}` is there twice: give a count\n"));
        }
    }
    Ok(known)
}

/// Fails for a survivor without a reason, and for a reason whose survivor is found by now.
fn compare(known: &BTreeMap<String, usize>, survivors: &[String], files: &BTreeSet<&str>) -> Outcome {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    survivors.iter().for_each(|survivor| counts.entry(survivor).or_default().0 += 1);
    let of_files = |mutant: &str| mutant.split_once(':').is_some_and(|(file, _)| files.contains(file));
    for (mutant, count) in known.iter().filter(|(mutant, _)| of_files(mutant)) {
        counts.entry(mutant).or_default().1 = *count;
    }
    let problem = |(mutant, (seen, kept)): (&str, (usize, usize))| match seen.cmp(&kept) {
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => {
            Some(format!("survives in {seen} places, {kept} with a reason: {mutant}\n  Write a test, or a reason.\n"))
        }
        std::cmp::Ordering::Less => {
            Some(format!("survives in {seen} places, and {LIST} has {kept}: {mutant}\n  Take it out there.\n"))
        }
    };
    let problems: String = counts.into_iter().filter_map(problem).collect();
    match problems.is_empty() {
        true => Ok(format!("mutants: {} survivors in {} files, each with its reason\n", survivors.len(), files.len())),
        false => Err(problems),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_do_not_count() {
        let line = "semaphores/src/bank.rs:93:9: replace Counts<P>::pending_at -> u32 with 0";
        let mutant = "semaphores/src/bank.rs: replace Counts<P>::pending_at -> u32 with 0";
        assert_eq!(without_place(line).unwrap(), mutant);
        assert_eq!(without_place("nothing"), None);
    }

    #[test]
    fn a_pattern_is_of_one_text() {
        assert_eq!(
            pattern("a.rs:1:2: replace f -> <u8> with (x + [1])"),
            r"^a\.rs:1:2: replace f -> <u8> with \(x \+ \[1\]\)$"
        );
    }

    #[test]
    fn files_in_which_nothing_is_changed_are_not_judged() {
        let said = Tally { found: 2, unviable: 1, survive: 0 }.said_of("a.rs", "a").unwrap();
        assert_eq!(said, "a.rs: 3 changed, 2 found, 1 do not build, 0 survive");
        let nothing = Tally { found: 0, unviable: 0, survive: 0 }.said_of("a.rs", "a").unwrap_err();
        assert!(nothing.contains("of the package a?"), "{nothing}");
    }

    /// The folder of a file says of which package it is.
    #[test]
    fn files_are_of_the_packages_that_are_named_for_them() {
        for part in &PARTS {
            for file in part.files {
                let (folder, _) = file.split_once("/src/").unwrap();
                let manifest = read(&crate::root().join(folder).join("Cargo.toml")).unwrap();
                assert!(manifest.contains(&format!("name = \"{}\"", part.package)), "{file}: {}", part.package);
            }
        }
    }

    #[test]
    fn survivors_without_reason_and_reasons_without_survivor_are_found() {
        let (mutants, files) = (["a.rs: x", "a.rs: x", "b.rs: y"].map(str::to_owned), BTreeSet::from(["a.rs", "b.rs"]));
        let list = |counts: &[(&str, usize)]| -> BTreeMap<String, usize> {
            counts.iter().map(|(mutant, count)| ((*mutant).to_owned(), *count)).collect()
        };
        let kept = list(&[("a.rs: x", 2), ("b.rs: y", 1), ("c.rs: not looked at", 1)]);
        assert!(compare(&kept, &mutants, &files).unwrap().contains("3 survivors in 2 files"));
        let more = compare(&list(&[("a.rs: x", 1), ("b.rs: y", 1)]), &mutants, &files).unwrap_err();
        assert!(more.starts_with("survives in 2 places, 1 with a reason: a.rs: x"), "{more}");
        let fewer = compare(&list(&[("a.rs: x", 2), ("b.rs: y", 2)]), &mutants, &files).unwrap_err();
        assert!(fewer.contains("Take it out"), "{fewer}");
    }

    #[test]
    fn reasons_are_demanded() {
        assert_eq!(known("[[survivor]]\nmutant = 'a.rs: x'\nreason = 'y'\n").unwrap()["a.rs: x"], 1);
        assert!(known("[[survivor]]\nmutant = 'a.rs: x'\nreason = ' '\n").unwrap_err().contains("no reason"));
        assert!(known("[[survivor]]\nmutant = 'a.rs: x'\n").is_err());
    }

    #[test]
    fn the_committed_list_is_one_and_names_files_that_are_there() {
        let root = crate::root();
        for mutant in known(&read(&root.join(LIST)).unwrap()).unwrap().keys() {
            let (file, _) = mutant.split_once(": ").unwrap_or_else(|| panic!("`{mutant}` is no mutant"));
            assert!(PARTS.iter().any(|part| part.files.contains(&file)), "{file}");
        }
        assert!(PARTS.iter().flat_map(|part| part.files).all(|file| root.join(file).is_file()));
    }
}
