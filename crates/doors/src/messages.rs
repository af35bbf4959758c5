//! The one door for messages. A message never panics, raises no signal and never blocks: what finds no room is dropped,
//! and counted.
//!
//! Everything above speaks through the `log` crate. In the drop-in and the C library, which are libraries of their own,
//! [`install`] makes this door the place where that ends; in a Rust program that has a logger, the logger stays.

use std::cell::Cell;
use std::ffi::OsStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use log::{Level, LevelFilter, Log, Metadata, Record};

use crate::descriptor;

/// The variable that says which messages are wanted.
pub const VARIABLE: &str = "OVERTAKE_LOG";

/// What it may say.
pub const WORDS: &str = "off, error, warn, info or debug";

/// What is wanted where it says nothing.
const DEFAULT: LevelFilter = LevelFilter::Warn;

const STANDARD_ERROR: i32 = 2;

/// What receives messages in the place of standard error: called on the thread that has something to say, which holds
/// no lock of this project's.
pub type Listener = Box<dyn Fn(Level, &str) + Send + Sync>;

/// The place of the listener. A call that has begun keeps its listener, whoever replaces it meanwhile.
static LISTENER: Mutex<Option<Arc<Listener>>> = Mutex::new(None);

/// Messages that found no room since the process began.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Those of them that no later message has told of.
static UNTOLD: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Whether this thread is passing a message to the listener.
    static SPEAKING: Cell<bool> = const { Cell::new(false) };
}

struct Door;

/// Makes this door the sink of the `log` crate, unless the program has set one; `OVERTAKE_LOG` says what passes.
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
            log::warn!("{VARIABLE}={} is none of {WORDS}; warnings and errors are shown", value.display());
        }
    });
}

/// Turns panics of this library into messages. For a library with a copy of Rust's runtime to itself only: in a Rust
/// program the hook belongs to the program.
pub fn catch_panics() {
    static CAUGHT: Once = Once::new();
    CAUGHT.call_once(crate::panics::speak);
}

/// The level that a word of `OVERTAKE_LOG` stands for.
fn wanted(word: &OsStr) -> Option<LevelFilter> {
    let levels = [LevelFilter::Off, LevelFilter::Error, LevelFilter::Warn, LevelFilter::Info, LevelFilter::Debug];
    levels.into_iter().find(|level| word.eq_ignore_ascii_case(level.as_str()))
}

/// Sends messages to `listener` from now on; `None`: to standard error again.
pub fn listen(listener: Option<Listener>) {
    let before = std::mem::replace(&mut *listeners(), listener.map(Arc::new));
    // What the listener holds may have a destructor of the program's: it runs without the lock.
    drop(before);
}

fn listeners() -> MutexGuard<'static, Option<Arc<Listener>>> {
    LISTENER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many messages found no room.
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

/// Lets a message out.
pub(crate) fn pass(level: Level, text: &str) {
    let listener = listeners().clone();
    let passed = match listener {
        Some(listener) => tell(&listener, level, text),
        None => write(STANDARD_ERROR, level, text),
    };
    if !passed {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

/// A listener that causes messages itself does not hear them: that would never end.
fn tell(listener: &Listener, level: Level, text: &str) -> bool {
    let Ok(false) = SPEAKING.try_with(|speaking| speaking.replace(true)) else { return false };
    listener(level, text);
    let _ending = SPEAKING.try_with(|speaking| speaking.set(false));
    true
}

/// Writes one line, or none. The next one that is written tells how many were not.
fn write(to: i32, level: Level, text: &str) -> bool {
    let untold = UNTOLD.swap(0, Ordering::Relaxed);
    let written = descriptor::write_at_once(to, line(level, text, untold).as_bytes());
    if !written {
        UNTOLD.fetch_add(untold + 1, Ordering::Relaxed);
    }
    written
}

/// A message as it is written: it begins with the project's name, and is short enough to be written in one piece.
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

/// The beginning of a text, of so many bytes at most.
fn cut(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
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
    fn a_line_tells_its_level_and_what_was_lost_and_fits() {
        assert_eq!(line(Level::Warn, "a", 0), "overtake: a\n");
        assert_eq!(line(Level::Debug, "a", 3), "overtake: debug: a (messages before this one that found no room: 3)\n");
        let long = line(Level::Info, &"ä".repeat(descriptor::BYTES_MAX), 1);
        assert!(long.len() <= descriptor::BYTES_MAX && long.len() + 2 > descriptor::BYTES_MAX, "{}", long.len());
    }

    #[test]
    fn what_finds_no_room_is_counted_and_told_later() {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (mut reader, writer) = std::io::pipe().unwrap();
        use std::os::fd::AsRawFd as _;
        assert!(!write(full.as_raw_fd(), Level::Warn, "one") && !write(full.as_raw_fd(), Level::Warn, "two"));
        assert!(write(writer.as_raw_fd(), Level::Warn, "three"));
        drop(writer);
        let text = std::io::read_to_string(&mut reader).unwrap();
        assert_eq!(text, "overtake: three (messages before this one that found no room: 2)\n");
    }

    #[test]
    fn a_listener_hears_messages_but_not_its_own() {
        static HEARD: Mutex<Vec<(Level, String)>> = Mutex::new(Vec::new());
        listen(Some(Box::new(|level, text| {
            HEARD.lock().unwrap().push((level, text.to_owned()));
            pass(Level::Error, "an echo");
        })));
        let before = dropped();
        pass(Level::Info, "one");
        listen(None);
        assert_eq!(*HEARD.lock().unwrap(), [(Level::Info, "one".to_owned())]);
        assert_eq!(dropped(), before + 1);
    }
}
