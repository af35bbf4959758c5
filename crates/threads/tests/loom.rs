//! Model checks of bells: every interleaving of a listener that falls asleep and threads that ring.
//!
//! All that a model compares is done by threads that it has spawned, and the first one only joins them: where the first
//! took a part, no order that loom tries showed it some of the stores of the others.
//!
//! A listener that sleeps for ever is a deadlock, which ends the check. Run with
//! `RUSTFLAGS="--cfg loom" cargo test -p overtake-threads --profile loom --test loom`.
#![cfg(loom)]

use driver::RealHost;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use overtake_threads::Bell;

/// A listener hears of all work that is left for it before a ring, by ringers that ring with `ring`.
fn all_is_heard(ringers: u32, ring: fn(&Bell)) {
    let mut model = loom::model::Builder::new();
    // With three threads, all orders take hours. Each known mistake is one of two switches.
    model.preemption_bound = (ringers > 1).then_some(3);
    model.check(move || {
        let (bell, work) = (Arc::new(Bell::default()), Arc::new(AtomicU32::new(0)));
        let (its_bell, its_work) = (Arc::clone(&bell), Arc::clone(&work));
        let listener = thread::spawn(move || {
            its_bell.listen();
            loop {
                let seen = its_bell.count();
                if its_work.load(Ordering::Relaxed) == ringers {
                    break;
                }
                its_bell.wait(&RealHost::new(), None, &mut || its_bell.count() != seen);
            }
        });
        let mut others = Vec::new();
        for _ in 0..ringers {
            let (bell, work) = (Arc::clone(&bell), Arc::clone(&work));
            others.push(thread::spawn(move || {
                work.fetch_add(1, Ordering::Relaxed);
                ring(&bell);
            }));
        }
        others.into_iter().for_each(|other| other.join().unwrap());
        listener.join().unwrap();
    });
}

#[test]
fn no_ring_is_lost() {
    all_is_heard(1, Bell::ring);
}

#[test]
fn no_ring_of_several_threads_is_lost() {
    all_is_heard(2, Bell::ring);
}

#[test]
fn no_wake_is_lost() {
    all_is_heard(1, Bell::wake);
}

/// A thread that is asked to end does so, whether it listens already, works or sleeps.
#[test]
fn an_end_is_heard() {
    loom::model(|| {
        let bell = Arc::new(Bell::default());
        let its_bell = Arc::clone(&bell);
        let listener = thread::spawn(move || {
            its_bell.listen();
            while !its_bell.has_ended() {
                let seen = its_bell.count();
                its_bell.wait(&RealHost::new(), None, &mut || its_bell.count() != seen);
            }
        });
        let ends = thread::spawn(move || bell.end());
        listener.join().unwrap();
        ends.join().unwrap();
    });
}
