//! Signals, and the parents of processes.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::stand_ins::{command, library};
use crate::common::{Folder, text};
use testkit::patience::wait_for;

/// A short wait for a shell, in small steps, because it handles signals between them.
const DAWDLE: &str = "for i in 0 1 2 3 4 5 6 7 8 9; do sleep 0.02; done";

/// The same, for far longer than any signal needs.
const WAIT: &str = "i=0; while [ $i -lt 15000 ]; do sleep 0.02; i=$((i + 1)); done";

/// A program that has printed its first line, and that may wait for its input to end.
struct Started {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Started {
    /// Lets the program read the end of its input.
    fn end_input(&mut self) {
        self.input = None;
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // A failed test leaves no process behind: the program ends with the command.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(folder: &Folder, arguments: &[&str], script: &str) -> Started {
    let library = library(folder, "dropin.so");
    let mut command = command(folder, &library, &[arguments, &["--", "sh", "-c", script]].concat(), &[]);
    let mut child = command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let input = child.stdin.take();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    Started { child, input, output, line: line.trim_end().to_owned() }
}

fn kill(signal: &str, process: u32) {
    let status = Command::new("kill").args([format!("-{signal}"), process.to_string()]).status().unwrap();
    assert!(status.success(), "kill -{signal} {process}");
}

/// The kernel's state of a process, such as `T` for stopped; `None` when it is gone.
fn state(process: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

#[test]
fn without_a_report_no_process_stays() {
    let folder = Folder::new("run-exec");
    let mut direct = start(&folder, &[], "echo $$; read line");
    direct.end_input();
    direct.child.wait().unwrap();
    assert_eq!(direct.line, direct.child.id().to_string());
    let mut stays = start(&folder, &["--report"], "echo $PPID");
    stays.child.wait().unwrap();
    assert_eq!(stays.line, stays.child.id().to_string());
}

#[test]
fn signals_to_the_command_reach_the_program() {
    let folder = Folder::new("run-forward");
    for signal in ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "WINCH", "CONT", "ALRM"] {
        let script = format!("trap 'echo got {signal}; exit 7' {signal}; echo ready; {WAIT}; exit 1");
        let mut started = start(&folder, &["--json", "-"], &script);
        kill(signal, started.child.id());
        let mut rest = String::new();
        started.output.read_to_string(&mut rest).unwrap();
        assert!(rest.starts_with(&format!("got {signal}\n{{")), "{rest}");
        assert!(rest.contains("\"exit_status\": 7"), "the report is written all the same: {rest}");
        assert_eq!(started.child.wait().unwrap().code(), Some(7), "{signal}");
    }
}

#[test]
fn a_signal_that_ends_the_program_ends_the_command() {
    let folder = Folder::new("run-forward-end");
    let mut started = start(&folder, &["--report"], "echo ready; exec sleep 600");
    kill("TERM", started.child.id());
    assert_eq!(started.child.wait().unwrap().signal(), Some(15));
}

#[test]
fn both_stop_and_both_go_on() {
    let folder = Folder::new("run-stop");
    let mut started = start(&folder, &["--report"], "echo $$; read line; exit 0");
    let (command, program) = (started.child.id(), started.line.parse().unwrap());
    kill("TSTP", command);
    wait_for("both are stopped", || state(program) == Some('T') && state(command) == Some('T'));
    kill("CONT", command);
    wait_for("both go on", || state(program) != Some('T') && state(command) != Some('T'));
    started.end_input();
    assert_eq!(started.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_program_that_a_debugger_stops_does_not_stop_the_command() {
    let folder = Folder::new("run-debugger");
    let mut started = start(&folder, &["--report"], "echo $$; read line; exit 0");
    let (command, program) = (started.child.id(), started.line.parse().unwrap());
    kill("STOP", program);
    wait_for("the program is stopped", || state(program) == Some('T'));
    kill("CONT", program);
    assert_ne!(state(command), Some('T'));
    started.end_input();
    assert_eq!(started.child.wait().unwrap().code(), Some(0), "the command needs no other process to continue it");
}

#[test]
fn killing_the_command_kills_the_program() {
    let folder = Folder::new("run-kill");
    let mut started = start(&folder, &["--report"], "echo $$; exec sleep 600");
    let program = started.line.parse().unwrap();
    kill("KILL", started.child.id());
    started.child.wait().unwrap();
    wait_for("the program is gone", || matches!(state(program), None | Some('Z')));
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let folder = Folder::new("run-nohup");
    let library = library(&folder, "dropin.so");
    let inner =
        command(&folder, &library, &["--report", "--", "sh", "-c", "kill -HUP $PPID; kill -HUP $$; exit 5"], &[]);
    let mut outer = Command::new("sh");
    outer.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(inner.get_program()).args(inner.get_args());
    let output = outer.current_dir(folder.path()).env_remove("LD_PRELOAD").output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
}

#[test]
fn a_signal_to_the_whole_group_is_no_loop() {
    let folder = Folder::new("run-group");
    let script = format!("trap 'echo got it' USR1; echo ready; kill -USR1 0; {DAWDLE}; exit 7");
    let mut started = start(&folder, &["--json", "-"], &script);
    let mut rest = String::new();
    started.output.read_to_string(&mut rest).unwrap();
    assert!(rest.starts_with("got it\n{") && rest.contains("\"exit_status\": 7"), "{rest}");
    assert_eq!(started.child.wait().unwrap().code(), Some(7));
}

#[test]
fn nothing_stays_behind_when_a_signal_ends_it() {
    let folder = Folder::new("run-signal-folder");
    let mut started = start(&folder, &["--report"], "echo $OVERTAKE_REPORT_DIR; kill -TERM $$");
    assert_eq!(started.child.wait().unwrap().signal(), Some(15));
    assert!(started.line.starts_with('/') && !std::path::Path::new(&started.line).exists(), "{}", started.line);
}
