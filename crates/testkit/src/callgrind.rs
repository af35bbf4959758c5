//! Counts instructions: the program runs itself under callgrind. It needs valgrind.

use std::process::Command;

/// The instructions inside calls of the function whose name holds `function`, when this program is started with these
/// arguments.
pub fn count(function: &str, arguments: &[&str]) -> Result<u64, String> {
    let this = std::env::current_exe().map_err(|error| format!("the path of this program is not known: {error}"))?;
    let toggle = format!("--toggle-collect=*{function}*");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--fair-sched=try", toggle.as_str(), "--callgrind-out-file=/dev/null"])
        .arg(this)
        .args(arguments)
        .output()
        .map_err(|error| format!("valgrind does not run: {error}; install it"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let collected = text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse::<u64>().ok());
    collected.filter(|count| *count > 0).ok_or_else(|| format!("callgrind counted nothing:\n{text}"))
}
