//! Model checks of threads that reserve and look at the same time.

use loom::sync::Arc;
use loom::thread;

use super::*;

const BULK: u8 = 1;
const URGENT: u8 = 6;

fn at(priority: u8) -> Priority {
    Priority::new(priority).unwrap()
}

/// Announces a priority for a new stream, and returns the bounds that a copy of it finds then.
fn come(traffic: &Traffic, priority: u8) -> (Priority, Priority) {
    let (announced, bit) = (AtomicU64::new(0), 1 << (priority - 1));
    traffic.announce(at(priority), &announced, bit);
    traffic.bounds_with(at(priority), bit as u32)
}

/// Else bulk would go whole, and the urgent copy would hold none off.
#[test]
fn of_two_streams_that_come_at_once_one_finds_the_other() {
    loom::model(|| {
        let traffic = Arc::new(Traffic::default());
        let bulk = {
            let traffic = Arc::clone(&traffic);
            thread::spawn(move || come(&traffic, BULK))
        };
        let urgent = come(&traffic, URGENT);
        let bulk = bulk.join().unwrap();
        let all = (at(BULK), at(URGENT));
        assert!(bulk == all || urgent == all, "{bulk:?} and {urgent:?}");
    });
}

#[test]
fn two_threads_announce_for_one_stream_once() {
    loom::model(|| {
        let both = Arc::new((Traffic::default(), AtomicU64::new(0)));
        let other = {
            let both = Arc::clone(&both);
            thread::spawn(move || both.0.announce(at(URGENT), &both.1, 1 << 5))
        };
        both.0.announce(at(URGENT), &both.1, 1 << 5);
        other.join().unwrap();
        both.0.release(at(URGENT), Nanos::ZERO);
        assert!(both.0.has_only(at(BULK), 0));
    });
}

/// An owner that becomes patient, and impatient again, is there all the time.
#[test]
fn a_reservation_that_changes_its_wait_never_seems_to_end() {
    loom::model(|| {
        let (traffic, wait) = (Arc::new(Traffic::default()), Nanos::from_us(150));
        traffic.reserve(at(URGENT), Nanos::ZERO);
        let owner = {
            let traffic = Arc::clone(&traffic);
            thread::spawn(move || {
                traffic.tolerate(at(URGENT), [Nanos::ZERO, wait]);
                traffic.tolerate(at(URGENT), [wait, Nanos::ZERO]);
            })
        };
        assert!(!traffic.has_only(at(BULK), 0));
        let tolerated = traffic.tolerated_above(at(BULK));
        assert!(tolerated.is_none_or(|tolerated| tolerated.wait == wait));
        owner.join().unwrap();
        assert_eq!(traffic.tolerated_above(at(BULK)), None);
    });
}
