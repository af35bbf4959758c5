//! Model checks of the state of a stage: schedules of arrivals, waits and departures.
//!
//! All that a model compares is done by threads that it has spawned, and the first one only joins them: where the first
//! took a part, no order that loom tries showed it some of the stores of the others.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p overtake-stages --profile loom --test loom`.
#![cfg(loom)]

use std::num::NonZeroU32;
use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::future::block_on;
use loom::thread;
use overtake_stages::{Admission, Error, Member, Ring, Role};

/// A buffer whose uses loom checks: a use that nothing orders fails the model.
struct Buffers(Vec<UnsafeCell<u64>>);

// SAFETY: loom fails the model if two threads use a cell at the same time.
unsafe impl Sync for Buffers {}
// SAFETY: as above.
unsafe impl Send for Buffers {}

impl Buffers {
    fn new(stages: u8) -> Arc<Buffers> {
        Arc::new(Buffers((0..stages).map(|_| UnsafeCell::new(0)).collect()))
    }

    fn fill(&self, index: u8, value: u64) {
        // SAFETY: loom checks it.
        self.0[usize::from(index)].with_mut(|cell| unsafe { *cell = value });
    }

    fn empty(&self, index: u8) -> u64 {
        // SAFETY: loom checks it.
        self.0[usize::from(index)].with(|cell| unsafe { *cell })
    }
}

/// All schedules with at most two preemptions: those of three threads without a bound take hours.
fn check(scenario: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(scenario);
}

fn members(stages: u8, roles: &[Role]) -> impl Iterator<Item = Member> {
    Ring::new(stages).unwrap().members(roles).unwrap().into_iter()
}

/// No wake is lost on either side, and each stage is used by one side at a time.
#[test]
fn stages_pass_between_two_sleepy_threads() {
    check(|| {
        let buffers = Buffers::new(1);
        let mut members = members(1, &[Role::Producer, Role::Consumer]);
        let (mut producer, mut consumer) = (members.next().unwrap(), members.next().unwrap());
        let own = Arc::clone(&buffers);
        let peer = thread::spawn(move || {
            for value in 1..=2 {
                let stage = block_on(producer.acquire_async()).unwrap();
                own.fill(stage.index, value);
                producer.commit().unwrap();
            }
        });
        let consumes = thread::spawn(move || {
            for value in 1..=2 {
                let stage = block_on(consumer.wait_async()).unwrap();
                assert_eq!(buffers.empty(stage.index), value);
                consumer.release().unwrap();
            }
            consumer
        });
        peer.join().unwrap();
        assert_eq!(consumes.join().unwrap().try_wait(), Err(Error::Deserted));
    });
}

/// The stage is there when both have committed, and not before.
#[test]
fn a_stage_waits_for_all_its_producers() {
    check(|| {
        let buffers = Buffers::new(2);
        let ring = Ring::new(1).unwrap();
        let mut members = ring.split(3, 2).unwrap();
        let mut consumer = members.pop().unwrap();
        let producers: Vec<_> = members
            .into_iter()
            .enumerate()
            .map(|(own, mut producer)| {
                let buffers = Arc::clone(&buffers);
                thread::spawn(move || {
                    producer.try_acquire().unwrap().unwrap();
                    buffers.fill(own as u8, 7);
                    producer.commit().unwrap();
                })
            })
            .collect();
        let consumes = thread::spawn(move || {
            block_on(consumer.wait_async()).unwrap();
            assert_eq!(buffers.empty(0) + buffers.empty(1), 14);
        });
        producers.into_iter().chain([consumes]).for_each(|thread| thread.join().unwrap());
    });
}

/// One producer quits while the other commits and the consumer falls asleep.
#[test]
fn a_departure_beside_a_commit_loses_neither() {
    check(|| {
        let mut members = Ring::new(1).unwrap().split(3, 2).unwrap();
        let (mut consumer, quits, mut works) = (members.pop().unwrap(), members.pop().unwrap(), members.pop().unwrap());
        let leaves = thread::spawn(move || drop(quits));
        let commits = thread::spawn(move || {
            works.try_acquire().unwrap().unwrap();
            works.commit().unwrap();
        });
        let consumes = thread::spawn(move || {
            assert_eq!(block_on(consumer.wait_async()).unwrap().position, 0);
            consumer.release().unwrap();
            assert_eq!(block_on(consumer.wait_async()), Err(Error::Deserted));
        });
        [leaves, commits, consumes].into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// A producer leaves with an arrival of its own still owed, while another member leaves the same stage.
#[test]
fn an_owed_arrival_comes_while_its_member_leaves() {
    check(|| {
        let mut members = Ring::new(1).unwrap().split(2, 1).unwrap();
        let (mut consumer, mut producer) = (members.pop().unwrap(), members.pop().unwrap());
        producer.try_acquire().unwrap().unwrap();
        let arrival = producer.commit_later().unwrap();
        let leaves = thread::spawn(move || drop(producer));
        let arrives = thread::spawn(move || arrival.arrive());
        let consumes = thread::spawn(move || {
            assert_eq!(block_on(consumer.wait_async()).unwrap().position, 0);
            consumer.release().unwrap();
            consumer
        });
        leaves.join().unwrap();
        arrives.join().unwrap();
        let mut consumer = consumes.join().unwrap();
        assert_eq!(consumer.try_wait(), Err(Error::Deserted));
        let ring = Arc::clone(consumer.ring());
        assert!(consumer.quit().unwrap());
        assert!(ring.split(2, 1).is_ok(), "it is free");
    });
}

/// The consumer goes while the producer falls asleep on a full ring.
#[test]
fn a_producer_is_woken_when_the_consumer_goes() {
    check(|| {
        let mut members = members(1, &[Role::Producer, Role::Consumer]);
        let (mut producer, consumer) = (members.next().unwrap(), members.next().unwrap());
        producer.try_acquire().unwrap().unwrap();
        producer.commit().unwrap();
        let goes = thread::spawn(move || drop(consumer));
        let waits = thread::spawn(move || block_on(producer.acquire_async()));
        assert_eq!(waits.join().unwrap(), Err(Error::Deserted));
        goes.join().unwrap();
    });
}

/// Two threads ask for one place, each twice: only one is in at a time, and none sleeps for ever.
#[test]
fn a_place_passes_between_two_sleepy_threads() {
    check(|| {
        let (admission, buffers) = (Admission::new(NonZeroU32::new(1).unwrap()), Buffers::new(1));
        let enter = |own: u64| {
            let (admission, buffers) = (Arc::clone(&admission), Arc::clone(&buffers));
            thread::spawn(move || {
                for _ in 0..2 {
                    let place = block_on(admission.ask(0, 0));
                    buffers.fill(0, own);
                    assert_eq!(buffers.empty(0), own);
                    drop(place);
                }
            })
        };
        [enter(1), enter(2)].into_iter().for_each(|thread| thread.join().unwrap());
        assert!(admission.try_admit().is_some(), "it is free");
    });
}

/// A question is taken back while the place is given to it: the next one gets it.
#[test]
fn a_place_is_not_lost_with_a_question() {
    check(|| {
        let admission = Admission::new(NonZeroU32::new(1).unwrap());
        let first = admission.try_admit().unwrap();
        let (second, third) = (admission.ask(0, 0), admission.ask(0, 0));
        let leaves = thread::spawn(move || drop(second));
        let ends = thread::spawn(move || drop(first));
        let waits = thread::spawn(move || drop(block_on(third)));
        [leaves, ends, waits].into_iter().for_each(|thread| thread.join().unwrap());
        assert!(admission.try_admit().is_some(), "it is free");
    });
}
