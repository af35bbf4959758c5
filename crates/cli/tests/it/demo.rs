//! The output of `overtake demo` at a terminal: one name for each case, everywhere.
#![allow(unsafe_code)] // a terminal is opened, because the command draws its bar in nothing else

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Command, Stdio};

use crate::common::{Folder, succeed};

/// Two ends of a terminal: the person's and the command's.
fn terminal() -> (File, OwnedFd) {
    let (mut person, mut command) = (0, 0);
    let none = std::ptr::null_mut();
    // SAFETY: both numbers are written before the call returns 0; name, settings and size may be null.
    let code = unsafe { libc::openpty(&mut person, &mut command, none, none.cast(), none.cast()) };
    assert_eq!(code, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: both are open, and nothing else owns them.
    let (person, command) = unsafe { (File::from_raw_fd(person), OwnedFd::from_raw_fd(command)) };
    // Programs of other tests do not inherit the copies: the terminal would not end before them.
    (person.try_clone().unwrap(), command.try_clone().unwrap())
}

/// Runs the demo with a terminal of this kind for standard error. Returns its output, and its drawings there.
fn demo_in_a_terminal(folder: &Folder, kind: &str) -> (String, String) {
    let (mut person, its_end) = terminal();
    let mut command = Command::new(env!("CARGO_BIN_EXE_overtake"));
    command.args(["--backend", "soft", "demo", "--seconds", "0.5", "--html", "x.html"]).current_dir(folder.path());
    command.env("TERM", kind).stdout(Stdio::piped()).stderr(its_end);
    let child = command.spawn().unwrap();
    // This end of the command's side goes with it, or the terminal would never end.
    drop(command);
    let reader = std::thread::spawn(move || {
        let mut drawn = Vec::new();
        // A terminal whose other side is gone ends with an error.
        let _ended = person.read_to_end(&mut drawn);
        String::from_utf8(drawn).unwrap()
    });
    let output = child.wait_with_output().unwrap();
    let drawn = reader.join().unwrap();
    assert!(output.status.success(), "{drawn}");
    (String::from_utf8(output.stdout).unwrap(), drawn)
}

/// Direction, name and samples of each row of the table.
fn table(out: &str) -> Vec<[&str; 3]> {
    let rows = out.lines().skip_while(|line| !line.starts_with("---")).skip(1).take_while(|line| !line.is_empty());
    rows.map(|row| {
        let mut cells = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        [(); 3].map(|()| cells.next().unwrap_or_else(|| panic!("a row without cells: {row}")))
    })
    .collect()
}

/// The bar's text for each step, without its number and its time.
fn steps(drawn: &str) -> Vec<&str> {
    let bars = drawn.split("\r\x1b[K").filter(|line| line.starts_with("  ["));
    bars.map(|bar| {
        let text = bar.split_once("] ").and_then(|(_, text)| text.split_once(' ')).unwrap().1;
        text.split_once(" (").map_or(text, |(text, _)| text)
    })
    .collect()
}

/// The texts of a picture.
fn texts(svg: &str) -> BTreeSet<&str> {
    svg.split("<text").skip(1).filter_map(|text| Some(text.split_once('>')?.1.split_once('<')?.0)).collect()
}

#[test]
fn table_picture_page_and_bar_call_a_case_by_one_name() {
    let folder = Folder::new("names");
    let (out, drawn) = demo_in_a_terminal(&folder, "xterm");
    assert!(drawn.ends_with("\r\x1b[K"), "nothing of the bar stays: {drawn:?}");
    let rows = table(&out);
    assert_eq!(rows.len(), 14, "{out}");
    let cases: Vec<String> = rows.iter().map(|[direction, name, _]| format!("{direction}: {name}")).collect();
    assert_eq!(steps(&drawn), [&cases[..], &cases[..]].concat(), "two rounds, in the order of the table");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let (svg, page) = (read("overtake-demo.svg"), read("x.html"));
    let measured = |direction: &str| {
        let rows = rows.iter().filter(|[its, _, samples]| *its == direction && *samples != "-");
        rows.map(|[_, name, _]| *name).collect::<Vec<_>>()
    };
    for direction in ["host to device", "device to host"] {
        let lines = out.lines().skip_while(|line| !(line.starts_with(direction) && line.ends_with(" ms")));
        let drawn: Vec<&str> = lines.skip(1).take_while(|line| !line.is_empty()).map(|line| &line[..34]).collect();
        assert_eq!(drawn.iter().map(|name| name.trim()).collect::<Vec<_>>(), measured(direction), "{out}");
        let missing: Vec<&str> =
            measured(direction).into_iter().chain([direction]).filter(|name| !texts(&svg).contains(name)).collect();
        assert!(missing.is_empty(), "the picture does not say {missing:?}: {:?}", texts(&svg));
        let missing: Vec<&str> = measured(direction).into_iter().filter(|name| !page.contains(name)).collect();
        assert!(missing.is_empty(), "the page does not say {missing:?}");
    }
    for other in ["kernel/hold", "engine/hold", "express", "native", "h2d", "d2h"] {
        let all = [&out, &drawn, &svg];
        assert!(all.iter().all(|text| !text.contains(other)), "{other} is no name for a reader: {out}\n{drawn}");
    }
}

#[test]
fn a_terminal_that_cannot_go_back_gets_no_bar() {
    let (_, drawn) = demo_in_a_terminal(&Folder::new("dumb"), "dumb");
    assert!(drawn.contains("14 cases take turns") && !drawn.contains('\x1b'), "{drawn:?}");
}

#[test]
fn it_announces_its_work_and_ends_with_the_picture() {
    let folder = Folder::new("plan");
    let arguments = ["--backend", "soft", "demo", "--seconds", "0.5"];
    let (out, err) = succeed(&folder, &arguments, &[]);
    assert!(err.contains("64 KiB") && err.contains("14 cases take turns in 2 rounds: 6 s of"), "{err}");
    assert!(!err.contains('\r') && !err.contains('\x1b'), "a bar is for terminals: {err:?}");
    let next = "next: overtake run --observe -- PROGRAM, to see whether it would help yours";
    assert!(out.ends_with(&format!("picture: overtake-demo.svg\n{next}\n")), "{out}");
    let quiet = [&["--quiet"], &arguments[..]].concat();
    assert_eq!(succeed(&folder, &quiet, &[]).1, "");
}
