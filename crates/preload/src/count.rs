//! How often each entry point was called, with and without the layer looking at the call.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::rows::{COUNT, ROWS};

static INTERCEPTED: [AtomicU64; COUNT] = [const { AtomicU64::new(0) }; COUNT];
static PASSED_ON: [AtomicU64; COUNT] = [const { AtomicU64::new(0) }; COUNT];

/// Counts a call of this row that the layer looked at.
#[inline]
pub fn intercepted(number: usize) {
    INTERCEPTED[number].fetch_add(1, Ordering::Relaxed);
}

/// Counts a call of this row that went to the driver without a look.
#[inline]
pub fn passed_on(number: usize) {
    PASSED_ON[number].fetch_add(1, Ordering::Relaxed);
}

/// The entry points that were called at least once.
pub fn list() -> Vec<shim::CallCount> {
    let of = |number: usize| shim::CallCount {
        symbol: ROWS[number].symbol,
        intercepted: INTERCEPTED[number].load(Ordering::Relaxed),
        passed_on: PASSED_ON[number].load(Ordering::Relaxed),
    };
    (0..COUNT).map(of).filter(|count| count.intercepted + count.passed_on > 0).collect()
}
