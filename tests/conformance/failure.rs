//! The failure of a check: a sentence and the line that detected it.

use std::fmt;
use std::panic::Location;

use hal::Code;

/// The reason why a check failed.
pub struct Failure(String);

/// The result of a check.
pub type Outcome = Result<(), Failure>;

impl Failure {
    /// A failure found at the caller's line.
    #[track_caller]
    pub fn new(text: impl fmt::Display) -> Failure {
        let place = Location::caller();
        Failure(format!("{}:{}: {text}", place.file(), place.line()))
    }

    /// A failure whose text names the place already.
    pub fn from_text(text: String) -> Failure {
        Failure(text)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<hal::Error> for Failure {
    #[track_caller]
    fn from(error: hal::Error) -> Failure {
        Failure::new(error)
    }
}

/// Fails the check unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($text:tt)+) => {
        if $condition {
        } else {
            return Err($crate::failure::Failure::new(format_args!($($text)+)));
        }
    };
}
pub(crate) use ensure;

/// Fails the check unless both are equal.
#[track_caller]
pub fn same<T: PartialEq + fmt::Debug>(what: &str, seen: &T, expected: &T) -> Outcome {
    if seen == expected {
        return Ok(());
    }
    Err(Failure::new(format_args!("{what}: expected {expected:?}, saw {seen:?}")))
}

/// Fails the check at the first byte that differs.
#[track_caller]
pub fn same_bytes(what: &str, seen: &[u8], expected: &[u8]) -> Outcome {
    if seen.len() != expected.len() {
        return Err(Failure::new(format_args!("{what}: {} bytes instead of {}", seen.len(), expected.len())));
    }
    // As a whole first: byte by byte, a debug build takes seconds for the copies of a suite.
    if seen == expected {
        return Ok(());
    }
    let first = seen.iter().zip(expected).take_while(|(a, b)| a == b).count();
    let wrong = seen.iter().zip(expected).filter(|(a, b)| a != b).count();
    Err(Failure::new(format_args!(
        "{what}: {wrong} of {} bytes are wrong, the first at {first}: expected {:#04x}, saw {:#04x}",
        seen.len(),
        expected[first],
        seen[first]
    )))
}

/// Fails the check unless the call was refused with one of `codes`.
#[track_caller]
pub fn refused<T>(what: &str, result: hal::Result<T>, codes: &[Code]) -> Outcome {
    match result {
        Err(error) if codes.contains(&error.code()) => Ok(()),
        Err(error) => Err(Failure::new(format_args!("{what}: expected {codes:?}, saw {error}"))),
        Ok(_) => Err(Failure::new(format_args!("{what}: expected {codes:?}, but it succeeded"))),
    }
}
