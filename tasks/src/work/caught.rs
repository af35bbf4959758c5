//! Calls functions of the user, and turns panics into errors.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::work::function::WorkResult;
use crate::work::levels;

/// A panic of a task's function.
#[derive(Debug)]
pub(crate) struct Panic(pub String);

impl std::fmt::Display for Panic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Panic {}

/// Calls a function.
#[inline]
pub(crate) fn caught<T>(function: impl FnOnce() -> WorkResult<T>) -> WorkResult<T> {
    levels::may_call_user();
    catch_unwind(AssertUnwindSafe(function)).unwrap_or_else(|thrown| Err(panicked(thrown)))
}

#[cold]
fn panicked(thrown: Box<dyn Any + Send>) -> Box<Panic> {
    let text = thrown.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| thrown.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned());
    // Dropping the payload of a panic could panic again.
    std::mem::forget(thrown);
    Box::new(Panic(text))
}

/// Runs code of others whose panics are of no use to the caller.
pub(crate) fn apart(body: impl FnOnce()) {
    let _has_ended: Option<()> = caught_value(body);
}

/// The same of code that returns something, unless it panics.
pub(crate) fn caught_value<T>(body: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(value) => Some(value),
        Err(thrown) => {
            // Dropping the payload of a panic could panic again.
            std::mem::forget(thrown);
            None
        }
    }
}
