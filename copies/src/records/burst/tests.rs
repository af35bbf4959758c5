use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use priority::Priorities;

use super::*;
use crate::records::Records;
use hal::locks::lock;

const TAKES: Nanos = Nanos::from_us(4);

const DIRECTION: Direction = Direction::HostToDevice;

struct Bed {
    records: Records,
    burst: Mutex<Burst>,
    fence: Fence,
}

impl Bed {
    /// A burst whose first copy had a fence.
    fn new() -> Bed {
        Bed::every(8)
    }

    /// The same, with a fence for every so-many-th copy.
    fn every(fence_every: u32) -> Bed {
        let records = crate::soft::records(&crate::soft::driver(), Priorities::new(2).unwrap());
        let fence = records.fences.take().unwrap();
        let bed = Bed { records, burst: Mutex::new(Burst::new(fence_every)), fence };
        bed.begin(fence);
        bed
    }

    fn begin(&self, fence: Fence) {
        lock(&self.burst).begin(DIRECTION, fence, true);
    }

    fn enter(&self) -> Option<Pass> {
        self.enter_for(TAKES)
    }

    fn enter_for(&self, expected: Nanos) -> Option<Pass> {
        let Records { standing, fences, .. } = &self.records;
        lock(&self.burst).enter(standing, fences, DIRECTION, Priority::new(2).unwrap(), expected, true)
    }

    /// Whether the watcher waits for that.
    fn leave(&self, pass: &Pass, failed: bool, now: Nanos) -> bool {
        lock(&self.burst).leave(pass, failed, now)
    }

    /// The number of copies without fences before one that needs a fence.
    fn passes(&self) -> usize {
        let leave = |pass: &Pass| {
            self.leave(pass, false, Nanos::from_ms(1));
        };
        std::iter::from_fn(|| self.enter()).inspect(leave).count()
    }

    /// A copy that asks for no fence, or one that has its own where none serves.
    fn copy(&self, clock: &AtomicU64) {
        let now = Nanos(clock.fetch_add(TAKES.0, Ordering::SeqCst));
        match self.enter() {
            Some(pass) => {
                let much_later = clock.fetch_add(Nanos::from_ms(1).0, Ordering::SeqCst);
                self.look(Nanos(much_later));
                assert!(self.is_up(), "a caller is inside the driver");
                self.leave(&pass, false, now);
            }
            None => {
                let fence = self.records.fences.take().unwrap();
                self.begin(fence);
                self.records.fences.release(fence);
            }
        }
    }

    fn complete(&self) {
        self.records.fences.complete(self.fence);
    }

    fn is_up(&self) -> bool {
        self.records.standing.bank(DIRECTION).gate_word(Priority::LOWEST) != 0
    }

    /// A look of the watcher. Returns whether it goes on watching.
    fn look(&self, now: Nanos) -> bool {
        let Records { standing, fences, .. } = &self.records;
        lock(&self.burst).note_readiness(standing, fences, now);
        lock(&self.burst).settle(standing, now, |_| {}).is_some()
    }

    fn abandon(&self) {
        lock(&self.burst).abandon(&self.records.standing);
    }
}

#[test]
fn copies_behind_a_fence_hold_until_they_should_be_complete_after_it() {
    let bed = Bed::new();
    let passes = [bed.enter().unwrap(), bed.enter().unwrap()];
    assert!(
        bed.is_up() && bed.records.standing.bank(DIRECTION).pending_at(Priority::new(2).unwrap()) == 1,
        "one raise serves both"
    );
    assert!(!bed.leave(&passes[0], false, Nanos::ZERO), "another caller is inside the driver");
    assert!(bed.leave(&passes[1], false, Nanos::ZERO), "the word was down before them");
    assert!(bed.look(Nanos::from_ms(1)) && bed.is_up(), "the fence is not done");
    bed.complete();
    assert!(bed.look(Nanos::from_ms(2)) && bed.is_up(), "they are running");
    assert!(bed.look(Nanos::from_ms(2) + TAKES + TAKES) && bed.is_up(), "the second may be running yet");
    assert!(!bed.look(Nanos(2_000_000 + 4 * TAKES.0)) && !bed.is_up());
}

/// Each copy after the call of the one before it has returned, as from one thread.
#[test]
fn copies_one_after_another_behind_a_fence_hold_for_the_time_of_all() {
    let (bed, takes) = (Bed::new(), Nanos::from_us(40));
    for _ in 0..4 {
        let pass = bed.enter_for(takes).unwrap();
        bed.leave(&pass, false, Nanos::ZERO);
    }
    bed.complete();
    let done = Nanos::from_ms(1);
    assert!(bed.look(done) && bed.look(done + Nanos(4 * takes.0)) && bed.is_up(), "the last may be running yet");
    assert!(!bed.look(done + Nanos(5 * takes.0)) && !bed.is_up());
}

#[test]
fn time_alone_holds_for_as_long_as_all_of_them_take() {
    let bed = Bed::new();
    bed.complete();
    let now = Nanos::from_ms(1);
    for _ in 0..7 {
        let pass = bed.enter().unwrap();
        assert!(pass.is_timed());
        bed.leave(&pass, false, now);
    }
    assert!(bed.enter().is_none(), "a fence serves eight");
    assert!(bed.look(now + Nanos(7 * TAKES.0)) && bed.is_up());
    assert!(!bed.look(now + Nanos(9 * TAKES.0)) && !bed.is_up());
}

#[test]
fn a_fence_serves_four_times_as_many_in_a_burst() {
    let bed = Bed::new();
    assert_eq!(bed.passes(), 7);
    bed.begin(bed.records.fences.take().unwrap());
    assert_eq!(bed.passes(), 31, "the word has been up since the fence before it");
    bed.abandon();
    bed.begin(bed.records.fences.take().unwrap());
    assert_eq!(bed.passes(), 7, "the word was down");
    assert_eq!(Bed::every(1).passes(), 0, "a fence each was asked for");
}

#[test]
fn a_copy_that_failed_holds_none_off() {
    let bed = Bed::new();
    let pass = bed.enter().unwrap();
    assert!(bed.look(Nanos::from_ms(1)) && bed.is_up(), "its caller is inside the driver");
    assert!(bed.leave(&pass, true, Nanos::ZERO));
    assert!(!bed.look(Nanos::from_ms(1)) && !bed.is_up());
}

/// A driver refuses more bytes than there are; those that come after such a copy do not wait for its time.
#[test]
fn a_copy_that_failed_takes_no_time() {
    let bed = Bed::new();
    let refused = bed.enter_for(Nanos(u64::MAX / 55)).unwrap();
    bed.leave(&refused, true, Nanos::ZERO);
    let pass = bed.enter().unwrap();
    bed.leave(&pass, false, Nanos::ZERO);
    bed.complete();
    assert!(bed.look(Nanos::from_ms(1)) && bed.is_up(), "the second one is running");
    assert!(!bed.look(Nanos::from_ms(2)) && !bed.is_up());
}

#[test]
fn a_word_that_was_opened_is_raised_again_by_the_next_copy() {
    let bed = Bed::new();
    let first = bed.enter().unwrap();
    bed.leave(&first, false, Nanos::ZERO);
    bed.records.standing.open_all();
    assert!(!bed.is_up());
    let next = bed.enter().unwrap();
    assert!(bed.is_up());
    assert!(bed.leave(&next, false, Nanos::ZERO));
    bed.abandon();
    assert!(!bed.is_up());
}

/// A thread that stands down opens the words after it has said so; a thread that raises looks after it has raised.
#[test]
fn nothing_is_raised_any_more_after_standing_down() {
    let bed = Bed::new();
    bed.records.stand_down();
    let pass = bed.enter().unwrap();
    assert!(!bed.is_up(), "no thread would open it any more");
    bed.leave(&pass, false, Nanos::ZERO);
    bed.complete();
    bed.look(Nanos::from_ms(1));
    assert!(!bed.is_up());
}

fn doubted() -> Bed {
    let bed = Bed::new();
    let pass = bed.enter().unwrap();
    bed.leave(&pass, false, Nanos::ZERO);
    lock(&bed.burst).doubt(&bed.records.standing, bed.fence);
    assert!(!bed.is_up(), "before the watcher looks");
    assert!(bed.look(Nanos::from_ms(1)) && !bed.is_up());
    bed
}

#[test]
fn a_doubted_copy_is_raised_for_when_it_runs() {
    let bed = doubted();
    bed.complete();
    assert!(bed.look(Nanos::from_ms(2)) && bed.is_up());
}

#[test]
fn doubt_lowers_until_the_fence_is_done() {
    let bed = doubted();
    let pass = bed.enter().unwrap();
    assert!(!bed.is_up(), "a copy behind a doubted one raises no more than that");
    bed.leave(&pass, false, Nanos::ZERO);
    bed.complete();
    assert!(bed.look(Nanos::from_ms(2)) && bed.is_up(), "now they are running");
    assert!(!bed.look(Nanos(2_000_000 + 4 * TAKES.0)) && !bed.is_up());
}

/// Callers and the watcher on threads of their own: the word is up while a caller is inside the driver, and it is down
/// in the end.
#[test]
fn threads_inside_the_driver_find_the_word_up() {
    let (bed, clock) = (Bed::new(), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let callers = [(); 2].map(|()| {
            scope.spawn(|| {
                for _ in 0..if cfg!(miri) { 12 } else { 1000 } {
                    bed.copy(&clock);
                }
            })
        });
        while callers.iter().any(|caller| !caller.is_finished()) {
            bed.look(Nanos(clock.load(Ordering::SeqCst)));
            std::thread::yield_now();
        }
    });
    bed.complete();
    let end = Nanos(clock.load(Ordering::SeqCst)) + Nanos::from_ms(1);
    bed.look(end);
    assert!(!bed.look(end + Nanos::from_ms(1)) && !bed.is_up());
}

#[test]
fn a_burst_is_handed_over_once() {
    let bed = Bed::new();
    assert!(lock(&bed.burst).enlist() && !lock(&bed.burst).enlist());
    bed.look(Nanos::from_ms(1));
    assert!(lock(&bed.burst).enlist(), "nothing was left of it, so the watcher has forgotten it");
}

#[test]
fn a_doubt_makes_so_many_copies_careful_on_all_threads_together() {
    let bed = Bed::new();
    assert!(!lock(&bed.burst).take_care(), "no copy has been doubted");
    lock(&bed.burst).doubt(&bed.records.standing, bed.fence);
    let careful = std::thread::scope(|scope| {
        let submit = || (0..CAREFUL_COPIES).filter(|_| lock(&bed.burst).take_care()).count();
        let threads = [scope.spawn(submit), scope.spawn(submit)];
        threads.map(|thread| thread.join().unwrap()).iter().sum::<usize>()
    });
    assert_eq!(careful, CAREFUL_COPIES as usize);
    assert!(!lock(&bed.burst).take_care());
}

/// A copy that goes without a fence of its own counts, and one that may not does not count before it has one.
#[test]
fn a_careful_copy_counts_once() {
    let bed = doubted();
    assert!(bed.enter().is_some(), "the fence is not done");
    bed.complete();
    assert!(bed.enter().is_none(), "time alone tells too little of a doubted stream");
    let left = std::iter::from_fn(|| lock(&bed.burst).take_care().then_some(())).count();
    assert_eq!(left, CAREFUL_COPIES as usize - 1);
}
