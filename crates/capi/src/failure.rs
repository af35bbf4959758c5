//! Failures of calls: the number that a call returns, the catch for panics, and the text that the thread can ask for
//! later.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use os::caller::Kept;

use crate::codes::{OVERTAKE_ERROR_INVALID_ARGUMENT, OVERTAKE_ERROR_PANIC, OVERTAKE_OK};

thread_local! {
    static LAST: RefCell<Failure> = RefCell::new(Failure::none());
}

/// The number of a text that the program has set itself.
pub const SAID: c_int = c_int::MIN;

#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// The number to return.
    pub code: c_int,
    /// The text for the thread's `overtake_last_error`.
    pub text: CString,
}

pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    pub fn new(code: c_int, text: &str) -> Failure {
        let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
        Failure { code, text }
    }

    /// The same, and more about it.
    pub fn because(self, more: &str) -> Failure {
        Failure::new(self.code, &format!("{}; {more}", self.text.to_string_lossy()))
    }

    /// No failure yet.
    pub fn none() -> Failure {
        Failure { code: OVERTAKE_OK, text: CString::default() }
    }

    /// An argument outside its documented range.
    pub fn argument(text: &str) -> Failure {
        Failure::new(OVERTAKE_ERROR_INVALID_ARGUMENT, text)
    }
}

/// Runs the body of an export that returns a number. A panic becomes one.
pub fn catch(call: &str, body: impl FnOnce() -> Outcome) -> c_int {
    // A panic may leave state of the layer half changed; the layer takes its locks even if they are poisoned.
    let _kept = Kept::new();
    let outcome = catch_unwind(AssertUnwindSafe(body));
    let outcome = outcome.unwrap_or_else(|payload| {
        Err(Failure::new(OVERTAKE_ERROR_PANIC, &format!("{call}: {}", panic_message(&*payload))))
    });
    match outcome {
        Ok(()) => OVERTAKE_OK,
        Err(failure) => {
            let code = failure.code;
            swap_last(failure);
            code
        }
    }
}

/// Runs the body of an export that returns a value of its own.
pub fn catch_value<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    let _kept = Kept::new();
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}

fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic that says nothing")
}

/// Keeps a failure as the thread's last, and returns the one before. In a thread that is ending there is no room for it
/// any more, and it cannot be asked for later.
pub fn swap_last(failure: Failure) -> Failure {
    LAST.try_with(|last| last.replace(failure)).unwrap_or_else(|_| Failure::none())
}

/// The text of the calling thread's last failure; empty if there was none.
pub fn last_text() -> *const c_char {
    LAST.try_with(|last| last.borrow().text.as_ptr()).unwrap_or(c"".as_ptr())
}

/// A failure with its explanation, or with the text of its number if the explanation is empty.
pub fn explained(code: c_int, text: &CStr) -> Failure {
    let text = if text.is_empty() { crate::codes::text(code) } else { text };
    Failure { code, text: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last() -> String {
        LAST.with(|last| last.borrow().text.to_str().unwrap().to_owned())
    }

    #[test]
    fn a_panic_becomes_a_number_and_a_text() {
        assert_eq!(catch("overtake_open", || panic!("the number is {}", 42)), OVERTAKE_ERROR_PANIC);
        assert_eq!(last(), "overtake_open: the number is 42");
        assert_eq!(catch("overtake_close", || panic!("plain")), OVERTAKE_ERROR_PANIC);
        assert_eq!(last(), "overtake_close: plain");
        assert_eq!(catch("a", || std::panic::panic_any(1)), OVERTAKE_ERROR_PANIC);
        assert_eq!(catch_value(7, || panic!("again")), 7);
    }

    #[test]
    fn success_leaves_the_last_text_alone() {
        assert_eq!(catch("a", || Err(Failure::argument("bytes\0 is odd"))), OVERTAKE_ERROR_INVALID_ARGUMENT);
        assert_eq!(catch("a", || Ok(())), OVERTAKE_OK);
        assert_eq!(last(), "bytes  is odd");
    }

    #[test]
    fn failures_without_an_explanation_have_the_text_of_the_number() {
        assert_eq!(explained(2, c"").text.as_c_str(), c"out of memory");
        assert_eq!(explained(2, c"cuMemAlloc: full").text.as_c_str(), c"cuMemAlloc: full");
    }
}
