//! Loom models of threads that reserve and look at the same time.

use loom::sync::Arc;
use loom::thread;

use super::*;

const BULK: u8 = 1;
const BETWEEN: u8 = 3;
const URGENT: u8 = 6;

fn at(priority: u8) -> Priority {
    Priority::new(priority).unwrap()
}

fn open(priority: u8) -> Reservation {
    Reservation { priority: at(priority), wait: Nanos::ZERO }
}

/// Announces a priority for a new stream, and returns what a copy of it meets then.
fn come(traffic: &Traffic, priority: u8) -> Option<Company> {
    let (announced, bit) = (AtomicU64::new(0), 1 << (priority - 1));
    traffic.announce(open(priority), &announced, bit);
    traffic.met(at(priority), bit as u32, Stream(1))
}

/// Else bulk would go whole, and the urgent copy would hold none off.
#[test]
fn of_two_streams_that_come_at_once_one_finds_the_other() {
    loom::model(|| {
        let traffic = Arc::new(Traffic::new(false));
        let bulk = {
            let traffic = Arc::clone(&traffic);
            thread::spawn(move || come(&traffic, BULK))
        };
        let urgent = come(&traffic, URGENT);
        let bulk = bulk.join().unwrap();
        let all = Some((at(BULK), at(URGENT)));
        assert!(bulk == all || urgent == all, "{bulk:?} and {urgent:?}");
        // The word is that of the last change, so a third copy finds both.
        assert_eq!(traffic.met(at(BETWEEN), 0, Stream(2)), all);
    });
}

#[test]
fn two_threads_announce_for_one_stream_once() {
    loom::model(|| {
        let both = Arc::new((Traffic::new(false), AtomicU64::new(0)));
        let other = {
            let both = Arc::clone(&both);
            thread::spawn(move || both.0.announce(open(URGENT), &both.1, 1 << 5))
        };
        both.0.announce(open(URGENT), &both.1, 1 << 5);
        other.join().unwrap();
        both.0.release(open(URGENT));
        assert_eq!(both.0.met(at(BULK), 0, Stream(1)), None);
    });
}

/// Two copies that go whole in their turns, each beside the other, would keep an urgent one waiting for too long.
#[test]
fn of_two_copies_that_begin_at_once_one_finds_the_other() {
    loom::model(|| {
        let traffic = Arc::new(Traffic::new(false));
        let begin = |traffic: &Traffic, stream| traffic.begin(at(BULK), stream, Stay::Whole(Nanos(1))).1.others.streams;
        let other = {
            let traffic = Arc::clone(&traffic);
            thread::spawn(move || begin(&traffic, Stream(2)))
        };
        let found = begin(&traffic, Stream(1)) + other.join().unwrap();
        assert_eq!(found, 1);
    });
}

/// Bulk ends the lull, is submitted and handed over, while the watcher lets the next lull begin. The watcher's next
/// look finds the copy.
#[test]
fn no_lull_lasts_while_bulk_is_in_flight() {
    loom::model(|| {
        let both = Arc::new((Traffic::new(true), Mutex::new(false)));
        let (traffic, handed_over) = (&both.0, &both.1);
        traffic.end_lull();
        let later = |times: u64| Nanos::from_ms(10 * times);
        let mut seen = traffic.keep_lull(BulkSeen::default(), false, later(1));
        let caller = {
            let both = Arc::clone(&both);
            thread::spawn(move || {
                both.0.end_lull();
                both.0.outlast_lull();
                *lock(&both.1) = true;
            })
        };
        for time in 2..4 {
            let has_bulk = *lock(handed_over);
            seen = traffic.keep_lull(seen, has_bulk, later(time));
        }
        caller.join().unwrap();
        traffic.keep_lull(seen, true, later(4));
        assert!(!traffic.is_lull());
    });
}

/// An owner that becomes patient, and impatient again, is there all the time.
#[test]
fn a_reservation_that_changes_its_wait_never_seems_to_end() {
    loom::model(|| {
        let (traffic, wait) = (Arc::new(Traffic::new(false)), Nanos::from_us(150));
        let [hasty, patient] = [Nanos::ZERO, wait].map(|wait| Reservation { wait, ..open(URGENT) });
        traffic.reserve(hasty);
        let owner = {
            let traffic = Arc::clone(&traffic);
            thread::spawn(move || {
                traffic.state(hasty, patient);
                traffic.state(patient, hasty);
            })
        };
        assert!(traffic.met(at(BULK), 0, Stream(1)).is_some());
        let stated = traffic.room(at(BULK), Stream(1)).stated;
        assert!(stated == Nanos::ZERO || stated == wait);
        owner.join().unwrap();
        assert_eq!(traffic.room(at(BULK), Stream(1)), Room::default());
    });
}
