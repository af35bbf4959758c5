//! The words of one carrier (`copies/src/guard`) and their protocol. The kernel implements its side in `copy.cu`.

use std::sync::Arc;

use hal::{DevicePtr, MemOp};
use semaphores::Words;

/// Host words of a carrier.
const STARTED: u64 = 0;
const CANCEL: u64 = 1;
const OUTCOME: u64 = 2;
const DONE: u64 = 3;
/// The number of words of a carrier.
pub(crate) const WORDS: u64 = 4;

/// The maker of a copy, with its progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Maker {
    /// Its kernel makes the copy when it gets to it.
    Kernel,
    /// The copy has been cancelled. Its kernel may have begun to copy before, and will then write so.
    Asked,
    /// The rescuer makes the copy, because its kernel never will. It has submitted nothing yet.
    Rescuer,
    /// The rescuer has submitted the wait for the stream's earlier work.
    Joined,
    /// … and the copy.
    Copied,
    /// … and the word that releases the stream.
    Written,
}

/// Whether `a` is `b` or a later number; numbers wrap.
pub(crate) fn is_reached(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 >= 0
}

/// The maker of launch `number`, the first that is not done, after its cancellation. `started` was loaded after the
/// cancellation was stored, then `done`, then `outcome`.
///
/// If the launch has not started by then, it loads the cancellation after its start, so it does not copy. If a later
/// launch has started, this one has ended without copying, or it would be done.
/// have come after has ended, and not by copying, or it would be done.
pub(crate) fn verdict(number: u32, started: u32, outcome: u32) -> Maker {
    if started != number {
        return Maker::Rescuer;
    }
    match outcome.wrapping_sub(number.wrapping_mul(2)) {
        0 => Maker::Kernel,
        1 => Maker::Rescuer,
        _ => Maker::Asked,
    }
}

/// The words of a launch, as the kernel gets them: `Guard` in `guard.cuh`. Launches that share these words follow each
/// other in one stream.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handshake {
    /// Written by the kernel: the launch that has begun.
    started: DevicePtr,
    /// Written by the host: launches up to this one that have not decided do not copy.
    cancel: DevicePtr,
    /// Written by the kernel: twice the launch, plus 1 if it does not copy.
    outcome: DevicePtr,
    /// Written by the kernel: the launch whose copy is complete.
    done: DevicePtr,
    /// Four words of device memory, 0 before the first launch.
    state: DevicePtr,
    /// The number of the launch.
    number: u32,
    reserved: u32,
}

pub(crate) struct Line {
    words: Arc<Words>,
    first: u64,
}

impl Line {
    /// The words of the `index`th carrier.
    pub(crate) fn new(words: &Arc<Words>, index: u64) -> Line {
        Line { words: Arc::clone(words), first: index * WORDS }
    }

    /// The words for the kernel of launch `number`.
    pub(crate) fn handshake(&self, number: u32) -> Handshake {
        let host = |word| self.words.host_address(self.first + word);
        Handshake {
            started: host(STARTED),
            cancel: host(CANCEL),
            outcome: host(OUTCOME),
            done: host(DONE),
            state: self.words.device_address(self.first),
            number,
            reserved: 0,
        }
    }

    pub(crate) fn started(&self) -> u32 {
        self.words.load(self.first + STARTED)
    }

    pub(crate) fn outcome(&self) -> u32 {
        self.words.load(self.first + OUTCOME)
    }

    pub(crate) fn done(&self) -> u32 {
        self.words.load(self.first + DONE)
    }

    /// Makes `number` the last launch, as if so many launches had ended and none had ever been cancelled.
    pub(crate) fn skip_to(&self, number: u32) {
        self.words.store(self.first + STARTED, number);
        self.words.store(self.first + OUTCOME, number.wrapping_mul(2));
        self.words.store(self.first + DONE, number);
    }

    /// Brings the cancellation up to `done`: the launches up to it have decided, and later ones have not been
    /// cancelled. Called before each launch, because numbers are compared cyclically: a cancellation that stayed at the
    /// last take-over would be ahead of launches half the circle later.
    pub(crate) fn pass(&self, done: u32) {
        self.words.store(self.first + CANCEL, done);
    }

    /// Cancels all launches up to `number` that have not decided yet. Later loads see the words as they are after this.
    pub(crate) fn cancel(&self, number: u32) {
        self.words.store(self.first + CANCEL, number);
        // The store must be visible before `started` is loaded. The kernel has the same two steps the other way round.
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    }

    /// Writes in the kernel's place that a copy is done.
    pub(crate) fn finish(&self, number: u32) {
        self.words.store(self.first + DONE, number);
    }

    /// The operation that waits until launch `number` is done.
    pub(crate) fn wait_done(&self, number: u32) -> MemOp {
        MemOp::wait32(self.words.host_address(self.first + DONE), number, hal::WaitCondition::Geq)
    }

    /// The operation that writes that launch `number` is done.
    pub(crate) fn write_done(&self, number: u32) -> MemOp {
        MemOp::write32(self.words.host_address(self.first + DONE), number)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// The words, and the progress of both sides. The steps are single accesses in one total order, as fences of the
    /// system's scope and the bus guarantee.
    #[derive(Clone, Default)]
    struct World {
        /// The number of earlier launches.
        base: u32,
        started: u32,
        cancel: u32,
        outcome: u32,
        done: u32,
        launched: u32,
        takes_over: bool,
        kernel_at: usize,
        kernel_cancels: bool,
        host_at: usize,
        host_saw: u32,
        copied: Vec<(u32, &'static str)>,
    }

    const LAST: u32 = 2;

    impl World {
        /// The state after `base` launches, of which the first was the last to be cancelled.
        fn after(base: u32, takes_over: bool) -> World {
            let (started, done, outcome) = (base, base, base.wrapping_mul(2));
            World { base, started, done, outcome, takes_over, ..World::default() }
        }

        /// The number of the launch that is the `step`th from the base.
        fn number(&self, step: u32) -> u32 {
            self.base.wrapping_add(step)
        }

        /// Two launches, each in steps: start, read, write, copy. The second follows the first in its stream, and its
        /// own stream's event, for which the first must be done.
        fn kernel(&mut self, strict: bool) -> bool {
            let step = (self.kernel_at / 4) as u32 + 1;
            let waits = step == 2 && self.kernel_at == 4 && strict && self.done == self.base;
            if step > self.launched || waits {
                return false;
            }
            let number = self.number(step);
            match self.kernel_at % 4 {
                0 => self.started = number,
                1 => self.kernel_cancels = is_reached(self.cancel, number),
                2 => self.outcome = number.wrapping_mul(2).wrapping_add(u32::from(self.kernel_cancels)),
                _ if !self.kernel_cancels => {
                    self.copied.push((step, "kernel"));
                    self.done = number;
                }
                _ => {}
            }
            self.kernel_at += 1;
            true
        }

        /// The submitting thread launches. The rescuer cancels, reads started, then done, decides, copies.
        fn host(&mut self) -> bool {
            match self.host_at {
                0 | 2 => self.cancel = self.done,
                1 | 3 => self.launched += 1,
                4 if !self.takes_over => return false,
                4 => self.cancel = self.number(LAST),
                5 => self.host_saw = self.started,
                6 => return self.decide(),
                _ => return false,
            }
            self.host_at += 1;
            true
        }

        fn decide(&mut self) -> bool {
            let first = self.done.wrapping_sub(self.base) + 1;
            let judged = |started| verdict(self.number(first), started, self.outcome);
            let rest = match judged(self.host_saw) {
                _ if first > LAST => first,
                Maker::Asked => {
                    let changes = judged(self.started) != Maker::Asked;
                    self.host_at = 5;
                    return changes;
                }
                Maker::Kernel => first + 1,
                made => {
                    assert_eq!(made, Maker::Rescuer);
                    first
                }
            };
            self.copied.extend((rest..=LAST).map(|step| (step, "host")));
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

    /// The numbers of earlier launches: none, and those after which comparisons turn round.
    const BASES: [u32; 5] = [0, EDGES[0] - 1, EDGES[0], EDGES[1] - 1, EDGES[1]];

    /// The last numbers before half the circle, and before all of it.
    const EDGES: [u32; 2] = [i32::MAX as u32, u32::MAX];

    fn ends(base: u32, strict: bool, takes_over: bool) -> Vec<World> {
        let mut ends = Vec::new();
        World::after(base, takes_over).explore(strict, &mut ends);
        assert!(ends.len() > 10, "{} interleavings", ends.len());
        for end in &ends {
            let mut made: Vec<u32> = end.copied.iter().map(|(step, _)| *step).collect();
            made.sort_unstable();
            assert_eq!(made, [1, 2], "after {base} launches: {:?}", end.copied);
        }
        ends
    }

    /// In every interleaving each copy is made exactly once: whether or not the stream lets the second launch begin
    /// before the first is done, and after any number of earlier launches.
    #[test]
    fn every_copy_is_made_once() {
        for base in BASES.into_iter().take(if cfg!(miri) { 2 } else { BASES.len() }) {
            for strict in [true, false] {
                let ends = ends(base, strict, true);
                let by_both = |maker| ends.iter().any(|end| end.copied.contains(&(1, maker)));
                assert!(by_both("kernel") && by_both("host"));
            }
        }
    }

    /// Without a take-over, no launch takes itself for cancelled.
    #[test]
    fn nothing_is_cancelled_without_a_cancellation() {
        for (base, strict) in BASES.into_iter().flat_map(|base| [(base, true), (base, false)]) {
            let by_host = |end: &World| end.copied.iter().any(|(_, maker)| *maker == "host");
            assert!(!ends(base, strict, false).iter().any(by_host));
        }
    }

    #[test]
    fn numbers_wrap() {
        assert!(is_reached(1, u32::MAX) && !is_reached(u32::MAX, 1));
        let number = 0x8000_0001;
        assert_eq!(verdict(number, number, 2), Maker::Kernel);
        assert_eq!(verdict(number, number, 3), Maker::Rescuer);
        assert_eq!(verdict(number, number, 1), Maker::Asked);
        assert_eq!(verdict(number, number - 1, 2), Maker::Rescuer);
    }

    /// The kernel finds each word where the host looks for it, and no carrier uses the words of another.
    #[test]
    fn both_sides_mean_the_same_words() {
        let words = Arc::new(Words::new(&crate::soft::driver(), 3 * WORDS).unwrap());
        let line = Line::new(&words, 1);
        let Handshake { started, cancel, outcome, done, state, number, .. } = line.handshake(9);
        let host = |index| words.host_address(WORDS + index);
        assert_eq!([started, cancel, outcome, done], [host(0), host(1), host(2), host(3)]);
        assert_eq!((state, number), (words.device_address(WORDS), 9));
        [11, 12, 13, 14].into_iter().zip(WORDS..).for_each(|(value, index)| words.store(index, value));
        assert_eq!((line.started(), line.outcome(), line.done()), (11, 13, 14));
        let seen = || [0, 1, 2, 3].map(|index| words.load(WORDS + index));
        line.pass(21);
        assert_eq!(seen(), [11, 21, 13, 14]);
        line.cancel(22);
        line.finish(23);
        assert_eq!(seen(), [11, 22, 13, 23]);
        line.skip_to(u32::MAX);
        assert_eq!(seen(), [u32::MAX, 22, u32::MAX - 1, u32::MAX]);
        assert_eq!(line.wait_done(5), MemOp::wait32(host(3), 5, hal::WaitCondition::Geq));
        assert_eq!(line.write_done(5), MemOp::write32(host(3), 5));
        assert!((0..WORDS).chain(2 * WORDS..3 * WORDS).all(|index| words.load(index) == 0));
    }

    /// A carrier's words, and a thread in the place of the kernels.
    struct Threads {
        line: Line,
        /// The number of launches before this round.
        base: u32,
        /// Whether the stream lets a launch begin only when the one before it is done.
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

        /// The steps of `copy.cu`, with its accesses of the system's scope.
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

        /// The rescuer, when the kernels have reached launch `begun`.
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
                    Maker::Asked => std::thread::yield_now(),
                    Maker::Kernel => break first.wrapping_add(1),
                    made => {
                        assert_eq!(made, Maker::Rescuer);
                        break first;
                    }
                }
            };
            for number in self.numbers().filter(|number| is_reached(*number, rest)) {
                self.until_done(number.wrapping_sub(1));
                self.make(number);
                self.line.finish(number);
            }
        }
    }

    /// The same on threads, with numbers that wrap, and the rescuer at any launch.
    #[test]
    fn every_copy_is_made_once_on_threads() {
        EDGES.into_iter().for_each(across);
    }

    fn across(edge: u32) {
        let words = Arc::new(Words::new(&crate::soft::driver(), 2 * WORDS).unwrap());
        let start = edge - 3;
        let line = Line::new(&words, 1);
        line.skip_to(start);
        for round in 0..if cfg!(miri) { 6 } else { 500 } {
            let base = start.wrapping_add(round * LAST);
            line.pass(base);
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
