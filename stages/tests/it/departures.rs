//! Members that quit, panic, or lose an arrival: their peers are told, and go on.
#![allow(clippy::disallowed_methods)] // tests are no guests

use std::sync::Arc;
use std::thread;

use crate::parking::{Parking, ends};
use overtake_stages::{Error, Member, Refused, Ring, Role};

/// One producer and one consumer.
fn pair(stages: u8) -> (Member, Member) {
    let mut members = Ring::new(stages).unwrap().split(2, 1).unwrap().into_iter();
    (members.next().unwrap(), members.next().unwrap())
}

fn alternating(count: usize) -> Vec<Role> {
    (0..count).map(|index| if index % 2 == 0 { Role::Producer } else { Role::Consumer }).collect()
}

#[test]
fn a_member_that_quits_early_takes_its_arrival_with_it() {
    ends(|| {
        for goes in [Role::Producer, Role::Consumer] {
            let ring = Ring::new(2).unwrap();
            let mut members = ring.members(&alternating(8)).unwrap();
            let at = members.iter().position(|member| member.role() == goes).unwrap();
            let mut early = members.remove(at);
            let threads: Vec<_> = members
                .into_iter()
                .map(|mut member| {
                    thread::spawn(move || {
                        let parking = Parking::new();
                        for _ in 0..20 {
                            if member.role().produces() {
                                member.acquire(&parking).unwrap();
                                member.commit().unwrap();
                            } else {
                                member.wait(&parking).unwrap();
                                member.release().unwrap();
                            }
                        }
                    })
                })
                .collect();
            let parking = Parking::new();
            match goes {
                Role::Producer => early.acquire(&parking).map(drop).unwrap(),
                _ => thread::sleep(std::time::Duration::from_millis(2)),
            }
            assert!(!early.quit().unwrap());
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        }
    });
}

#[test]
fn the_last_stages_are_there_when_all_producers_have_gone() {
    let mut members = Ring::new(3).unwrap().split(3, 2).unwrap();
    let (mut consumer, mut second, mut first) =
        (members.pop().unwrap(), members.pop().unwrap(), members.pop().unwrap());
    for producer in [&mut first, &mut second] {
        producer.try_acquire().unwrap().unwrap();
        producer.commit().unwrap();
    }
    first.try_acquire().unwrap().unwrap();
    first.commit().unwrap();
    drop(first);
    assert!(consumer.try_wait().unwrap().is_some());
    consumer.release().unwrap();
    assert_eq!(consumer.try_wait(), Ok(None), "the second producer has still to commit");
    second.try_acquire().unwrap().unwrap();
    drop(second);
    assert_eq!(consumer.try_wait().unwrap().unwrap().position, 1, "the first has filled it");
    consumer.release().unwrap();
    assert_eq!(consumer.try_wait(), Err(Error::Deserted));
}

#[test]
fn a_producer_learns_that_all_consumers_have_gone() {
    ends(|| {
        let ((mut producer, consumer), parking) = (pair(1), Parking::new());
        producer.acquire(&parking).unwrap();
        producer.commit().unwrap();
        let waits = thread::spawn(move || producer.acquire(&Parking::new()));
        drop(consumer);
        assert_eq!(waits.join().unwrap(), Err(Error::Deserted));
    });
}

#[test]
fn a_panic_reaches_the_peers_as_an_error_and_they_go_on() {
    ends(|| {
        let mut members = Ring::new(2).unwrap().split(4, 2).unwrap();
        let (mut consumer, other) = (members.pop().unwrap(), members.pop().unwrap());
        let (mut fails, mut works) = (members.pop().unwrap(), members.pop().unwrap());
        let panics = thread::spawn(move || {
            fails.acquire(&Parking::new()).unwrap();
            panic!("a producer fails with stage 0");
        });
        let goes_on = thread::spawn(move || {
            for _ in 0..5 {
                works.acquire(&Parking::new()).unwrap();
                works.commit().unwrap();
            }
        });
        let both = [other].map(|mut consumer| {
            thread::spawn(move || {
                assert_eq!(consumer.wait(&Parking::new()), Err(Error::Spoilt { position: 0 }));
                assert_eq!(consumer.wait(&Parking::new()).unwrap().position, 1);
            })
        });
        assert_eq!(consumer.wait(&Parking::new()), Err(Error::Spoilt { position: 0 }));
        for position in 1..5 {
            assert_eq!(consumer.wait(&Parking::new()).unwrap().position, position);
            consumer.release().unwrap();
        }
        assert_eq!(consumer.wait(&Parking::new()), Err(Error::Deserted));
        assert!(panics.join().is_err());
        goes_on.join().unwrap();
        both.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_consumer_that_panics_is_told_to_the_producer_once() {
    ends(|| {
        let mut members = Ring::new(1).unwrap().split(3, 1).unwrap();
        let (mut stays, mut fails, mut producer) =
            (members.pop().unwrap(), members.pop().unwrap(), members.pop().unwrap());
        let parking = Parking::new();
        producer.acquire(&parking).unwrap();
        producer.commit().unwrap();
        stays.wait(&parking).unwrap();
        stays.release().unwrap();
        let panics = thread::spawn(move || {
            fails.wait(&Parking::new()).unwrap();
            panic!("a consumer fails with stage 0");
        });
        assert_eq!(producer.acquire(&parking), Err(Error::Spoilt { position: 0 }));
        assert_eq!(producer.acquire(&parking).unwrap().position, 1);
        producer.commit().unwrap();
        assert_eq!(stays.wait(&parking).unwrap().position, 1);
        assert!(panics.join().is_err());
    });
}

#[test]
fn an_owed_arrival_holds_the_stage_and_a_lost_one_fails_it() {
    let (mut producer, mut consumer) = pair(2);
    producer.try_acquire().unwrap().unwrap();
    let first = producer.commit_later().unwrap();
    producer.try_acquire().unwrap().unwrap();
    let second = producer.commit_later().unwrap();
    drop(producer); // its arrivals are owed all the same
    assert_eq!(consumer.try_wait(), Ok(None));
    first.arrive();
    assert_eq!(consumer.try_wait().unwrap().unwrap().position, 0);
    let empties = consumer.release_later().unwrap();
    drop(second);
    assert_eq!(consumer.try_wait(), Err(Error::Spoilt { position: 1 }));
    assert_eq!(consumer.try_wait(), Err(Error::Deserted));
    let ring = Arc::clone(consumer.ring());
    assert!(!consumer.quit().unwrap());
    assert_eq!(ring.split(2, 1).unwrap_err(), Refused::InUse, "an arrival is owed");
    empties.fail();
    assert!(ring.split(2, 1).is_ok());
}
