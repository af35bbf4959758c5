//! The state of the drop-in in one process. `README.md` draws it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, Ordering};

use crate::{count, driver, loader, object};

/// The first call will decide whether the drop-in is on.
const UNDECIDED: u8 = 0;
/// `OVERTAKE=off`: for ever.
const OFF: u8 = 1;
/// On; the driver has not been initialised.
const FRESH: u8 = 2;
/// The driver has just been initialised; one thread is starting the layer.
const STARTING: u8 = 3;
/// Hooks look at calls.
const READY: u8 = 4;
/// A child of a fork: every call goes to the driver unchanged, for ever.
const FORKED: u8 = 5;
/// The process is exiting: every call goes to the driver unchanged.
const EXITING: u8 = 6;
/// Code of ours panicked: every call goes to the driver unchanged, for ever.
const BROKEN: u8 = 7;

static LIFE: AtomicU8 = AtomicU8::new(UNDECIDED);

/// Whether hooks look at calls: one load.
#[inline]
pub fn ready() -> bool {
    LIFE.load(Ordering::Acquire) == READY
}

/// Whether the kill switch is set. The answer of the first call stays. Neither allocates nor locks.
pub fn off() -> bool {
    match LIFE.load(Ordering::Acquire) {
        UNDECIDED => decide() == OFF,
        life => life == OFF,
    }
}

#[cold]
fn decide() -> u8 {
    let decision = if object::environment(c"OVERTAKE", |value| value.is_some_and(means_off)) { OFF } else { FRESH };
    match LIFE.compare_exchange(UNDECIDED, decision, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => decision,
        Err(decided) => decided,
    }
}

fn means_off(value: &[u8]) -> bool {
    [&b"off"[..], b"0", b"false", b"no"].iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// A real call has succeeded that needs an initialised driver.
#[inline]
pub fn initialised() {
    if LIFE.load(Ordering::Relaxed) <= FRESH {
        start();
    }
}

#[cold]
fn start() {
    if off() || LIFE.compare_exchange(FRESH, STARTING, Ordering::AcqRel, Ordering::Acquire).is_err() {
        return;
    }
    let _kept = os::caller::Kept::new();
    let begun = catch_unwind(AssertUnwindSafe(|| {
        os::messages::install();
        os::messages::catch_panics();
        loader::watch_process(forked, exiting);
        let deployment = object::deployment().name();
        shim::start(shim::Start { driver: driver::open, deployment, calls: count::list });
    }));
    let next = if begun.is_ok() { READY } else { BROKEN };
    // If the process has begun to exit meanwhile, or is the child of a fork, it keeps that state.
    let _ = LIFE.compare_exchange(STARTING, next, Ordering::AcqRel, Ordering::Acquire);
}

/// Code of ours panicked. The state that it was changing is unknown, so no code of ours runs any more.
#[cold]
pub fn broken() {
    let _ = LIFE.compare_exchange(READY, BROKEN, Ordering::AcqRel, Ordering::Acquire);
}

/// Runs in the child of a fork, whose only thread this is. Locks that other threads of the parent held stay held.
extern "C" fn forked() {
    LIFE.store(FORKED, Ordering::SeqCst);
    shim::forked();
}

/// Runs when the process exits in an orderly way. Threads go on: none is joined, and nothing is freed.
extern "C" fn exiting() {
    let known = LIFE.swap(EXITING, Ordering::SeqCst);
    if known == FORKED {
        LIFE.store(FORKED, Ordering::SeqCst);
    } else if known != BROKEN {
        let _kept = os::caller::Kept::new();
        let _ = catch_unwind(shim::exiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kill_switch_has_four_words() {
        for word in ["off", "OFF", "0", "false", "No"] {
            assert!(means_off(word.as_bytes()), "{word}");
        }
        for word in ["", "on", "1", "offf", "yes"] {
            assert!(!means_off(word.as_bytes()), "{word}");
        }
    }
}
