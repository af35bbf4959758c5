//! The errors of table functions: the number that is returned, and the text that the calling thread can ask for.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use hal::Error;

use crate::failure::Failure;

/// The error of a table function.
pub(crate) enum Trouble {
    Ours(Failure, String),
    Driver(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::Driver(error)
    }
}

impl Trouble {
    pub(crate) fn invalid(text: impl Into<String>) -> Trouble {
        Trouble::Ours(Failure::InvalidArgument, text.into())
    }

    pub(crate) fn number(&self) -> c_int {
        match self {
            Trouble::Ours(failure, _) => failure.number(),
            Trouble::Driver(error) => error.code().get() as c_int,
        }
    }

    pub(crate) fn text(&self) -> String {
        match self {
            Trouble::Ours(_, text) => text.clone(),
            Trouble::Driver(error) => error.to_string(),
        }
    }
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::new(CString::default());
}

fn remember(trouble: &Trouble) -> c_int {
    let text = CString::new(trouble.text().replace('\0', " ")).unwrap_or_default();
    // A thread that is ending keeps no text.
    let _ = LAST_ERROR.try_with(|last| *last.borrow_mut() = text);
    trouble.number()
}

/// Runs `body`. A panic becomes an error, because it must not unwind into C.
pub(crate) fn answer(body: impl FnOnce() -> Result<(), Trouble>) -> c_int {
    let panicked = |_| Err(Trouble::Ours(Failure::Panic, "a defect of overtake: please report it".to_owned()));
    let _kept = os::caller::Kept::new();
    match catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(panicked) {
        Ok(()) => 0,
        Err(trouble) => remember(&trouble),
    }
}

/// The text of the calling thread's last error.
pub(crate) fn last() -> *const c_char {
    // The text stays in place until the thread's next failure.
    LAST_ERROR.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}
