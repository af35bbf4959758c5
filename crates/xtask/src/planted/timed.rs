//! Runs a command with a time limit, and ends all its processes.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The ending of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With status 0.
    Good,
    /// With another status.
    Bad,
    /// It exceeded its time and was ended.
    Late,
}

/// Runs a command; its output goes to the file `log`.
pub fn run(command: &mut Command, log: &Path, limit: Duration) -> Result<End, String> {
    let file = File::create(log).map_err(|error| format!("{}: {error}\n", log.display()))?;
    let twin = file.try_clone().map_err(|error| format!("{}: {error}\n", log.display()))?;
    command.stdin(Stdio::null()).stdout(file).stderr(twin).process_group(0);
    let started = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("{command:?} does not start: {error}\n"))?;
    let failed = |error: std::io::Error| format!("{command:?}: {error}\n");
    while started.elapsed() < limit {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(if status.success() { End::Good } else { End::Bad });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    // The command has a process group of its own, so its children end with it.
    let group = format!("-{}", child.id());
    Command::new("kill").args(["-KILL", "--", &group]).status().map_err(failed)?;
    child.wait().map_err(failed)?;
    Ok(End::Late)
}

/// The output of the command.
pub fn said(log: &Path) -> String {
    std::fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// The end of the output.
pub fn tail(said: &str) -> String {
    let lines: Vec<&str> = said.lines().collect();
    lines[lines.len().saturating_sub(60)..].join("\n")
}

/// The line with the reason of a failed test, as far as it can be recognised.
pub fn reason(said: &str) -> String {
    let lines = || said.lines().map(str::trim).filter(|line| !line.starts_with("-->"));
    let panic = lines().find(|line| line.contains("panicked at"));
    let message = panic.and_then(|_| lines().skip_while(|line| !line.contains("panicked at")).nth(1));
    let place = |line: &&str| line.contains(".rs:") && !line.contains("Running") && !line.starts_with("warning");
    let line = message.or_else(|| lines().find(place)).or_else(|| lines().find(|line| line.contains("FAILED")));
    line.unwrap_or("it ends badly").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_end_well_badly_or_late() {
        let log = std::env::temp_dir().join(format!("overtake-timed-{}", std::process::id()));
        let end = |script: &str, limit_ms| {
            run(Command::new("sh").args(["-c", script]), &log, Duration::from_millis(limit_ms)).unwrap()
        };
        assert_eq!(end("echo good", 60_000), End::Good);
        assert_eq!(said(&log), "good\n");
        assert_eq!(end("echo 'a.rs:3: why'; exit 3", 60_000), End::Bad);
        assert_eq!(reason(&tail(&said(&log))), "a.rs:3: why");
        let started = Instant::now();
        assert_eq!(end("sleep 100 & sleep 100", 50), End::Late);
        assert!(started.elapsed() < Duration::from_secs(50));
        std::fs::remove_file(log).unwrap();
    }
}
