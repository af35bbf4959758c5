//! The priorities that the calling thread had before each of its open scopes.

use std::cell::RefCell;
use std::ffi::c_int;

use crate::codes::OVERTAKE_ERROR_NO_SCOPE;
use crate::failure::{Failure, Outcome};

const EMPTY: &str = "overtake_pop_priority: no overtake_push_priority came before it on this thread";

thread_local! {
    static BENEATH: RefCell<Vec<c_int>> = const { RefCell::new(Vec::new()) };
}

/// Begins a scope: `swap` sets the thread's priority and returns the earlier one.
pub fn push(swap: impl FnOnce() -> Outcome<c_int>) -> Outcome {
    let before = swap()?;
    BENEATH.with(|beneath| beneath.borrow_mut().push(before));
    Ok(())
}

/// Ends the innermost scope: `restore` sets the priority from before it. If it fails, the scope stays open.
pub fn pop(restore: impl FnOnce(c_int) -> Outcome) -> Outcome {
    let before = BENEATH.with(|beneath| beneath.borrow().last().copied());
    let before = before.ok_or_else(|| Failure::new(OVERTAKE_ERROR_NO_SCOPE, EMPTY))?;
    restore(before)?;
    BENEATH.with(|beneath| beneath.borrow_mut().pop());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_nest_and_a_failed_restore_keeps_the_scope() {
        assert_eq!(pop(|_| Ok(())).unwrap_err().code, OVERTAKE_ERROR_NO_SCOPE);
        push(|| Ok(0)).unwrap();
        push(|| Ok(5)).unwrap();
        assert!(push(|| Err(Failure::argument("9"))).is_err(), "a scope that did not begin does not count");
        let mut restored = Vec::new();
        assert!(pop(|_| Err(Failure::argument("not now"))).is_err());
        for _ in 0..2 {
            pop(|before| {
                restored.push(before);
                Ok(())
            })
            .unwrap();
        }
        assert_eq!(restored, [5, 0]);
        assert!(pop(|_| Ok(())).is_err());
    }
}
