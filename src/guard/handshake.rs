//! The words of one carrier, and what they say. The kernel's side is in `src/kernel/copy.cu`.

use std::sync::Arc;

use hal::MemOp;
use semaphores::Words;

use crate::kernel::Handshake;

/// Host words of a carrier.
const STARTED: u64 = 0;
const CANCEL: u64 = 1;
const OUTCOME: u64 = 2;
const DONE: u64 = 3;
/// How many words a carrier has.
pub(super) const WORDS: u64 = 4;

/// What became of a copy that was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The kernel copies.
    Copying,
    /// The kernel does not copy and never will.
    Cancelled,
    /// The kernel is about to say so.
    Undecided,
}

/// Whether `a` is `b` or comes after it; numbers wrap.
pub(super) fn is_reached(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 >= 0
}

/// What becomes of launch `number`, the first that is not done, judged after it was cancelled: `started` was loaded
/// after the cancellation was stored, then `done`, then `outcome`.
///
/// A launch that had not started by then loads the cancellation after its start, so it does not copy. One that others
/// have come after has ended, and not by copying, or it would be done.
pub(super) fn verdict(number: u32, started: u32, outcome: u32) -> Verdict {
    if started != number {
        return Verdict::Cancelled;
    }
    match outcome.wrapping_sub(number.wrapping_mul(2)) {
        0 => Verdict::Copying,
        1 => Verdict::Cancelled,
        _ => Verdict::Undecided,
    }
}

/// A carrier's words.
pub(super) struct Line {
    words: Arc<Words>,
    first: u64,
}

impl Line {
    /// The words of the `index`th carrier.
    pub(super) fn new(words: &Arc<Words>, index: u64) -> Line {
        Line { words: Arc::clone(words), first: index * WORDS }
    }

    /// What the kernel of launch `number` is given.
    pub(super) fn handshake(&self, number: u32) -> Handshake {
        let host = |word| self.words.host_address(self.first + word);
        Handshake {
            started: host(STARTED),
            cancel: host(CANCEL),
            outcome: host(OUTCOME),
            done: host(DONE),
            state: self.words.device_address(self.first),
            number,
        }
    }

    pub(super) fn started(&self) -> u32 {
        self.words.load(self.first + STARTED)
    }

    pub(super) fn outcome(&self) -> u32 {
        self.words.load(self.first + OUTCOME)
    }

    pub(super) fn done(&self) -> u32 {
        self.words.load(self.first + DONE)
    }

    /// Cancels all launches up to `number` that have not decided yet. What is loaded afterwards was so afterwards.
    pub(super) fn cancel(&self, number: u32) {
        self.words.store(self.first + CANCEL, number);
        // The store must be visible before `started` is loaded, as the kernel's are the other way round.
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    }

    /// Says in the kernel's stead that a copy is done.
    pub(super) fn finish(&self, number: u32) {
        self.words.store(self.first + DONE, number);
    }

    /// The operation that waits until launch `number` is done.
    pub(super) fn wait_done(&self, number: u32) -> MemOp {
        MemOp::wait32(self.words.host_address(self.first + DONE), number, hal::WaitCondition::Geq)
    }

    /// The operation that says that it is.
    pub(super) fn write_done(&self, number: u32) -> MemOp {
        MemOp::write32(self.words.host_address(self.first + DONE), number)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// The words, and how far everybody is. Both sides' steps are single accesses, in one total order, which is what
    /// fences of the system's scope and the bus guarantee.
    #[derive(Clone, Default)]
    struct World {
        started: u32,
        cancel: u32,
        outcome: u32,
        done: u32,
        kernel_at: usize,
        kernel_cancels: bool,
        host_at: usize,
        host_saw: u32,
        copied: Vec<(u32, &'static str)>,
    }

    const LAST: u32 = 2;

    impl World {
        /// Launches 1 and 2, each in steps: start, look, say, copy. Launch 2 follows launch 1 in its stream, and its
        /// own stream's event, for which launch 1 must be done.
        fn kernel(&mut self, strict: bool) -> bool {
            let number = (self.kernel_at / 4) as u32 + 1;
            if number > LAST || (number == 2 && self.kernel_at == 4 && strict && self.done < 1) {
                return false;
            }
            match self.kernel_at % 4 {
                0 => self.started = number,
                1 => self.kernel_cancels = is_reached(self.cancel, number),
                2 => self.outcome = 2 * number + u32::from(self.kernel_cancels),
                _ if !self.kernel_cancels => {
                    self.copied.push((number, "kernel"));
                    self.done = number;
                }
                _ => {}
            }
            self.kernel_at += 1;
            true
        }

        /// The rescuer: cancel, look at started, then at done, decide, copy.
        fn host(&mut self) -> bool {
            match self.host_at {
                0 => self.cancel = LAST,
                1 => self.host_saw = self.started,
                2 => {
                    let first = self.done + 1;
                    if first > LAST {
                        self.host_at = 3;
                        return true;
                    }
                    let rest = match verdict(first, self.host_saw, self.outcome) {
                        Verdict::Undecided => {
                            self.host_at = 1;
                            return self.started != self.host_saw || self.outcome / 2 >= first;
                        }
                        Verdict::Copying => first + 1,
                        Verdict::Cancelled => first,
                    };
                    self.copied.extend((rest..=LAST).map(|number| (number, "host")));
                }
                _ => return false,
            }
            self.host_at += 1;
            true
        }

        fn explore(&self, strict: bool, ends: &mut Vec<World>) {
            let (mut kernel, mut host) = (self.clone(), self.clone());
            let moved = (kernel.kernel(strict), host.host());
            if moved.0 {
                kernel.explore(strict, ends);
            }
            if moved.1 {
                host.explore(strict, ends);
            }
            if moved == (false, false) {
                ends.push(self.clone());
            }
        }
    }

    /// In every interleaving each copy is made exactly once, whether or not the stream lets the second launch begin
    /// before the first is done.
    #[test]
    fn every_copy_is_made_once() {
        for strict in [true, false] {
            let mut ends = Vec::new();
            World::default().explore(strict, &mut ends);
            assert!(ends.len() > 10, "{} interleavings", ends.len());
            for end in &ends {
                let mut made: Vec<u32> = end.copied.iter().map(|(number, _)| *number).collect();
                made.sort_unstable();
                assert_eq!(made, [1, 2], "{:?}", end.copied);
            }
            let by_both = |who| ends.iter().any(|end| end.copied.contains(&(1, who)));
            assert!(by_both("kernel") && by_both("host"));
        }
    }

    #[test]
    fn numbers_wrap() {
        assert!(is_reached(1, u32::MAX) && !is_reached(u32::MAX, 1));
        let number = 0x8000_0001;
        assert_eq!(verdict(number, number, 2), Verdict::Copying);
        assert_eq!(verdict(number, number, 3), Verdict::Cancelled);
        assert_eq!(verdict(number, number, 1), Verdict::Undecided);
        assert_eq!(verdict(number, number - 1, 2), Verdict::Cancelled);
    }

    /// A carrier's words, with a thread in the place of the kernels.
    struct Threads {
        line: Line,
        /// Done before the launches of this round.
        base: u32,
        /// Whether the stream lets a launch begin only when the one before is done.
        strict: bool,
        made: [AtomicU32; LAST as usize],
    }

    impl Threads {
        fn make(&self, number: u32) {
            self.made[(number.wrapping_sub(self.base) - 1) as usize].fetch_add(1, Ordering::Relaxed);
        }

        fn numbers(&self) -> impl Iterator<Item = u32> + use<> {
            let base = self.base;
            (1..=LAST).map(move |step| base.wrapping_add(step))
        }

        fn until_done(&self, number: u32) {
            while !is_reached(self.line.done(), number) {
                std::thread::yield_now();
            }
        }

        /// What `copy.cu` does, with the accesses of the system's scope that it makes.
        fn kernels(&self) {
            let (words, first) = (&self.line.words, self.line.first);
            for number in self.numbers() {
                if self.strict {
                    self.until_done(number.wrapping_sub(1));
                }
                words.store(first + STARTED, number);
                let cancels = is_reached(words.load(first + CANCEL), number);
                words.store(first + OUTCOME, number.wrapping_mul(2).wrapping_add(u32::from(cancels)));
                if !cancels {
                    self.make(number);
                    words.store(first + DONE, number);
                }
            }
        }

        /// The rescuer, when the kernels have come to launch `begun`.
        fn rescue(&self, begun: u32) {
            while !is_reached(self.line.started(), begun) {
                std::thread::yield_now();
            }
            let last = self.base.wrapping_add(LAST);
            self.line.cancel(last);
            let rest = loop {
                let started = self.line.started();
                let first = self.line.done().wrapping_add(1);
                if is_reached(first.wrapping_sub(1), last) {
                    return;
                }
                match verdict(first, started, self.line.outcome()) {
                    Verdict::Undecided => std::thread::yield_now(),
                    Verdict::Copying => break first.wrapping_add(1),
                    Verdict::Cancelled => break first,
                }
            };
            for number in self.numbers().filter(|number| is_reached(*number, rest)) {
                self.until_done(number.wrapping_sub(1));
                self.make(number);
                self.line.finish(number);
            }
        }
    }

    /// The same on threads, with numbers that wrap, and the rescuer as late as there are launches.
    #[test]
    fn every_copy_is_made_once_on_threads() {
        let words = Arc::new(Words::new(&crate::soft::driver(), 2 * WORDS).unwrap());
        let start = u32::MAX - 3;
        let line = Line::new(&words, 1);
        [STARTED, CANCEL, DONE].iter().for_each(|word| words.store(line.first + word, start));
        words.store(line.first + OUTCOME, start.wrapping_mul(2));
        for round in 0..if cfg!(miri) { 6 } else { 1000 } {
            let base = start.wrapping_add(round * LAST);
            let (made, strict) = (Default::default(), round % 2 == 0);
            let threads = Threads { line: Line::new(&words, 1), base, strict, made };
            std::thread::scope(|scope| {
                scope.spawn(|| threads.kernels());
                threads.rescue(base.wrapping_add(round % (LAST + 1)));
            });
            assert!(threads.made.iter().all(|made| made.load(Ordering::Relaxed) == 1), "{:?}", threads.made);
            assert_eq!(line.done(), base.wrapping_add(LAST));
        }
    }
}
