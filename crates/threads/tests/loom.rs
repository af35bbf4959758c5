//! Model checks of bells, every interleaving of a listener that falls asleep and threads that ring, and of
//! the lock over streams.
//!
//! All that a model compares is done by threads that it has spawned, and the first one only joins them: where the first
//! took a part, no order that loom tries showed it some of the stores of the others.
//!
//! A listener that sleeps for ever is a deadlock, which ends the check. Run with
//! `RUSTFLAGS="--cfg loom" cargo test -p overtake-threads --profile loom --test loom`.
#![cfg(loom)]

use driver::RealHost;
use hal::{Context, Host, Nanos, Stream, ThreadToken, Wait};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use overtake_threads::stream_lock::{Place, Seats, Within};
use overtake_threads::{Bell, StreamLock};

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

/// A host whose waits are loom's. A wait with an end gives up after one look, which loom tries early and late.
struct LoomHost;

impl Host for LoomHost {
    fn now(&self) -> Nanos {
        Nanos::ZERO
    }

    fn sleep(&self, _span: Nanos) {}

    fn pause(&self) {
        thread::yield_now();
    }

    fn wait_until(&self, deadline: Option<Nanos>, condition: &mut (dyn FnMut() -> bool + Send)) -> Wait {
        loop {
            if condition() {
                return Wait::Met;
            }
            if deadline.is_some() {
                return Wait::Deadline;
            }
            thread::yield_now();
        }
    }

    fn announce(&self, _name: &str) -> ThreadToken {
        ThreadToken(0)
    }

    fn retract(&self, _token: ThreadToken) {}

    fn enter(&self, _token: ThreadToken) {}

    fn leave(&self) {}

    fn outside(&self, block: &mut dyn FnMut()) {
        block();
    }

    fn is_virtual(&self) -> bool {
        false
    }
}

/// A thread that enters a stream does not find a copy of another thread holder in it.
#[test]
fn no_call_enters_a_stream_between_two_parts_of_a_copy() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let seats: &'static Seats = Box::leak(Box::default());
        let lock = Arc::new(StreamLock::new(seats));
        let [first, second] = [(); 2].map(|()| seats.take().unwrap());
        let table = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let stream = Stream(0x100);
        let place = move || Place::blocking(Context(1), stream);
        let (its_gate, its_table) = (Arc::clone(&lock), Arc::clone(&table));
        let writer = thread::spawn(move || {
            let Some(_closed) = its_gate.exclude_at(first, place(), &LoomHost) else { return };
            its_table.iter().for_each(|word| word.store(1, Ordering::Relaxed));
        });
        let reader = thread::spawn(move || {
            let _entered = lock.share_at(Some(second), stream, Within::default(), || (place(), &LoomHost as &dyn Host));
            let [left, right] = table.each_ref().map(|word| word.load(Ordering::Relaxed));
            assert_eq!(left, right, "a part of a copy");
        });
        writer.join().unwrap();
        reader.join().unwrap();
    });
}
