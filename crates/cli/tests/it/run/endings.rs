//! The endings of `overtake run`: they equal those of its program.

use std::os::unix::process::ExitStatusExt;

use super::stand_ins::run;
use crate::common::{Folder, overtake, text};

/// Both ways to run: as the program itself, and as its parent.
const WAYS: [&[&str]; 2] = [&["--"], &["--report", "--"]];

#[test]
fn the_status_is_the_programs() {
    let folder = Folder::new("run-status");
    for (way, status) in WAYS.iter().flat_map(|way| [0, 1, 3, 125, 255].map(|status| (way, status))) {
        let exit = format!("exit {status}");
        let output = run(&folder, &[way, &["sh", "-c", &exit][..]].concat(), &[]);
        assert_eq!(output.status.code(), Some(status), "{way:?}");
    }
}

#[test]
fn the_signal_is_the_programs() {
    let folder = Folder::new("run-signal");
    for (way, (name, signal)) in
        WAYS.iter().flat_map(|way| [("TERM", 15), ("KILL", 9), ("SEGV", 11), ("INT", 2)].map(|kill| (way, kill)))
    {
        let kill = format!("kill -{name} $$");
        let output = run(&folder, &[way, &["sh", "-c", &kill][..]].concat(), &[]);
        assert_eq!(output.status.signal(), Some(signal), "{way:?} {name}");
    }
}

#[test]
fn a_program_that_does_not_start_is_said_so() {
    let folder = Folder::new("run-refused");
    std::fs::write(folder.path().join("plain"), "").unwrap();
    std::fs::write(folder.path().join("orphan"), "#!/nonexistent/interpreter\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path().join("orphan"), executable).unwrap();
    let cases = [
        ("nonexistent", 127, "cannot find nonexistent: check its name and PATH"),
        ("./nonexistent", 127, "check the path"),
        ("./plain", 126, "cannot execute ./plain"),
        ("./orphan", 127, "interpreter"),
    ];
    for (way, (program, status, message)) in WAYS.iter().flat_map(|way| cases.map(|case| (way, case))) {
        let output = run(&folder, &[way, &[program][..]].concat(), &[]);
        assert_eq!(output.status.code(), Some(status), "{way:?} {program}");
        assert!(text(&output.stderr).contains(message), "{way:?} {program}: {}", text(&output.stderr));
    }
}

#[test]
fn own_failures_are_told_from_the_programs() {
    let folder = Folder::new("run-own");
    let output = overtake(&folder, &["run", "--library", "/nonexistent/x.so", "true"], &[]);
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("OVERTAKE_PRELOAD_LIBRARY"), "{}", text(&output.stderr));
    for arguments in [&["--json", "/nonexistent/x.json", "--"][..], &["--rules", "/nonexistent/x.toml", "--"]] {
        let output = run(&folder, &[arguments, &["touch", "ran"]].concat(), &[]);
        assert_eq!(output.status.code(), Some(125), "{arguments:?}");
        assert!(text(&output.stderr).contains("/nonexistent/x."), "{}", text(&output.stderr));
        assert!(!folder.path().join("ran").exists(), "found out before the program runs");
    }
    for arguments in [&["--"][..], &["--reprot", "true"], &["--set", "automatic=teleport", "true"]] {
        assert_eq!(run(&folder, arguments, &[]).status.code(), Some(2), "{arguments:?}");
    }
    let output = overtake(&folder, &["--backend", "soft", "run", "true"], &[]);
    assert_eq!(output.status.code(), Some(125));
}
