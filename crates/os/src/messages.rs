//! The one door for messages. Sending a message never panics, raises no signal and never blocks. A message for which
//! there is no room is dropped and counted.
//!
//! All other code sends messages through the `log` crate. In the drop-in and the C library, which are libraries of
//! their own, [`install`] makes this door the receiver. In a Rust program that has a logger, that logger stays.

use std::ffi::OsStr;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use log::{Level, LevelFilter, Log, Metadata, Record};

use crate::descriptor;
use crate::listener;
pub use crate::listener::Listener;

/// The variable that selects the levels of message that are shown.
pub const VARIABLE: &str = "OVERTAKE_LOG";

/// The values that [`VARIABLE`] may have.
pub const WORDS: &str = "off, error, warn, info or debug";

/// The level without the variable.
const DEFAULT: LevelFilter = LevelFilter::Warn;

const STANDARD_ERROR: i32 = 2;

/// Messages dropped since the process began.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Dropped messages that no later message has reported yet.
static UNTOLD: AtomicU64 = AtomicU64::new(0);

struct Door;

/// Makes this door the receiver of the `log` crate, unless the program has set one. `OVERTAKE_LOG` selects the
/// levels.
pub fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        if log::set_logger(&Door).is_err() {
            return;
        }
        let value = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
        let known = value.as_deref().map(wanted);
        log::set_max_level(known.flatten().unwrap_or(DEFAULT));
        if let (Some(value), Some(None)) = (value, known) {
            log::warn!(
                "{VARIABLE}={} is not a level, so warnings and errors are shown; the levels are {WORDS}",
                value.display()
            );
        }
    });
}

/// Turns panics of this library into messages. Only for a library with its own copy of Rust's runtime: in a Rust
/// program the panic hook belongs to the program.
pub fn catch_panics() {
    static CAUGHT: Once = Once::new();
    CAUGHT.call_once(crate::panics::speak);
}

/// The level that a word of `OVERTAKE_LOG` stands for.
fn wanted(word: &OsStr) -> Option<LevelFilter> {
    let levels = [LevelFilter::Off, LevelFilter::Error, LevelFilter::Warn, LevelFilter::Info, LevelFilter::Debug];
    levels.into_iter().find(|level| word.eq_ignore_ascii_case(level.as_str()))
}

/// Sends later messages to `listener`, which is called on a thread of its own; with `None`, to standard error again.
/// After the return no call of the former listener is running, unless that listener itself makes this call.
///
/// # Errors
/// The system gives no thread. Nothing has changed then.
pub fn listen(listener: Option<Listener>) -> std::io::Result<()> {
    listener::replace(listener)
}

/// The number of messages that were dropped.
#[must_use]
pub fn dropped() -> u64 {
    DROPPED.load(Ordering::Relaxed)
}

impl Log for Door {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            pass(record.level(), &record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// Sends a message to the listener, or else to standard error.
pub(crate) fn pass(level: Level, text: &str) {
    match listener::hand_over(level, text) {
        Some(true) => {}
        Some(false) => {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
        None => write(level, text),
    }
}

/// Writes a message to standard error, if there is room.
pub(crate) fn write(level: Level, text: &str) {
    if !write_to(STANDARD_ERROR, level, text) {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

/// Writes one line or nothing. The next line that is written tells how many were dropped before it.
fn write_to(descriptor: i32, level: Level, text: &str) -> bool {
    let untold = UNTOLD.swap(0, Ordering::Relaxed);
    let written = descriptor::write_at_once(descriptor, line(level, text, untold).as_bytes());
    if !written {
        UNTOLD.fetch_add(untold + 1, Ordering::Relaxed);
    }
    written
}

/// The line of a message. It begins with the project's name and is short enough to be written in one piece.
fn line(level: Level, text: &str, untold: u64) -> String {
    let kind = match level {
        Level::Error | Level::Warn => "",
        Level::Info => "info: ",
        Level::Debug | Level::Trace => "debug: ",
    };
    let before = match untold {
        0 => String::new(),
        count => format!(" (messages before this one that found no room: {count})"),
    };
    let room = descriptor::BYTES_MAX - "overtake: \n".len() - kind.len() - before.len();
    format!("overtake: {kind}{}{before}\n", cut(text, room))
}

/// The longest beginning of a text that fits into `bytes` bytes.
fn cut(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};

    use super::*;

    #[test]
    fn every_word_is_a_level_and_nothing_else_is() {
        for word in ["off", "ERROR", "Warn", "info", "debug"] {
            assert!(wanted(OsStr::new(word)).is_some(), "{word}");
        }
        for word in ["", "trace", "warning", "2"] {
            assert_eq!(wanted(OsStr::new(word)), None, "{word}");
        }
    }

    #[test]
    fn a_line_fits_and_tells_its_level_and_how_many_were_dropped() {
        assert_eq!(line(Level::Warn, "a", 0), "overtake: a\n");
        assert_eq!(line(Level::Debug, "a", 3), "overtake: debug: a (messages before this one that found no room: 3)\n");
        let long = line(Level::Info, &"ä".repeat(descriptor::BYTES_MAX), 1);
        assert!(long.len() <= descriptor::BYTES_MAX && long.len() + 2 > descriptor::BYTES_MAX, "{}", long.len());
    }

    #[test]
    fn messages_that_find_no_room_are_counted_and_told_later() {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (mut reader, writer) = std::io::pipe().unwrap();
        use std::os::fd::AsRawFd as _;
        assert!(!write_to(full.as_raw_fd(), Level::Warn, "one") && !write_to(full.as_raw_fd(), Level::Warn, "two"));
        assert!(write_to(writer.as_raw_fd(), Level::Warn, "three"));
        drop(writer);
        let text = std::io::read_to_string(&mut reader).unwrap();
        assert_eq!(text, "overtake: three (messages before this one that found no room: 2)\n");
    }

    #[test]
    fn a_slow_listener_delays_no_caller_and_gets_no_message_of_its_own() {
        let (told, heard) = mpsc::channel();
        let (release, held) = mpsc::channel::<()>();
        let held = Mutex::new(held);
        let slow = move |level, text: &str| {
            pass(Level::Error, "an echo");
            let _the_test_has_ended = told.send((level, text.to_owned()));
            let _released = held.lock().unwrap().recv();
        };
        listen(Some(Box::new(slow))).unwrap();
        let before = dropped();
        for _ in 0..1000 {
            pass(Level::Info, "one");
        }
        assert!(dropped() - before > 500, "no more wait than there is room for");
        assert_eq!(heard.recv().unwrap(), (Level::Info, "one".to_owned()));
        drop(release);
        listen(None).unwrap();
        assert!(heard.try_iter().count() < 1000, "the echoes are not among them");
    }
}
