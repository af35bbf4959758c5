//! Turns: threads are served in the order in which they arrive. (`docs/counters.md` lists the counters that wrap.)
//!
//! A free lock goes to the next thread that asks, which is usually the one that has just released it. On an H100, a
//! thread that kept a channel full made another thread's copy take 17 ms in the median and 114 ms at worst, although
//! the lock was free every 7 ms (`reports/priorities/h100/2026-11-21-42a01e3-no-turns.json`).

use std::sync::atomic::{AtomicU32, Ordering};

use hal::{Host, Nanos};

/// A thread looks this many times before it naps between looks.
const LOOKS: u32 = 64;
const NAP: Nanos = Nanos::from_us(20);

/// The next number to give out, and the number that has the turn now.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    next: AtomicU32,
    serving: AtomicU32,
}

/// The holder has the turn while this lives.
#[derive(Debug)]
pub(crate) struct Turn<'a>(&'a Turns);

impl Turns {
    /// Waits for a turn in the host's time: the thread that has it may be waiting inside the driver.
    pub(crate) fn wait(&self, host: &dyn Host) -> Turn<'_> {
        let mine = self.next.fetch_add(1, Ordering::Relaxed);
        let mut looks = 0;
        while self.serving.load(Ordering::Acquire) != mine {
            if looks < LOOKS {
                host.pause()
            } else {
                host.sleep(NAP)
            }
            looks += 1;
        }
        Turn(self)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.serving.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use hal::Driver;
    use softgpu::{Clock, SoftGpu};

    use super::*;

    #[test]
    fn a_thread_that_leaves_and_returns_comes_last() {
        // Also where numbers wrap before the second, and before the third.
        for start in [0, u32::MAX, u32::MAX - 1] {
            comes_last(&Turns { next: AtomicU32::new(start), serving: AtomicU32::new(start) }, start);
        }
    }

    fn comes_last(turns: &Turns, start: u32) {
        let gpu = &SoftGpu::builder().clock(Clock::FreeRunning).build();
        let order: &Mutex<Vec<&str>> = &Mutex::default();
        let note = &|name| order.lock().unwrap().push(name);
        let first = turns.wait(gpu.host());
        std::thread::scope(|scope| {
            for (name, place) in [("second", 1), ("third", 2)] {
                scope.spawn(move || {
                    let _turn = turns.wait(gpu.host());
                    note(name);
                });
                while turns.next.load(Ordering::Relaxed).wrapping_sub(start) <= place {
                    std::thread::yield_now();
                }
            }
            note("first leaves");
            drop(first);
            let _again = turns.wait(gpu.host());
            note("first again");
        });
        assert_eq!(*order.lock().unwrap(), ["first leaves", "second", "third", "first again"]);
    }
}
