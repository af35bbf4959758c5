//! A million tasks through the dispatcher: memory stays as it is, and the millionth costs as much as the thousandth.
//!
//! The driver's calls do nothing and its device completes everything at once, so all that is seen is overtake's own.
#![allow(unsafe_code)] // an allocator that counts, and the driver that does nothing

#[allow(dead_code)]
#[path = "../../benches/dispatch/chain.rs"]
mod chain;
#[allow(dead_code)]
#[path = "../../benches/submit/null.rs"]
mod null;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use chain::{Chain, Ground, SHAPES};

struct Counting;

/// Of all threads: those of the dispatcher have a part in each task.
static LIVE_BYTES: AtomicI64 = AtomicI64::new(0);

// SAFETY: every call is the system allocator's, with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE_BYTES.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of this method, which is that one's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Tasks between two waits of the caller.
const BLOCK: u32 = 1_008;
const BLOCKS: usize = 1_000;
/// The best of so many blocks is compared, because other programs take the processor from most.
const COMPARED: usize = 150;
/// Lists grow with the most tasks that were ever under way at once, which depends on the threads. Four bytes that each
/// task leaves behind are more.
const GROWTH_MAX_BYTES: i64 = 1 << 20;
const RATIO_MAX: f64 = 1.2;
const ATTEMPTS: usize = 5;

fn block(chain: &mut Chain) -> Duration {
    let begun = Instant::now();
    chain.counted_tasks(BLOCK);
    chain.wait();
    begun.elapsed()
}

/// Runs a million tasks. Returns the time of the last ones by that of the first.
fn last_by_first(name: &str, chain: &mut Chain) -> f64 {
    (0..3).for_each(|_| _ = block(chain));
    let first = (0..COMPARED).map(|_| block(chain)).min().unwrap_or_default();
    let before = LIVE_BYTES.load(Ordering::Relaxed);
    (0..BLOCKS - 2 * COMPARED).for_each(|_| _ = block(chain));
    let last = (0..COMPARED).map(|_| block(chain)).min().unwrap_or_default();
    let growth = LIVE_BYTES.load(Ordering::Relaxed) - before;
    assert!(growth < GROWTH_MAX_BYTES, "{name}: memory has grown by {growth} bytes");
    let ratio = last.as_secs_f64() / first.as_secs_f64();
    println!("{name}: {first:?} for the first {BLOCK}, {last:?} for the last: {ratio:.3}; {growth} bytes more");
    ratio
}

#[test]
fn a_million_tasks_take_no_more_than_a_thousand() {
    for (name, shape) in SHAPES {
        // The machine may be slower for a while. A dispatcher that grows slower is so each time.
        let mut ratios = (0..ATTEMPTS).map(|_| last_by_first(name, &mut Ground::new().chain(shape)));
        assert!(ratios.any(|ratio| ratio < RATIO_MAX), "{name}: the last tasks take longer than the first");
    }
}
