//! The failure of a function, in the form in which the dispatcher gets it.

use crate::work::caught::{Panic, apart, caught_value};
use crate::work::fault::Reason;
use crate::work::levels;
use crate::work::span::StepFailed;

/// An error of the user's, of any type.
type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// Why a task's function has failed, without the error that it has returned: that is formatted and dropped before the
/// lock of the dispatcher is taken, because both call code of the user's.
#[derive(Debug)]
pub(crate) struct Failed {
    /// The name of the step of a replay that has failed, if it is not that of the task; else nothing.
    pub step: String,
    pub reason: Reason,
}

const NO_TEXT: &str = "its error panics when it is shown";

impl Failed {
    /// The failure by this error.
    #[cold]
    pub fn of(error: AnyError) -> Box<Failed> {
        levels::may_call_user();
        Box::new(match error.downcast::<StepFailed>() {
            Ok(step) => Failed { step: step.name, reason: reason_of(step.error) },
            Err(error) => Failed { step: String::new(), reason: reason_of(error) },
        })
    }

    /// One with this text.
    #[cold]
    pub fn with(text: &str) -> Box<Failed> {
        Box::new(Failed { step: String::new(), reason: Reason::Returned(text.to_owned()) })
    }
}

fn reason_of(error: AnyError) -> Reason {
    match error.downcast::<Panic>() {
        Ok(panic) => Reason::Panicked(panic.0),
        Err(error) => match error.downcast::<hal::Error>() {
            Ok(error) => Reason::Driver(*error),
            Err(error) => Reason::Returned(text_of(error)),
        },
    }
}

fn text_of(error: AnyError) -> String {
    let text = caught_value(|| error.to_string());
    apart(|| drop(error));
    text.unwrap_or_else(|| NO_TEXT.to_owned())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::fmt;

    #[derive(Debug)]
    struct Rude;

    impl fmt::Display for Rude {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            std::panic::resume_unwind(Box::new("shown"))
        }
    }

    impl Drop for Rude {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new("dropped"))
        }
    }

    impl std::error::Error for Rude {}

    #[test]
    fn an_error_that_panics_is_a_failure_as_any() {
        assert!(matches!(Failed::of(Box::new(Rude)).reason, Reason::Returned(text) if text == NO_TEXT));
        assert!(matches!(Failed::of("plain".into()).reason, Reason::Returned(text) if text == "plain"));
        let step = Failed::of(Box::new(StepFailed { name: "third".to_owned(), error: "plain".into() }));
        assert_eq!(step.step, "third");
    }
}
