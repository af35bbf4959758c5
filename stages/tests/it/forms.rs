//! The other forms: for one thread, and futures.
#![allow(clippy::disallowed_methods)] // tests are no guests

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use crate::parking::{Parking, ends};
use overtake_stages::{Barrier, Error, Local, Operation, Progress, Ring, Stage};

const MS: u64 = 1_000_000;

/// An operation that another thread ends.
#[derive(Clone)]
struct Work(Arc<Mutex<(Progress, Option<Waker>)>>);

impl Work {
    fn new() -> Work {
        Work(Arc::new(Mutex::new((Progress::Running, None))))
    }

    fn end(&self, how: Progress) {
        let mut held = self.0.lock().unwrap();
        held.0 = how;
        if let Some(waker) = held.1.take() {
            waker.wake();
        }
    }
}

impl Operation for Work {
    fn progress(&self, waker: Option<&Waker>) -> Progress {
        let mut held = self.0.lock().unwrap();
        if let Some(waker) = waker {
            held.1 = Some(waker.clone());
        }
        held.0
    }
}

/// Two copies of one thread, each in a batch; the values are those of `cuda::pipeline`'s test of copies.
#[test]
fn batches_of_one_thread_end_in_their_order() {
    ends(|| {
        let (mut local, parking) = (Local::new(), Parking::new());
        local.wait(&parking).unwrap(); // without a batch it returns
        local.wait_prior(0, &parking).unwrap();
        let value = Arc::new(AtomicU64::new(12));
        let works = [Work::new(), Work::new(), Work::new()];
        local.join(works[0].clone());
        local.join(works[1].clone());
        local.commit();
        local.join(works[2].clone());
        local.commit();
        assert_eq!(local.wait_until(&parking, parking.now_ns() + MS), Ok(false));
        let ends = {
            let (works, value) = (works.clone(), Arc::clone(&value));
            thread::spawn(move || {
                works[1].end(Progress::Done);
                thread::sleep(std::time::Duration::from_millis(2));
                value.store(24, Ordering::Relaxed);
                works[0].end(Progress::Done);
            })
        };
        assert_eq!(local.wait_until(&parking, parking.now_ns() + 30_000 * MS), Ok(true));
        assert_eq!((value.load(Ordering::Relaxed), local.pending()), (24, 1));
        ends.join().unwrap();
        let last = works[2].clone();
        let ends = thread::spawn(move || last.end(Progress::Done));
        local.wait(&parking).unwrap();
        assert_eq!((local.pending(), local.wait_until(&parking, 0)), (0, Ok(true)));
        ends.join().unwrap();
    });
}

#[test]
fn all_batches_but_the_last_are_waited_for() {
    let (mut local, parking) = (Local::new(), Parking::new());
    let works: Vec<_> = (0..12).map(|_| Work::new()).collect();
    for work in &works {
        local.join(work.clone());
        local.commit();
    }
    works[..3].iter().for_each(|work| work.end(Progress::Done));
    local.wait_prior(9, &parking).unwrap();
    assert_eq!(local.pending(), 9);
    works[3].end(Progress::Failed);
    works[4].end(Progress::Done);
    assert_eq!(local.wait_prior(7, &parking), Err(Error::Spoilt { position: 3 }));
    assert_eq!(local.pending(), 7, "the failure of one leaves no other out");
    local.commit(); // an empty batch ends at once
    works[5..].iter().for_each(|work| work.end(Progress::Done));
    local.wait_prior(0, &parking).unwrap();
}

#[test]
fn a_batch_of_one_thread_arrives_at_a_barrier() {
    let (mut local, barrier, parking) = (Local::new(), Barrier::new(1).unwrap(), Parking::new());
    local.join(Work::new());
    local.commit();
    local.join(Work::new());
    let (operations, round, arrival) = local.commit_to(&barrier);
    assert_eq!(operations.count(), 1);
    assert_eq!(barrier.wait(round, &parking, Some(0)), Ok(false));
    arrival.arrive();
    assert_eq!(barrier.wait(round, &parking, Some(0)), Ok(true));
    assert_eq!(local.pending(), 1);
}

#[derive(Default)]
struct Counting(AtomicU32);

impl Wake for Counting {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_future_is_woken_once_for_its_stage() {
    let mut members = Ring::new(1).unwrap().split(2, 1).unwrap();
    let (mut consumer, mut producer) = (members.pop().unwrap(), members.pop().unwrap());
    let wakes = Arc::new(Counting::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let mut context = Context::from_waker(&waker);
    {
        let mut next = pin!(consumer.wait_async());
        assert_eq!(next.as_mut().poll(&mut context), Poll::Pending);
        assert_eq!(next.as_mut().poll(&mut context), Poll::Pending);
        producer.try_acquire().unwrap().unwrap();
        assert_eq!(wakes.0.load(Ordering::SeqCst), 0);
        producer.commit().unwrap();
        assert_eq!(wakes.0.load(Ordering::SeqCst), 1);
        assert_eq!(next.as_mut().poll(&mut context), Poll::Ready(Ok(Stage { index: 0, position: 0 })));
    }
    {
        let mut next = pin!(producer.acquire_async());
        assert_eq!(next.as_mut().poll(&mut context), Poll::Pending);
    }
    consumer.release().unwrap();
    assert_eq!(wakes.0.load(Ordering::SeqCst), 1, "a future that was dropped is not woken");
    {
        let mut next = pin!(consumer.wait_async());
        assert_eq!(next.as_mut().poll(&mut context), Poll::Pending);
        drop(producer);
        assert_eq!(wakes.0.load(Ordering::SeqCst), 2);
        assert_eq!(next.as_mut().poll(&mut context), Poll::Ready(Err(Error::Deserted)));
    }
}

/// A future moves from one executor to another: only the last waker counts.
#[test]
fn a_future_wakes_the_last_waker_that_polled_it() {
    let mut members = Ring::new(1).unwrap().split(2, 1).unwrap();
    let (mut consumer, mut producer) = (members.pop().unwrap(), members.pop().unwrap());
    let wakes = [Arc::new(Counting::default()), Arc::new(Counting::default())];
    let mut next = pin!(consumer.wait_async());
    for counting in &wakes {
        let waker = Waker::from(Arc::clone(counting));
        assert_eq!(next.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Pending);
    }
    producer.try_acquire().unwrap().unwrap();
    producer.commit().unwrap();
    assert_eq!(wakes.map(|counting| counting.0.load(Ordering::SeqCst)), [0, 1]);
}
