//! `overtake top` in a terminal: keys are pressed, and the screen is looked at.
#![allow(unsafe_code)] // a pseudo terminal

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::written::{Place, Sleeper};

const COLUMNS: u16 = 80;
/// Root sees the processes of other tests too.
const LINES: u16 = 300;

/// The command in a terminal, and what it has written.
struct Session {
    child: Child,
    keyboard: File,
    output: Receiver<Vec<u8>>,
    all: Vec<u8>,
    /// The terminal itself, whose settings outlive the command.
    terminal: OwnedFd,
}

fn flags(terminal: &OwnedFd) -> libc::tcflag_t {
    // SAFETY: zeros are a state, which the call fills.
    unsafe {
        let mut state = std::mem::zeroed::<libc::termios>();
        assert_eq!(libc::tcgetattr(terminal.as_raw_fd(), &mut state), 0);
        state.c_lflag
    }
}

impl Session {
    fn new(place: &Place) -> Session {
        let (mut outer, mut inner) = (0, 0);
        let size = libc::winsize { ws_row: LINES, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        let none = std::ptr::null_mut();
        // SAFETY: places for two descriptors, which are then owned here; null stands for the usual settings.
        let (outer, terminal) = unsafe {
            assert_eq!(libc::openpty(&mut outer, &mut inner, none, none.cast(), &size), 0);
            (OwnedFd::from_raw_fd(outer), OwnedFd::from_raw_fd(inner))
        };
        let mut command = place.overtake(&["top", "--every", "0.2"]);
        let end = || Stdio::from(terminal.try_clone().unwrap());
        command.stdin(end()).stdout(end()).stderr(end());
        // SAFETY: one system call: Ctrl-C at the test's own terminal is not for this command.
        unsafe { command.pre_exec(|| if libc::setsid() < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }) };
        let child = command.spawn().unwrap();
        let keyboard = File::from(outer);
        let mut reader = keyboard.try_clone().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut piece) {
                if sender.send(piece[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Session { child, keyboard, output, all: Vec::new(), terminal }
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the screen is as wanted.
    fn await_screen(&mut self, what: &str, wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
        let patience = Instant::now() + Duration::from_secs(60);
        loop {
            let lines = screen(&self.all);
            if wanted(&lines) {
                return lines;
            }
            assert!(Instant::now() < patience, "{what}:\n{}", lines.join("\n"));
            match self.output.recv_timeout(Duration::from_millis(100)) {
                Ok(piece) => self.all.extend(piece),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("the command has ended:\n{}", lines.join("\n")),
            }
        }
    }

    fn await_end(&mut self) {
        assert!(self.child.wait().unwrap().success());
        while let Ok(piece) = self.output.recv_timeout(Duration::from_millis(300)) {
            self.all.extend(piece);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _it_may_have_ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// The screen after these bytes: the few commands of a terminal that `top` uses. Another one fails the test.
fn screen(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let (mut lines, mut line, mut column) = (vec![Vec::<char>::new(); usize::from(LINES)], 0, 0);
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        match letter {
            '\r' => column = 0,
            '\n' => line = (line + 1).min(usize::from(LINES) - 1),
            '\x1b' => {
                match &*command(&mut rest) {
                    "[H" => (line, column) = (0, 0),
                    "[K" => lines[line].truncate(column),
                    "[J" => {
                        lines[line].truncate(column);
                        lines[line + 1..].iter_mut().for_each(Vec::clear);
                    }
                    "[0m" | "[7m" | "[?1049h" | "[?1049l" | "[?25h" | "[?25l" => {}
                    // The bytes end in the middle of a command.
                    part if !part.ends_with(|last: char| last.is_ascii_alphabetic()) => {}
                    other => panic!("unknown command of the terminal: {other:?}"),
                }
            }
            other => {
                assert!(column < usize::from(COLUMNS), "a line is too long");
                let row = &mut lines[line];
                row.resize(row.len().max(column + 1), ' ');
                row[column] = other;
                column += 1;
            }
        }
    }
    lines.into_iter().map(|line| line.into_iter().collect()).collect()
}

/// A command up to the letter that ends it.
fn command(letters: &mut impl Iterator<Item = char>) -> String {
    let mut command = String::new();
    for letter in letters {
        command.push(letter);
        if letter.is_ascii_alphabetic() {
            break;
        }
    }
    command
}

/// The lines on which these programs stand.
fn places(lines: &[String]) -> Vec<&str> {
    let programs = lines.iter().filter_map(|line| ["alpha", "omega"].into_iter().find(|name| line.contains(name)));
    programs.collect()
}

#[test]
fn keys_sort_pause_and_end() {
    let place = Place::new();
    let (mut alpha, mut omega) = (Sleeper::new(&place), Sleeper::new(&place));
    alpha.write("/bin/alpha", 1_000, 10);
    omega.write("/bin/omega", 1_000, 10);
    let mut session = Session::new(&place);
    let is_up = |lines: &[String]| lines[0].contains("by traffic") && places(lines).len() == 2;
    let lines = session.await_screen("two processes", is_up);
    assert!(lines[1].starts_with("    PID PROGRAM") && !lines[0].contains("paused"), "{lines:#?}");
    assert_eq!(flags(&session.terminal) & (libc::ICANON | libc::ECHO), 0, "keys come one by one");

    omega.write("/bin/omega", 9_000, 10);
    alpha.write("/bin/alpha", 1_000, 500);
    let lines = session.await_screen("omega moves most", |lines| places(lines) == ["omega", "alpha"]);
    assert!(lines.iter().any(|line| line.contains("kernel 50 %") && line.contains("staged 50 %")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("stand-downs 2")), "{lines:#?}");

    session.press("s");
    session.await_screen("by the waits of urgent copies", |lines| {
        lines[0].contains("by p99") && places(lines) == ["alpha", "omega"]
    });
    session.press("s");
    session
        .await_screen("by staged bytes", |lines| lines[0].contains("by staged") && places(lines) == ["omega", "alpha"]);
    session.press("s");
    session.await_screen("by name", |lines| lines[0].contains("by program") && places(lines) == ["alpha", "omega"]);

    session.press("p");
    session.await_screen("paused", |lines| lines[0].contains("paused"));
    omega.kill();
    std::thread::sleep(Duration::from_millis(700));
    session.press("x");
    let lines = session.await_screen("still paused", |lines| lines[0].contains("paused"));
    assert_eq!(places(&lines), ["alpha", "omega"], "a paused screen stays");
    session.press(" ");
    session.await_screen("one is gone", |lines| !lines[0].contains("paused") && places(lines) == ["alpha"]);

    session.press("q");
    session.await_end();
    assert_ne!(flags(&session.terminal) & libc::ICANON, 0, "the terminal is as before");
    assert!(session.all.ends_with(b"\x1b[?25h\x1b[?1049l"), "the other screen is left");
}

#[test]
fn a_signal_leaves_the_terminal_as_it_was() {
    let place = Place::new();
    let mut session = Session::new(&place);
    session.await_screen("a heading", |lines| lines[1].starts_with("    PID PROGRAM"));
    // SAFETY: a signal to a child that has not been waited for.
    unsafe { libc::kill(session.child.id() as i32, libc::SIGTERM) };
    session.await_end();
    assert_ne!(flags(&session.terminal) & libc::ICANON, 0);
}

#[test]
fn without_a_terminal_there_is_one_plain_table() {
    let place = Place::new();
    let mut sleeper = Sleeper::new(&place);
    sleeper.write("/bin/alpha", 1, 1);
    let output = place.overtake(&["top", "--every", "0.1"]).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.starts_with("    PID PROGRAM"), "{text}");
    assert!(text.lines().any(|line| line.contains(" alpha ")) && !text.contains('\x1b'), "{text}");
}
