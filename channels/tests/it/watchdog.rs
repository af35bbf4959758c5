//! The watchdog at the edges of its patience.

use hal::Nanos;
use overtake_channels::breaker::Breaker;
use overtake_channels::watchdog::{Observation, RESCUES, Watchdog};

fn look(watchdog: &mut Watchdog, at_us: u64, completed: u64) -> bool {
    watchdog.step(Observation { now: Nanos::from_us(at_us), raised: true, completed, expected: Nanos::ZERO })
}

#[test]
fn progress_begins_the_wait_anew() {
    let mut watchdog = Watchdog::new(Nanos::from_ms(10), Nanos::ZERO);
    assert!(!look(&mut watchdog, 1_000, 0));
    assert!(!look(&mut watchdog, 10_000, 1), "something has completed");
    assert_eq!(watchdog.deadline(Nanos::from_ms(3)), Nanos::from_ms(26), "copies may take twice their time");
    assert!(!look(&mut watchdog, 19_000, 1) && look(&mut watchdog, 20_000, 1));
    assert_eq!(watchdog.deadline(Nanos::ZERO), Nanos::from_ms(30), "it gives the opened work time to drain");
    assert!(!look(&mut watchdog, 29_000, 1) && look(&mut watchdog, 30_000, 1));
}

/// Ten rescues a second go on for ever. Of those of a device that stands still, 333 a second and later, few are borne.
#[test]
fn ten_rescues_a_second_are_forgiven() {
    let rescues = |every_ms: u64| {
        let mut breaker = Breaker::<1>::new(RESCUES, Nanos::ZERO);
        (1..=10_000).find(|n| breaker.fail(0, Nanos::from_ms(every_ms * n)).is_some())
    };
    assert_eq!([rescues(100), rescues(3), rescues(50)], [None, Some(103), Some(199)]);
}
