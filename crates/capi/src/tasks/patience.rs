//! The times that calls may wait, and other spans, as C gives them.

use std::time::Duration;

use hal::Nanos;
use overtake::task::Error;

use crate::failure::{Failure, Outcome};
use crate::tasks::callback::{is_inside, refuse_inside};

/// For timeout_ns: the call waits as long as it takes.
pub const OVERTAKE_FOR_EVER: i64 = -1;

/// How long a call may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// None for ever.
    pub span: Option<Nanos>,
}

impl Patience {
    /// That of a timeout.
    pub fn of(call: &str, timeout_ns: i64) -> Outcome<Patience> {
        match (timeout_ns, u64::try_from(timeout_ns)) {
            (OVERTAKE_FOR_EVER, _) => Ok(Patience { span: None }),
            (_, Ok(span_ns)) => Ok(Patience { span: Some(Nanos(span_ns)) }),
            (_, Err(_)) => {
                let text = format!("{call}: timeout_ns is {timeout_ns}: set it to 0 or more, or to OVERTAKE_FOR_EVER");
                Err(Failure::argument(&text))
            }
        }
    }

    /// An error in the function of a task, which may look and not wait.
    pub fn may_wait(self, call: &str) -> Outcome {
        if self.span == Some(Nanos::ZERO) { Ok(()) } else { refuse_inside(call) }
    }

    /// The span of a wait for room; none for ever. A function of a task does not wait, whatever dispatcher it is of:
    /// others may wait for its end.
    pub fn for_room(self) -> Option<Nanos> {
        if is_inside() { Some(Nanos::ZERO) } else { self.span }
    }

    /// Waits. Returns whether it has come to the end.
    pub fn wait(
        self,
        for_ever: impl FnOnce() -> Result<(), Error>,
        within: impl FnOnce(Duration) -> Result<Option<()>, Error>,
    ) -> Result<bool, Error> {
        match self.span {
            None => for_ever().map(|()| true),
            Some(span) => within(span.into()).map(|ended| ended.is_some()),
        }
    }
}

/// A span of a structure. Those that a negative number has become are refused.
pub fn span(call: &str, name: &str, span_ns: u64) -> Outcome<Nanos> {
    match i64::try_from(span_ns) {
        Ok(_) => Ok(Nanos(span_ns)),
        Err(_) => {
            let text = format!("{call}: {name} is {span_ns}, more than 292 years: it was a negative number");
            Err(Failure::argument(&text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_negative_time_is_for_ever() {
        let span = |timeout_ns| Patience::of("call", timeout_ns).map(|patience| patience.span);
        assert_eq!(span(OVERTAKE_FOR_EVER), Ok(None));
        assert_eq!((span(0), span(i64::MAX)), (Ok(Some(Nanos::ZERO)), Ok(Some(Nanos(i64::MAX as u64)))));
        assert!(span(-2).is_err() && span(i64::MIN).is_err());
    }

    #[test]
    fn spans_of_structures_were_no_negative_numbers() {
        assert_eq!(span("call", "period_ns", i64::MAX as u64), Ok(Nanos(i64::MAX as u64)));
        let refused = span("call", "period_ns", -5_i64 as u64).unwrap_err();
        let text = c"call: period_ns is 18446744073709551611, more than 292 years: it was a negative number";
        assert_eq!(refused.text.as_c_str(), text);
    }
}
