//! Model checks of the counts: every interleaving of raises, lowers, boosts and an opening.
//!
//! All that a model compares is done by threads that it has spawned, and the first one only joins them: where the first
//! took a part, no order that loom tries showed it some of the stores of the others.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p overtake-semaphores --profile loom --test loom`.
#![cfg(loom)]

use std::sync::atomic::AtomicBool as Seen;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use overtake_semaphores::{Counts, Publish};
use priority::{Priorities, Priority};

/// The word of the lowest priority, as the device would read it.
struct Word(AtomicU32);

impl Publish for Word {
    fn publish(&self, level: Priority, word: u32) {
        if level == Priority::LOWEST {
            self.0.store(word, Ordering::SeqCst);
        }
    }
}

fn counts() -> Arc<Counts<Word>> {
    Arc::new(Counts::new(Priorities::new(2).unwrap(), Word(AtomicU32::new(0))))
}

fn word(counts: &Counts<Word>) -> u32 {
    counts.words().0.load(Ordering::SeqCst)
}

fn urgent() -> Priority {
    Priority::new(2).unwrap()
}

/// While a thread holds a raise, no thread reads 0: a concurrent lower never loses a raise.
#[test]
fn a_raise_is_never_lost_to_a_concurrent_lower() {
    loom::model(|| {
        let counts = counts();
        let peers = [(); 2].map(|()| {
            let counts = Arc::clone(&counts);
            thread::spawn(move || {
                let pending = counts.raise(urgent());
                assert_ne!(word(&counts), 0, "our own copy is pending");
                counts.lower(pending);
            })
        });
        peers.into_iter().for_each(|peer| peer.join().unwrap());
        assert_eq!(word(&counts), 0, "nothing is pending");
    });
}

/// After an opening in between, the word is the number of later raises: never negative, never stuck.
#[test]
fn an_opening_voids_earlier_lowers_only() {
    loom::model(|| {
        let counts = counts();
        let early = counts.raise(urgent());
        let (for_lower, for_open) = (Arc::clone(&counts), Arc::clone(&counts));
        let lower = thread::spawn(move || for_lower.lower(early));
        let open = thread::spawn(move || {
            for_open.open();
        });
        let of_raise = Arc::clone(&counts);
        let raise = thread::spawn(move || of_raise.raise(urgent()));
        lower.join().unwrap();
        open.join().unwrap();
        let mine = raise.join().unwrap();
        assert!(counts.pending_at(urgent()) <= 1, "only our own raise may be left");
        counts.lower(mine);
        assert_eq!(counts.pending_at(urgent()), 0);
        assert_eq!(word(&counts), 0);
    });
}

/// A boost that comes and goes beside a raise leaves the word right.
#[test]
fn a_boost_hides_a_raise_only_while_it_lasts() {
    loom::model(|| {
        let counts = counts();
        let other = Arc::clone(&counts);
        let boosting = thread::spawn(move || {
            let boost = other.boost(Priority::LOWEST, urgent());
            assert_eq!(word(&other), 0, "boosted waiters pass");
            other.unboost(boost);
        });
        let of_raise = Arc::clone(&counts);
        let raising = thread::spawn(move || of_raise.raise(urgent()));
        boosting.join().unwrap();
        let pending = raising.join().unwrap();
        assert_eq!(word(&counts), 1);
        counts.lower(pending);
        assert_eq!(word(&counts), 0);
    });
}

/// A thread that sees the word go down during its raise finds, without the lock, that the words were opened.
#[test]
fn an_opening_that_is_seen_is_known() {
    static IS_SEEN: Seen = Seen::new(false);
    loom::model(|| {
        let counts = counts();
        let pending = counts.raise(urgent());
        let (for_open, for_look) = (Arc::clone(&counts), Arc::clone(&counts));
        let open = thread::spawn(move || {
            for_open.open();
        });
        let look = thread::spawn(move || {
            if word(&for_look) == 0 {
                IS_SEEN.store(true, Ordering::Relaxed);
                assert!(!for_look.is_current(pending), "the word went down, and nothing had been opened");
            }
        });
        open.join().unwrap();
        look.join().unwrap();
    });
    assert!(IS_SEEN.load(Ordering::Relaxed), "no order has shown the word down");
}
