//! Functions of the caller, whose panics are errors.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::work::function::WorkResult;

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
