//! Runs: urgent copies of one stream that follow each other closely.
//!
//! Every completion write costs the device 1.4 us, a third of what a 64 KiB copy costs, and the host several driver
//! calls. So only every eighth copy of a stream gets one (`ticket_every`), and in a burst, which keeps the word up from
//! one ticket to the next, one in four of those. Copies that follow while it is outstanding are known to be complete a
//! moment after it, by the time that copies take; copies that follow when it has been seen on time are taken to be
//! complete after the time that they take, unless bulk goes in chunks. That is an estimate, which is good enough: a
//! word expresses preference, never correctness, and handles of such copies ask the stream.
//!
//! They share one *hold* ([`crate::hold`]): it is raised once, lengthened by every copy, and lowered by the monitor.
//! Such a copy costs its caller this lock twice, and no call, allocation or clock beyond its own.

use std::sync::{Arc, Mutex};

use channels::Direction;
use hal::Nanos;
use semaphores::{Bank, Priority};

use crate::hold::{Behind, Hold, Outlook};
use crate::lock::lock;
use crate::monitor::{Shared, Ticket};

/// A ticket of a burst serves so many times as many copies as one that comes out of the blue.
const BURST: u32 = 4;

/// The run of one stream.
pub(crate) struct Run {
    state: Mutex<State>,
}

struct State {
    last: Option<Tail>,
    /// H2D and D2H.
    holds: [Hold; 2],
    /// Whether the monitor has it on its list.
    watched: bool,
}

#[derive(Clone, Copy, Debug)]
struct Tail {
    ticket: Ticket,
    ready: bool,
    covered: u32,
    tail: Nanos,
    /// Whether the word has been up since the ticket before it.
    burst: bool,
}

impl Tail {
    /// How many copies its ticket serves, its own included.
    fn serves(&self, ticket_every: u32) -> u32 {
        match ticket_every {
            2.. if self.burst => ticket_every.saturating_mul(BURST),
            _ => ticket_every,
        }
    }
}

/// A copy that would like to go without a ticket of its own.
pub(crate) struct Ask<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) direction: Direction,
    pub(crate) priority: Priority,
    /// How long it takes on an idle engine.
    pub(crate) expected: Nanos,
    /// How many copies a ticket serves that no other copy comes just before.
    pub(crate) ticket_every: u32,
    /// Whether time alone may tell when it is complete.
    pub(crate) timely: bool,
}

/// A copy that goes without a ticket of its own; give it back when its call has returned.
#[derive(Debug)]
#[must_use]
pub(crate) struct Ride {
    hold: usize,
    raised: bool,
    /// What it is complete after; `None` where time alone tells.
    behind: Option<Behind>,
    expected: Nanos,
}

impl Ride {
    /// Whether time alone tells when it is complete: then it matters when its call has returned.
    pub(crate) fn is_timed(&self) -> bool {
        self.behind.is_none()
    }

    fn is_behind(&self, ticket: Ticket) -> bool {
        self.behind.is_some_and(|behind| behind.ticket == ticket)
    }
}

/// Who has to be told when a copy has been submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tell {
    /// Nobody: the monitor knows.
    Nobody,
    /// The monitor, because it waits for this.
    Monitor,
    /// The monitor, which has not heard of this run.
    Newly,
}

impl Run {
    /// The run of a stream whose copies hold up the words of these engines.
    pub(crate) fn new(to_device: &Arc<Bank>, to_host: &Arc<Bank>) -> Run {
        let holds = [Hold::new(to_device), Hold::new(to_host)];
        Run { state: Mutex::new(State { last: None, holds, watched: false }) }
    }

    /// A copy with a ticket of its own begins or continues a run. Returns how long the copies take that stand between
    /// it and the ticket before it.
    pub(crate) fn begin(&self, ticket: Ticket, ready: bool) -> Nanos {
        let mut state = lock(&self.state);
        let burst = state.holds.iter().any(Hold::is_up);
        let before = state.last.replace(Tail { ticket, ready, covered: 0, tail: Nanos::ZERO, burst });
        before.map_or(Nanos::ZERO, |before| before.tail)
    }

    /// What comes next in the stream is no part of the run: it may have to wait for something else.
    pub(crate) fn end(&self) {
        lock(&self.state).last = None;
    }

    /// Lets a copy go without a ticket if the last one still serves, and holds off what is below it from now on. The
    /// word is up when this returns, if it is to be up at all.
    pub(crate) fn enter(&self, ask: &Ask<'_>) -> Option<Ride> {
        let mut state = lock(&self.state);
        let State { last, holds, .. } = &mut *state;
        let last = last.as_mut()?;
        if last.covered + 1 >= last.serves(ask.ticket_every) {
            return None;
        }
        let seen = ask.shared.ring.is_done(last.ticket);
        let index = usize::from(ask.direction == Direction::DeviceToHost);
        let hold = &mut holds[index];
        if (seen && !(last.ready && ask.timely)) || !hold.takes(ask.priority) {
            return None;
        }
        last.covered += 1;
        if !seen {
            last.tail += ask.expected;
        }
        if last.ready {
            hold.enter(ask.shared);
        }
        let behind = (!seen).then_some(Behind { ticket: last.ticket, tail: last.tail, ready: last.ready });
        Some(Ride { hold: index, raised: last.ready, behind, expected: ask.expected })
    }

    /// The call of the copy has returned: at `now`, if time alone tells when the copy is complete; `failed` where there
    /// is no copy. Says who has to be told.
    pub(crate) fn leave(&self, ride: &Ride, failed: bool, now: Nanos) -> Tell {
        let mut state = lock(&self.state);
        if failed && let Some(last) = state.last.as_mut().filter(|last| ride.is_behind(last.ticket)) {
            // What never was does not stand between the ticket and those that come after it.
            last.tail = last.tail - ride.expected;
        }
        let hold = &mut state.holds[ride.hold];
        match ride.behind {
            _ if failed => {}
            Some(behind) => hold.follow(behind),
            None => hold.lengthen(now, ride.expected),
        }
        let awaited = ride.raised && hold.leave();
        match (std::mem::replace(&mut state.watched, true), awaited) {
            (false, _) => Tell::Newly,
            (true, true) => Tell::Monitor,
            (true, false) => Tell::Nobody,
        }
    }

    /// Raises what has become schedulable, and reckons from now on by time what followed a ticket that is done.
    pub(crate) fn note_readiness(&self, shared: &Shared, now: Nanos) {
        lock(&self.state).holds.iter_mut().for_each(|hold| hold.note_readiness(shared, now));
    }

    /// Lowers what is complete by now. What is left to be seen, or `None` where nothing is and the monitor may forget
    /// about it; `lowered` hears of the engines whose words it no longer holds up.
    pub(crate) fn settle(&self, now: Nanos, mut lowered: impl FnMut(usize)) -> Option<[Outlook; 2]> {
        let mut state = lock(&self.state);
        let mut outlooks = [Outlook::NOTHING; 2];
        for (index, hold) in state.holds.iter_mut().enumerate() {
            if hold.settle(now) {
                lowered(index);
            }
            outlooks[index] = hold.outlook(now);
        }
        state.watched = outlooks.iter().any(|outlook| outlook.busy);
        state.watched.then_some(outlooks)
    }

    /// The copy of that ticket did not complete in its time, so those behind it hold nobody back either.
    pub(crate) fn doubt(&self, ticket: Ticket) {
        let mut state = lock(&self.state);
        state.last.iter_mut().filter(|last| last.ticket == ticket).for_each(|last| last.ready = false);
        state.holds.iter_mut().for_each(|hold| hold.doubt(ticket));
    }

    /// Nobody watches it any more, so it holds nobody back.
    pub(crate) fn abandon(&self) {
        let mut state = lock(&self.state);
        state.watched = false;
        state.holds.iter_mut().for_each(Hold::let_through);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use semaphores::Priorities;

    use super::*;
    use crate::monitor::Ring;
    use crate::statistics::Counters;

    const TAKES: Nanos = Nanos::from_us(4);

    struct Bed {
        shared: Shared,
        banks: [Arc<Bank>; 2],
        run: Run,
        ticket: Ticket,
    }

    impl Bed {
        /// A run whose first copy had a ticket.
        fn new() -> Bed {
            let driver = crate::soft::driver();
            let priorities = Priorities::new(2).unwrap();
            let banks = [(); 2].map(|()| Arc::new(Bank::new(&driver, priorities).unwrap()));
            let ring = Ring::new(&driver).unwrap();
            let ticket = ring.take().unwrap();
            let shared = Shared::new(ring, Counters::new(priorities), crate::trace::Trace::default(), banks.to_vec());
            let run = Run::new(&banks[0], &banks[1]);
            run.begin(ticket, true);
            Bed { shared, banks, run, ticket }
        }

        fn enter(&self) -> Option<Ride> {
            self.enter_every(8)
        }

        fn enter_every(&self, ticket_every: u32) -> Option<Ride> {
            self.enter_for(TAKES, ticket_every)
        }

        fn enter_for(&self, expected: Nanos, ticket_every: u32) -> Option<Ride> {
            self.run.enter(&Ask {
                shared: &self.shared,
                direction: Direction::HostToDevice,
                priority: Priority::new(2).unwrap(),
                expected,
                ticket_every,
                timely: true,
            })
        }

        /// How many copies go without tickets until one needs one.
        fn rides(&self, ticket_every: u32) -> usize {
            let leave = |ride: &Ride| {
                let _ = self.run.leave(ride, false, Nanos::from_ms(1));
            };
            std::iter::from_fn(|| self.enter_every(ticket_every)).inspect(leave).count()
        }

        /// A copy that asks for no ticket, or one that has its own where none serves.
        fn ride(&self, clock: &AtomicU64) {
            let now = Nanos(clock.fetch_add(TAKES.0, Ordering::SeqCst));
            match self.enter() {
                Some(ride) => {
                    let much_later = clock.fetch_add(Nanos::from_ms(1).0, Ordering::SeqCst);
                    self.look(Nanos(much_later));
                    assert!(self.is_up(), "a caller is inside the driver");
                    let _ = self.run.leave(&ride, false, now);
                }
                None => {
                    let ticket = self.shared.ring.take().unwrap();
                    self.run.begin(ticket, true);
                    self.shared.ring.release(ticket);
                }
            }
        }

        fn is_up(&self) -> bool {
            self.banks[0].gate_word(Priority::LOWEST) != 0
        }

        /// What the monitor does in a look. Says whether it goes on watching.
        fn look(&self, now: Nanos) -> bool {
            self.run.note_readiness(&self.shared, now);
            self.run.settle(now, |_| {}).is_some()
        }
    }

    #[test]
    fn copies_behind_a_ticket_hold_until_they_should_be_complete_after_it() {
        let bed = Bed::new();
        let rides = [bed.enter().unwrap(), bed.enter().unwrap()];
        assert!(bed.is_up() && bed.banks[0].pending_at(Priority::new(2).unwrap()) == 1, "one raise serves both");
        assert_eq!(bed.run.leave(&rides[0], false, Nanos::ZERO), Tell::Newly);
        assert_eq!(bed.run.leave(&rides[1], false, Nanos::ZERO), Tell::Monitor, "the word was down before them");
        assert!(bed.look(Nanos::from_ms(1)) && bed.is_up(), "the ticket is not done");
        bed.shared.ring.complete(bed.ticket);
        assert!(bed.look(Nanos::from_ms(2)) && bed.is_up(), "they are running");
        assert!(bed.look(Nanos::from_ms(2) + TAKES + TAKES) && bed.is_up(), "the second may be running yet");
        assert!(!bed.look(Nanos(2_000_000 + 4 * TAKES.0)) && !bed.is_up());
    }

    #[test]
    fn time_alone_holds_for_as_long_as_all_of_them_take() {
        let bed = Bed::new();
        bed.shared.ring.complete(bed.ticket);
        let now = Nanos::from_ms(1);
        for _ in 0..7 {
            let ride = bed.enter().unwrap();
            assert!(ride.is_timed());
            let _ = bed.run.leave(&ride, false, now);
        }
        assert!(bed.enter().is_none(), "a ticket serves eight");
        assert!(bed.look(now + Nanos(7 * TAKES.0)) && bed.is_up());
        assert!(!bed.look(now + Nanos(9 * TAKES.0)) && !bed.is_up());
    }

    #[test]
    fn a_ticket_serves_four_times_as_many_in_a_burst() {
        let bed = Bed::new();
        assert_eq!(bed.rides(8), 7);
        bed.run.begin(bed.shared.ring.take().unwrap(), true);
        assert_eq!(bed.rides(8), 31, "the word has been up since the ticket before it");
        bed.run.abandon();
        bed.run.begin(bed.shared.ring.take().unwrap(), true);
        assert_eq!(bed.rides(8), 7, "the word was down");
        bed.run.begin(bed.shared.ring.take().unwrap(), true);
        assert_eq!(bed.rides(1), 0, "a ticket each was asked for");
    }

    #[test]
    fn a_copy_that_failed_holds_nobody() {
        let bed = Bed::new();
        let ride = bed.enter().unwrap();
        assert!(bed.look(Nanos::from_ms(1)) && bed.is_up(), "its caller is inside the driver");
        assert_eq!(bed.run.leave(&ride, true, Nanos::ZERO), Tell::Monitor);
        assert!(!bed.look(Nanos::from_ms(1)) && !bed.is_up());
    }

    /// A driver refuses more bytes than there are; those that come after such a copy do not wait for its time.
    #[test]
    fn a_copy_that_failed_takes_no_time() {
        let bed = Bed::new();
        let refused = bed.enter_for(Nanos(u64::MAX / 55), 8).unwrap();
        let _ = bed.run.leave(&refused, true, Nanos::ZERO);
        let ride = bed.enter().unwrap();
        let _ = bed.run.leave(&ride, false, Nanos::ZERO);
        bed.shared.ring.complete(bed.ticket);
        assert!(bed.look(Nanos::from_ms(1)) && bed.is_up(), "the second one is running");
        assert!(!bed.look(Nanos::from_ms(2)) && !bed.is_up());
    }

    #[test]
    fn what_was_opened_is_raised_again_by_the_next() {
        let bed = Bed::new();
        let first = bed.enter().unwrap();
        let _ = bed.run.leave(&first, false, Nanos::ZERO);
        bed.banks[0].open_all();
        assert!(!bed.is_up());
        let next = bed.enter().unwrap();
        assert!(bed.is_up());
        assert_eq!(bed.run.leave(&next, false, Nanos::ZERO), Tell::Monitor);
        bed.run.abandon();
        assert!(!bed.is_up());
    }

    /// Whoever stands down opens the words after he has said so; whoever raises looks after he has raised.
    #[test]
    fn nothing_is_raised_any_more_after_standing_down() {
        let bed = Bed::new();
        bed.shared.stand_down();
        let ride = bed.enter().unwrap();
        assert!(!bed.is_up(), "nobody would open it any more");
        let _ = bed.run.leave(&ride, false, Nanos::ZERO);
        bed.shared.ring.complete(bed.ticket);
        bed.look(Nanos::from_ms(1));
        assert!(!bed.is_up());
    }

    fn doubted() -> Bed {
        let bed = Bed::new();
        let ride = bed.enter().unwrap();
        let _ = bed.run.leave(&ride, false, Nanos::ZERO);
        bed.run.doubt(bed.ticket);
        assert!(bed.look(Nanos::from_ms(1)) && !bed.is_up());
        bed
    }

    #[test]
    fn what_was_doubted_is_raised_when_it_runs() {
        let bed = doubted();
        bed.shared.ring.complete(bed.ticket);
        assert!(bed.look(Nanos::from_ms(2)) && bed.is_up());
    }

    #[test]
    fn doubt_lowers_until_the_ticket_is_done() {
        let bed = doubted();
        let ride = bed.enter().unwrap();
        assert!(!bed.is_up(), "what follows a doubted copy raises no more than it");
        let _ = bed.run.leave(&ride, false, Nanos::ZERO);
        bed.shared.ring.complete(bed.ticket);
        assert!(bed.look(Nanos::from_ms(2)) && bed.is_up(), "now they are running");
        assert!(!bed.look(Nanos(2_000_000 + 4 * TAKES.0)) && !bed.is_up());
    }

    /// Callers and the monitor on threads of their own: the word is up for whoever is inside the driver, and it is down
    /// in the end.
    #[test]
    fn whoever_is_inside_finds_the_word_up() {
        let (bed, clock) = (Bed::new(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            let riders = [(); 2].map(|()| {
                scope.spawn(|| {
                    for _ in 0..if cfg!(miri) { 12 } else { 1000 } {
                        bed.ride(&clock);
                    }
                })
            });
            while riders.iter().any(|rider| !rider.is_finished()) {
                bed.look(Nanos(clock.load(Ordering::SeqCst)));
                std::thread::yield_now();
            }
        });
        bed.shared.ring.complete(bed.ticket);
        let end = Nanos(clock.load(Ordering::SeqCst)) + Nanos::from_ms(1);
        bed.look(end);
        assert!(!bed.look(end + Nanos::from_ms(1)) && !bed.is_up());
    }
}
