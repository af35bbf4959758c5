//! The terminal of `overtake top`: keys one by one, and a screen of its own. It is as before when this is dropped.
//!
//! These are the few calls that a table of lines needs. A library for terminals (ratatui with crossterm) would more
//! than double the crates of the command.
#![allow(unsafe_code)] // questions and settings of a terminal

use std::io::{self, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Set by a signal that asks the command to end.
static ENDING: AtomicBool = AtomicBool::new(false);

pub struct Terminal {
    before: libc::termios,
}

/// What came from the keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Byte(u8),
    /// Nobody has pressed a key in the given time.
    Nothing,
    /// There is no keyboard any more, or the command is asked to end.
    End,
}

extern "C" fn end(_signal: libc::c_int) {
    ENDING.store(true, Ordering::Relaxed);
}

impl Terminal {
    /// Takes the terminal of standard input. `None` if there is none.
    pub fn take() -> Option<Terminal> {
        let mut before = MaybeUninit::<libc::termios>::uninit();
        let input = io::stdin().as_raw_fd();
        // SAFETY: a place for the answer, which is read only if the call has filled it.
        let before = unsafe { (libc::tcgetattr(input, before.as_mut_ptr()) == 0).then(|| before.assume_init()) }?;
        let mut raw = before;
        raw.c_lflag &= !(libc::ICANON | libc::ECHO | libc::ISIG);
        // SAFETY: an initialised state; the handler is one atomic store, which a signal may interrupt anything with.
        unsafe {
            for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT] {
                libc::signal(signal, end as *const () as libc::sighandler_t);
            }
            libc::tcsetattr(input, libc::TCSANOW, &raw);
        }
        // Another screen, without a cursor.
        put("\x1b[?1049h\x1b[?25l");
        Some(Terminal { before })
    }

    /// Columns and lines.
    pub fn size(&self) -> (usize, usize) {
        let mut size = MaybeUninit::<libc::winsize>::zeroed();
        // SAFETY: the call fills a place for a size, and zeros are one too.
        let size = unsafe {
            libc::ioctl(io::stdout().as_raw_fd(), libc::TIOCGWINSZ, size.as_mut_ptr());
            size.assume_init()
        };
        match (size.ws_col, size.ws_row) {
            (0, _) | (_, 0) => (80, 24),
            (columns, lines) => (usize::from(columns), usize::from(lines)),
        }
    }

    /// Shows these lines, cut to the size of the terminal. The first and the `inverse` one stand out.
    pub fn show(&self, lines: &[String], inverse: usize) {
        let (columns, rows) = self.size();
        let mut screen = String::from("\x1b[H");
        for (number, line) in lines.iter().take(rows).enumerate() {
            let cut: String = line.chars().take(columns).collect();
            let style = if number == inverse { "\x1b[7m" } else { "" };
            let between = if number == 0 { "" } else { "\r\n" };
            screen += &format!("{between}{style}{cut}\x1b[0m\x1b[K");
        }
        put(&(screen + "\x1b[J"));
    }

    /// Waits for a key.
    pub fn key(&self, at_most: Duration) -> Key {
        let input = io::stdin().as_raw_fd();
        let mut asked = libc::pollfd { fd: input, events: libc::POLLIN, revents: 0 };
        let timeout = i32::try_from(at_most.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: one entry, as the call is told.
        let ready = unsafe { libc::poll(&mut asked, 1, timeout) };
        if ENDING.load(Ordering::Relaxed) {
            return Key::End;
        }
        if ready <= 0 {
            return Key::Nothing;
        }
        let mut byte = 0_u8;
        // Past the buffer of the standard library, which `poll` does not know of.
        // SAFETY: a place for one byte.
        match unsafe { libc::read(input, (&raw mut byte).cast(), 1) } {
            1 => Key::Byte(byte),
            _ => Key::End,
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        put("\x1b[?25h\x1b[?1049l");
        // SAFETY: the state that the terminal had.
        unsafe { libc::tcsetattr(io::stdin().as_raw_fd(), libc::TCSANOW, &self.before) };
    }
}

/// A terminal that is gone has no reader: the next key is its end.
fn put(text: &str) {
    let mut output = io::stdout().lock();
    let _unseen = output.write_all(text.as_bytes()).and_then(|()| output.flush());
}
