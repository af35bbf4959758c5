//! Model checks of the counts: every interleaving of raises, lowers, boosts and an opening.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p overtake-semaphores --profile loom --test loom`.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use overtake_semaphores::{Counts, Publish};
use terms::{Priorities, Priority};

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
        let other = Arc::clone(&counts);
        let peer = thread::spawn(move || {
            let pending = other.raise(urgent());
            assert_ne!(word(&other), 0);
            other.lower(pending);
        });
        let pending = counts.raise(urgent());
        assert_ne!(word(&counts), 0, "our own copy is pending");
        counts.lower(pending);
        peer.join().unwrap();
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
        let mine = counts.raise(urgent());
        lower.join().unwrap();
        open.join().unwrap();
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
        let pending = counts.raise(urgent());
        boosting.join().unwrap();
        assert_eq!(word(&counts), 1);
        counts.lower(pending);
        assert_eq!(word(&counts), 0);
    });
}
