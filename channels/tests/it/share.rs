//! The debt of the starvation bound, to a nanosecond.

use hal::Nanos;
use overtake_channels::share::{Share, ShareOptions};

const HALF: ShareOptions = ShareOptions { share: 0.5, slice: Nanos::from_us(1_000) };

fn at(us: u64) -> Nanos {
    Nanos::from_us(us)
}

/// Whether the deadline is `expected`. Shares are rounded, and deadlines are rounded up.
fn is_due(share: &Share, expected: Nanos) -> bool {
    share.deadline().0.abs_diff(expected.0) <= 1
}

/// A slice of 1 ms is worth 0.7 ms to bulk. 0.5 ms of it are its share of that time anyway, so it costs 0.2 ms of
/// debt.
#[test]
fn debt_grows_while_held_and_shrinks_while_not() {
    let mut share = Share::new(HALF, at(100));
    assert!(is_due(&share, at(500)), "a debt of 0.2 ms takes 0.4 ms at a share of one half");
    assert!(!share.step(at(300), true), "0.1 ms of debt");
    assert!(is_due(&share, at(500)));
    assert!(!share.step(at(400), false), "0.05 ms of debt");
    assert!(is_due(&share, at(700)));
    assert!(!share.step(at(900), false), "no debt: time beyond the share gives bulk no credit");
    assert!(is_due(&share, at(1_300)));
    assert!(share.step(at(1_301), true));
}

#[test]
fn an_exemption_lasts_a_slice_and_pays_the_debt_off() {
    let mut share = Share::new(HALF, at(0));
    assert!(share.step(at(400), true), "exactly the price");
    assert_eq!(share.deadline(), at(1_400));
    assert!(share.step(at(1_399), true) && !share.step(at(1_400), true));
    assert!(is_due(&share, at(1_800)), "the debt begins anew");
}

#[test]
fn no_share_is_never_let_through_at_any_slice() {
    for slice in [at(0), at(500)] {
        let mut share = Share::new(ShareOptions { share: 0.0, slice }, at(0));
        assert!((1..50).all(|ms| !share.step(Nanos::from_ms(ms), true)), "{slice}");
        assert_eq!(share.deadline(), Nanos::MAX);
    }
}

/// A share beyond the worth of a slice still leaves urgent copies a hundredth of the time.
#[test]
fn a_share_beyond_the_worth_of_a_slice_has_a_price() {
    let mut share = Share::new(ShareOptions { share: 0.8, slice: at(1_000) }, at(0));
    assert_eq!(share.deadline(), Nanos(12_501), "10 us of debt at four fifths");
    assert!(!share.step(at(12), true) && share.step(at(13), true));
}
