//! The watchdog at the edges of its patience.

use hal::Nanos;
use overtake_channels::watchdog::{Observation, Patience, Verdict, Watchdog};

fn look(watchdog: &mut Watchdog, at_us: u64, completed: u64) -> Verdict {
    watchdog.step(Observation {
        now: Nanos::from_us(at_us),
        raised: true,
        completed,
        expected: Nanos::ZERO,
        starved: false,
    })
}

/// Two rescues are too many unless a tenth of a second has passed since the first was forgiven.
#[test]
fn ten_rescues_a_second_are_forgiven() {
    let patience = Patience { rescues_max: 2, ..Patience::default() };
    let mut watchdog = Watchdog::new(patience, Nanos::ZERO);
    assert_eq!(look(&mut watchdog, 1_000, 0), Verdict::Fine, "it has gone up just now");
    assert_eq!(look(&mut watchdog, 50_000, 0), Verdict::Rescue);
    assert_eq!(look(&mut watchdog, 100_000, 0), Verdict::Rescue, "the first is forgiven");
    assert_eq!(look(&mut watchdog, 210_000, 0), Verdict::Rescue, "so is the second, 10 ms ago");
    assert_eq!(look(&mut watchdog, 299_900, 0), Verdict::StandDown, "not a tenth of a second since");
    assert_eq!(look(&mut watchdog, 500_000, 0), Verdict::Rescue, "both are forgiven");
    assert_eq!(watchdog.rescues(), 5);
}

#[test]
fn progress_begins_the_wait_anew() {
    let mut watchdog = Watchdog::new(Patience { rescue_after: Nanos::from_ms(10), rescues_max: 9 }, Nanos::ZERO);
    assert_eq!(look(&mut watchdog, 1_000, 0), Verdict::Fine);
    assert_eq!(look(&mut watchdog, 10_000, 1), Verdict::Fine, "something has completed");
    assert_eq!(watchdog.deadline(Nanos::from_ms(3)), Nanos::from_ms(26), "copies may take twice their time");
    assert_eq!(look(&mut watchdog, 19_000, 1), Verdict::Fine);
    assert_eq!(look(&mut watchdog, 20_000, 1), Verdict::Rescue);
    assert_eq!(watchdog.deadline(Nanos::ZERO), Nanos::from_ms(30), "it gives the opened work time to drain");
    assert_eq!((look(&mut watchdog, 29_000, 1), look(&mut watchdog, 30_000, 1)), (Verdict::Fine, Verdict::Rescue));
}
