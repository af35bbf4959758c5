//! Counts instructions: the program runs itself under callgrind. It needs valgrind.

use std::collections::BTreeMap;
use std::process::Command;

/// Counted instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// All of them.
    pub instructions: u64,
    /// Those of each function without the functions that it calls, the most first.
    pub functions: Vec<(u64, String)>,
}

/// The instructions inside calls of the function whose name holds `function`, when this program is started with these
/// arguments.
pub fn count(function: &str, arguments: &[&str]) -> Result<u64, String> {
    run(Some(function), arguments, "/dev/null")
}

/// The same with the functions inside; without a function, of all threads from the beginning to the end.
pub fn profile(function: Option<&str>, arguments: &[&str]) -> Result<Counted, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("there is no temporary folder: {error}"))?;
    let file = folder.path().join("callgrind.out");
    let file = file.to_str().ok_or("the temporary folder's name is not text")?;
    let instructions = run(function, arguments, file)?;
    let output = Command::new("callgrind_annotate")
        .args(["--threshold=100", "--auto=no", file])
        .output()
        .map_err(|error| format!("callgrind_annotate does not run: {error}; it comes with valgrind"))?;
    let functions = functions(&String::from_utf8_lossy(&output.stdout));
    Ok(Counted { instructions, functions })
}

fn run(function: Option<&str>, arguments: &[&str], out: &str) -> Result<u64, String> {
    let this = std::env::current_exe().map_err(|error| format!("the path of this program is not known: {error}"))?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--fair-sched=try"])
        .args(function.map(|function| format!("--toggle-collect=*{function}*")))
        .arg(format!("--callgrind-out-file={out}"))
        .arg(this)
        .args(arguments)
        .output()
        .map_err(|error| format!("valgrind does not run: {error}; install it"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let collected = text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse::<u64>().ok());
    collected.filter(|count| *count > 0).ok_or_else(|| format!("callgrind counted nothing:\n{text}"))
}

/// The functions of an annotation: lines such as `1,234 (5.6%)  file:function [object]`. A function has one for each
/// file that a part of it was inlined from.
fn functions(annotation: &str) -> Vec<(u64, String)> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let function = |line: &str| {
        let (count, rest) = line.trim_start().split_once(' ')?;
        let count = count.replace(',', "").parse().ok()?;
        let rest = rest.trim_start();
        let rest = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest);
        let (place, _) = rest.trim_start().split_once(" [").unwrap_or((rest.trim_start(), ""));
        let name = place.split_once(':').map_or(place, |(_, name)| name);
        (!name.is_empty() && !name.starts_with("PROGRAM TOTALS")).then_some((name.to_owned(), count))
    };
    for (name, count) in annotation.lines().filter_map(function) {
        let count: u64 = count;
        *counts.entry(name).or_default() += count;
    }
    let mut functions: Vec<_> = counts.into_iter().map(|(name, count)| (count, name)).collect();
    functions.sort_unstable_by(|one, other| other.cmp(one));
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_read_from_an_annotation() {
        let text = "\
--------------------------------------------------------------------------------
Ir
--------------------------------------------------------------------------------
2,345,678 (100.0%)  PROGRAM TOTALS

--------------------------------------------------------------------------------
Ir                  file:function
--------------------------------------------------------------------------------
1,234,567 (52.63%)  src/a.rs:overtake::dispatch::shared::Shared::pump [/x/dispatch]
    5,678 ( 0.24%)  ???:malloc [/lib/libc.so.6]
        3 ( 0.00%)  /rustc/alloc.rs:overtake::dispatch::shared::Shared::pump [/x/dispatch]
";
        let expected = [(1_234_570, "overtake::dispatch::shared::Shared::pump"), (5_678, "malloc")];
        assert_eq!(functions(text), expected.map(|(count, name)| (count, name.to_owned())));
    }
}
