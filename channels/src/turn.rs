//! Turns: whoever comes first goes first. (`docs/counters.md` has what wraps here and elsewhere.)
//!
//! A lock that is free goes to whoever asks next, and that is the thread that has just let go of it: on an H100 a
//! thread that kept a channel full made another one's copy take 17 ms in the median, and 114 ms at worst, where a
//! lock was free every 7 ms (`reports/priorities/h100/2026-11-21-42a01e3-no-turns.json`).

use std::sync::atomic::{AtomicU32, Ordering};

use hal::{Host, Nanos};

/// So often a thread looks before it naps between looks.
const LOOKS: u32 = 64;
const NAP: Nanos = Nanos::from_us(20);

/// Who comes next, and whose turn it is.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    next: AtomicU32,
    serving: AtomicU32,
}

/// It is somebody's turn while this lives.
#[derive(Debug)]
pub(crate) struct Turn<'a>(&'a Turns);

impl Turns {
    /// Waits for a turn in the host's time: whoever has it may be waiting inside the driver.
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
    fn whoever_lets_go_and_comes_again_comes_last() {
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
