//! The cases of `cuda::pipeline`'s own tests, and those that it leaves undefined or hangs in.
#![allow(clippy::disallowed_methods)] // tests are no guests

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::parking::{Parking, ends};
use overtake_stages::{Barrier, Error, Member, Refused, Ring, Role, Stage};

const MS: u64 = 1_000_000;

/// One producer and one consumer.
fn pair(stages: u8) -> (Member, Member) {
    let mut members = Ring::new(stages).unwrap().split(2, 1).unwrap().into_iter();
    (members.next().unwrap(), members.next().unwrap())
}

/// A buffer for each stage, with a word for each thread.
#[derive(Clone)]
struct Buffers(Arc<Vec<Vec<AtomicU64>>>);

impl Buffers {
    fn new(stages: u8, threads: usize) -> Buffers {
        let line = || (0..threads).map(|_| AtomicU64::new(0)).collect();
        Buffers(Arc::new((0..stages).map(|_| line()).collect()))
    }

    fn store(&self, stage: Stage, thread: usize, value: u64) {
        self.0[usize::from(stage.index)][thread].store(value, Ordering::Relaxed);
    }

    fn sum(&self, stage: Stage) -> u64 {
        self.0[usize::from(stage.index)].iter().map(|word| word.load(Ordering::Relaxed)).sum()
    }
}

/// Every producer writes its word of each stage, and every consumer sees all words of the same stage.
fn carries(ring: &Arc<Ring>, roles: &[Role], rounds: u64) {
    let producers = roles.iter().filter(|role| role.produces()).count();
    let buffers = Buffers::new(ring.stages(), producers);
    let members = ring.members(roles).unwrap();
    let mut number = 0;
    let threads: Vec<_> = members
        .into_iter()
        .map(|mut member| {
            let (own, buffers, parking) = (number, buffers.clone(), Parking::new());
            number += usize::from(member.role().produces());
            thread::spawn(move || {
                for round in 0..rounds {
                    if member.role().produces() {
                        let stage = member.acquire(&parking).unwrap();
                        buffers.store(stage, own, round + 1);
                        member.commit().unwrap();
                    }
                    if member.role().consumes() {
                        let stage = member.wait(&parking).unwrap();
                        assert_eq!(stage.position, round);
                        assert_eq!(buffers.sum(stage), (round + 1) * producers as u64);
                        member.release().unwrap();
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn alternating(count: usize) -> Vec<Role> {
    (0..count).map(|index| if index % 2 == 0 { Role::Producer } else { Role::Consumer }).collect()
}

#[test]
fn sixty_four_threads_pass_stages_on_and_the_ring_is_used_again() {
    ends(|| {
        for stages in [1, 8] {
            let ring = Ring::new(stages).unwrap();
            carries(&ring, &alternating(64), 10);
            let mut halves = vec![Role::Producer; 32];
            halves.extend([Role::Consumer; 32]);
            carries(&ring, &halves, 10);
            carries(&ring, &[Role::Both; 64], 10);
        }
    });
}

#[test]
fn a_ring_of_one_stage_and_one_of_255_wrap_many_times() {
    ends(|| {
        for stages in [1, 2, 255] {
            carries(&Ring::new(stages).unwrap(), &alternating(2), 4 * u64::from(stages) + 3);
        }
        assert_eq!(Ring::new(0).unwrap_err(), Refused::Stages);
    });
}

/// Threads of one group take different ways to the same stage, and leave at different times.
#[test]
fn threads_that_diverge_meet_at_each_stage() {
    const BATCHES: u64 = 10;
    ends(|| {
        let ring = Ring::new(2).unwrap();
        let sum = Arc::new(AtomicU64::new(0));
        let threads: Vec<_> = ring
            .members(&[Role::Both; 256])
            .unwrap()
            .into_iter()
            .enumerate()
            .map(|(index, mut member)| {
                let sum = Arc::clone(&sum);
                thread::spawn(move || {
                    let parking = Parking::new();
                    for batch in 0..BATCHES {
                        if index % 7 == 3 && batch == 5 {
                            return; // it quits in the middle
                        }
                        member.acquire(&parking).unwrap();
                        if index % 2 == 0 {
                            thread::yield_now();
                            sum.fetch_add(1, Ordering::Relaxed);
                        }
                        member.commit().unwrap();
                        assert_eq!(member.wait(&parking).unwrap().position, batch);
                        member.release().unwrap();
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let (even, early) = (128, (0..256).filter(|index| index % 14 == 10).count() as u64);
        assert_eq!(sum.load(Ordering::Relaxed), even * BATCHES - early * 5);
    });
}

/// Groups of threads have rings of their own, and one that spans them all.
#[test]
fn groups_of_different_scopes_do_not_disturb_each_other() {
    ends(|| {
        let wide = Ring::new(3).unwrap();
        let mut wide_members = wide.members(&[Role::Both; 32]).unwrap();
        let mut threads = Vec::new();
        for _group in 0..4 {
            for mut own in Ring::new(2).unwrap().members(&[Role::Both; 8]).unwrap() {
                let mut wide = wide_members.pop().unwrap();
                threads.push(thread::spawn(move || {
                    let parking = Parking::new();
                    for round in 0..20 {
                        for member in [&mut own, &mut wide] {
                            assert_eq!(member.acquire(&parking).unwrap().position, round);
                            member.commit().unwrap();
                        }
                        for member in [&mut wide, &mut own] {
                            assert_eq!(member.wait(&parking).unwrap().position, round);
                            member.release().unwrap();
                        }
                    }
                }));
            }
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn counts_that_do_not_fit_are_refused() {
    let ring = Ring::new(2).unwrap();
    for (size, producers) in [(4, 0), (4, 4), (0, 0), (3, 5)] {
        assert!(matches!(ring.split(size, producers).unwrap_err(), Refused::Members { .. }), "{producers} of {size}");
    }
    let all = ring.split(4, 3).unwrap();
    assert_eq!(all.iter().filter(|member| member.role() == Role::Producer).count(), 3);
    assert_eq!(ring.split(2, 1).unwrap_err(), Refused::InUse);
}

#[test]
fn a_producer_is_ahead_by_as_many_as_there_are_stages() {
    for stages in [1, 3, 255] {
        let (mut producer, mut consumer) = pair(stages);
        for position in 0..u64::from(stages) {
            assert_eq!(producer.try_acquire().unwrap().unwrap().position, position);
            producer.commit().unwrap();
        }
        for round in 0..7 {
            assert_eq!(producer.try_acquire(), Ok(None), "all {stages} are full");
            assert_eq!(consumer.try_wait().unwrap().unwrap().position, round);
            assert_eq!(producer.try_acquire(), Ok(None), "one is being emptied");
            consumer.release().unwrap();
            assert_eq!(producer.try_acquire().unwrap().unwrap().position, u64::from(stages) + round);
            assert_eq!(producer.acquired().unwrap().index, (round % u64::from(stages)) as u8);
            producer.commit().unwrap();
        }
    }
}

#[test]
fn a_wait_that_times_out_changes_nothing_and_the_next_succeeds() {
    ends(|| {
        let ((mut producer, mut consumer), parking) = (pair(1), Parking::new());
        assert_eq!(consumer.wait_until(&parking, parking.now_ns() + 2 * MS), Ok(None));
        assert_eq!(consumer.wait_until(&parking, 0), Ok(None), "the time has passed");
        producer.acquire(&parking).unwrap();
        producer.commit().unwrap();
        assert_eq!(producer.acquire_until(&parking, parking.now_ns() + 2 * MS), Ok(None));
        assert_eq!(consumer.wait_until(&parking, parking.now_ns() + 30_000 * MS).unwrap().unwrap().position, 0);
        let late = thread::spawn(move || {
            thread::sleep(std::time::Duration::from_millis(5));
            consumer.release().unwrap();
            consumer
        });
        assert_eq!(producer.acquire_until(&parking, parking.now_ns() + 30_000 * MS).unwrap().unwrap().position, 1);
        producer.commit().unwrap();
        let deadline = parking.now_ns() + 30_000 * MS;
        assert_eq!(late.join().unwrap().wait_until(&parking, deadline).unwrap().unwrap().position, 1);
    });
}

/// All threads but one wait when that one goes.
#[test]
fn completion_arrives_at_an_external_barrier() {
    ends(|| {
        let (barrier, parking) = (Barrier::new(3).unwrap(), Parking::new());
        for turn in 0..5 {
            let (round, arrival) = barrier.arrive_later();
            assert_eq!(barrier.arrive().unwrap(), round);
            let waits = {
                let barrier = barrier.clone();
                thread::spawn(move || barrier.wait(barrier.arrive().unwrap(), &Parking::new(), None))
            };
            assert_eq!(barrier.wait(round, &parking, Some(parking.now_ns() + MS)), Ok(false));
            if turn == 3 {
                arrival.fail();
                assert_eq!(waits.join().unwrap(), Err(Error::Spoilt { position: 0 }));
            } else {
                arrival.arrive();
                assert_eq!(waits.join().unwrap(), Ok(true));
                assert_eq!(barrier.wait(round, &parking, None), Ok(true));
            }
        }
        let round = barrier.arrive().unwrap();
        barrier.leave();
        barrier.leave();
        assert_eq!(barrier.wait(round, &parking, None), Ok(true));
        let last = barrier.arrive().unwrap();
        assert_eq!(barrier.wait(last, &parking, None), Ok(true), "one member is left");
        barrier.leave();
        assert_eq!(barrier.arrive(), Err(Refused::Quit));
        assert_eq!(barrier.wait(barrier.round(), &parking, None), Err(Error::Deserted));
    });
}

#[test]
fn calls_that_make_no_sense_are_errors_and_change_nothing() {
    let (mut producer, mut consumer) = pair(1);
    assert_eq!(producer.commit(), Err(Refused::NotAcquired));
    assert_eq!(consumer.release(), Err(Refused::NotWaited));
    assert_eq!(producer.try_wait(), Err(Refused::NotConsumer.into()));
    assert_eq!(producer.release(), Err(Refused::NotConsumer));
    assert_eq!(consumer.try_acquire(), Err(Refused::NotProducer.into()));
    assert_eq!(consumer.commit_later().map(drop), Err(Refused::NotProducer));
    producer.try_acquire().unwrap().unwrap();
    assert_eq!(producer.try_acquire(), Err(Refused::Acquired.into()));
    producer.commit().unwrap();
    assert!(consumer.try_wait().unwrap().is_some());
    assert_eq!(consumer.try_wait(), Err(Refused::Waited.into()));
    consumer.release().unwrap();
    assert_eq!(producer.quit(), Ok(false));
    assert_eq!(producer.quit(), Err(Refused::Quit));
    assert_eq!(producer.try_acquire(), Err(Refused::Quit.into()));
    assert_eq!(consumer.quit(), Ok(true));
    assert_eq!(consumer.try_wait(), Err(Refused::Quit.into()));
}

#[test]
fn a_member_that_would_wait_for_itself_is_told() {
    ends(|| {
        let mut both = Ring::new(2).unwrap().members(&[Role::Both]).unwrap().pop().unwrap();
        let parking = Parking::new();
        assert_eq!(both.wait(&parking), Err(Refused::OwnCommit.into()));
        for _ in 0..2 {
            both.acquire(&parking).unwrap();
            both.commit().unwrap();
        }
        assert_eq!(both.acquire(&parking), Err(Refused::OwnRelease.into()));
        both.wait(&parking).unwrap();
        both.release().unwrap();
        assert_eq!(both.acquire(&parking).unwrap().position, 2);
    });
}
