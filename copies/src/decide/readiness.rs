//! From when on a copy holds others back: from its submission, or from the time at which it can start.

use crate::decide::Known;

/// The grounds on which a copy counts as able to begin when it is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// The caller has stated it.
    Stated,
    /// The stream is trusted. A copy that does not complete in its time is doubted.
    Trusted,
    /// None: a marker before the copy tells when it can begin.
    Marked,
}

/// The readiness of a copy that raises. `waits`: it may wait at a word itself. `is_doubted` tells whether its stream
/// is, and is asked only where the caller has stated nothing.
pub(crate) fn readiness(known: &Known<'_>, waits: bool, is_doubted: impl FnOnce() -> bool) -> Readiness {
    match known.is_ready {
        Some(true) => Readiness::Stated,
        Some(false) => Readiness::Marked,
        // The stream is asked in any case, because it counts the copies that are submitted with care.
        None if is_doubted() || waits || known.depends == Some(true) => Readiness::Marked,
        None => Readiness::Trusted,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use hal::DevicePtr;
    use options::Options;
    use priority::Priority;

    use super::*;
    use crate::cargo::Cargo;
    use crate::request::Request;

    /// The readiness, and whether the stream was asked.
    fn found(stated: Option<bool>, waits: bool, depends: Option<bool>, is_doubted: bool) -> (Readiness, bool) {
        let request = Request::htod(DevicePtr(0x2000), std::ptr::null(), 1 << 20);
        let request = stated.map_or(request, |is_ready| request.ready(is_ready));
        let options = Options::default();
        let known = Known { depends, ..Known::of(&options, Cargo::One(&request), Priority::LOWEST) };
        let asked = Cell::new(false);
        let doubt = || {
            asked.set(true);
            is_doubted
        };
        (readiness(&known, waits, doubt), asked.get())
    }

    #[test]
    fn a_statement_takes_the_place_of_every_guess() {
        for (waits, depends, is_doubted) in [(false, None, false), (true, Some(true), true), (false, Some(false), true)]
        {
            assert_eq!(found(Some(true), waits, depends, is_doubted), (Readiness::Stated, false));
            assert_eq!(found(Some(false), waits, depends, is_doubted), (Readiness::Marked, false));
        }
    }

    #[test]
    fn without_one_each_ground_for_doubt_counts() {
        assert_eq!(found(None, false, None, false), (Readiness::Trusted, true));
        assert_eq!(found(None, false, Some(false), false), (Readiness::Trusted, true));
        assert_eq!(found(None, true, Some(false), false), (Readiness::Marked, true), "it waits at a word");
        assert_eq!(found(None, false, Some(true), false), (Readiness::Marked, true), "it comes after bulk");
        assert_eq!(found(None, false, Some(false), true), (Readiness::Marked, true), "its stream is doubted");
    }
}
