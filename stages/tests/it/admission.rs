//! An admission: how many are in, in which order they come in, and that none waits for ever.
#![allow(clippy::disallowed_methods)] // tests are no guests

use std::future::Future;
use std::num::NonZeroU32;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use crate::parking::{Parking, ends};
use overtake_stages::{Admission, Admitted, Admitting};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn admission(places: u32) -> Arc<Admission> {
    Admission::new(NonZeroU32::new(places).unwrap())
}

fn free(admission: &Arc<Admission>) -> usize {
    std::iter::from_fn(|| admission.try_admit()).collect::<Vec<_>>().len()
}

#[derive(Default)]
struct Wakes(AtomicU32);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll(admitting: &mut Admitting, wakes: &Arc<Wakes>) -> Poll<Admitted> {
    Pin::new(admitting).poll(&mut Context::from_waker(&Waker::from(Arc::clone(wakes))))
}

/// The ranks and numbers of those that come in, one after the other.
fn come_in(first: Admitted, mut line: Vec<(u32, u32, Admitting)>) -> Vec<(u32, u32)> {
    let (mut inside, mut order) = (Some(first), Vec::new());
    while !line.is_empty() {
        drop(inside.take());
        let mut polled = line.iter_mut().map(|(.., admitting)| poll(admitting, &Arc::default()));
        let (index, place) = polled.by_ref().enumerate().find(|(_, polled)| polled.is_ready()).unwrap();
        assert!(polled.all(|polled| polled.is_pending()), "one place is free");
        let Poll::Ready(place) = place else { unreachable!() };
        inside = Some(place);
        let (rank, number, _) = line.remove(index);
        order.push((rank, number));
    }
    order
}

#[test]
fn the_greatest_rank_is_first_and_then_the_one_that_was_in_longest_ago() {
    let admission = admission(1);
    let first = admission.try_admit().unwrap();
    let ask = |(rank, last, number)| (rank, number, admission.ask(rank, last));
    let line = [(1, 5, 1), (1, 5, 2), (7, 9, 3), (0, 0, 4), (7, 9, 5), (1, 4, 6)].map(ask).into_iter().collect();
    assert_eq!(come_in(first, line), [(7, 3), (7, 5), (1, 6), (1, 1), (1, 2), (0, 4)]);
    assert!(admission.try_admit().is_some(), "all places are free again");
}

#[test]
fn as_many_are_in_as_there_are_places() {
    let admission = admission(2);
    let (first, second) = (admission.try_admit().unwrap(), admission.try_admit().unwrap());
    assert!(admission.try_admit().is_none());
    let (mut third, wakes) = (admission.ask(0, 0), Arc::<Wakes>::default());
    assert!(poll(&mut third, &wakes).is_pending());
    drop(first);
    assert_eq!((wakes.0.load(Ordering::SeqCst), admission.waiting()), (1, 0));
    assert!(admission.try_admit().is_none(), "the place is that of the one that has waited");
    drop(second);
    let fourth = admission.try_admit().unwrap();
    assert!(poll(&mut third, &wakes).is_ready());
    drop((third, fourth));
    // The place of the third was dropped with the answer to the poll.
    assert_eq!(free(&admission), 2);
}

#[test]
fn a_question_that_is_taken_back_keeps_none_out() {
    let admission = admission(1);
    let first = admission.try_admit().unwrap();
    let (second, mut third) = (admission.ask(0, 0), admission.ask(0, 0));
    drop(second);
    drop(first);
    let wakes = Arc::default();
    assert!(poll(&mut third, &wakes).is_ready());
    // One that has been admitted, and does not take its place.
    let (first, fourth, mut fifth) = (admission.try_admit().unwrap(), admission.ask(0, 0), admission.ask(0, 0));
    drop(first);
    assert!(poll(&mut fifth, &wakes).is_pending());
    drop(fourth);
    assert!(poll(&mut fifth, &wakes).is_ready());
}

#[test]
fn a_wait_ends_at_its_deadline() {
    ends(|| {
        let (admission, parking) = (admission(1), Parking::new());
        let first = admission.try_admit().unwrap();
        let deadline = parking.now_ns() + 5 * MS;
        assert!(admission.ask(0, 0).wait(&parking, Some(deadline)).unwrap().is_none());
        assert!(parking.now_ns() >= deadline && admission.waiting() == 0);
        drop(first);
        assert!(admission.ask(0, 0).wait(&parking, Some(0)).unwrap().is_some(), "a free place needs no time");
    });
}

/// Threads that sleep, and futures that change their wakers.
#[test]
fn many_threads_come_in_and_none_is_forgotten() {
    ends(|| {
        let (admission, inside, most) = (admission(3), Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let threads: Vec<_> = (0..8_u32)
            .map(|own| {
                let (admission, inside, most) = (Arc::clone(&admission), Arc::clone(&inside), Arc::clone(&most));
                thread::spawn(move || {
                    let parking = Parking::new();
                    for round in 0..400_u32 {
                        let mut asked = admission.ask(own % 3, u64::from(own % 2));
                        if (own + round) % 5 == 0 && poll(&mut asked, &Arc::default()).is_pending() {
                            continue;
                        }
                        let asked = if (own + round) % 5 == 0 { admission.ask(9, 0) } else { asked };
                        let Some(place) = asked.wait(&parking, None).unwrap() else { panic!("without a deadline") };
                        most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(place);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let most = most.load(Ordering::SeqCst);
        assert!((1..=3).contains(&most), "{most} were in at once");
        assert_eq!(free(&admission), 3);
    });
}

/// A future that is polled with another waker wakes that one.
#[test]
fn the_last_waker_is_woken() {
    let admission = admission(1);
    let first = admission.try_admit().unwrap();
    let mut second = pin!(admission.ask(0, 0));
    let (before, after) = (Arc::<Wakes>::default(), Arc::<Wakes>::default());
    for wakes in [&before, &after] {
        assert!(second.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(wakes)))).is_pending());
    }
    drop(first);
    assert_eq!((before.0.load(Ordering::SeqCst), after.0.load(Ordering::SeqCst)), (0, 1));
}

/// A step of a random history. Numbers choose among those that are there.
#[derive(Clone, Debug)]
enum Step {
    /// With a rank, and the last place.
    Ask(u32, u64),
    Try,
    /// Takes a question back, or drops the place that has come.
    Leave(usize),
    /// Takes the place of a question that has been admitted.
    Take(usize),
    GiveBack(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0_u32..3, 0_u64..4).prop_map(|(rank, last)| Step::Ask(rank, last)),
        1 => Just(Step::Try),
        1 => (0_usize..8).prop_map(Step::Leave),
        2 => (0_usize..8).prop_map(Step::Take),
        2 => (0_usize..8).prop_map(Step::GiveBack),
    ]
}

/// The same by a list: the places that are out, and the questions in the order in which they came, each with its rank,
/// its last place and, once it is admitted, the number of its place.
#[derive(Default)]
struct Expected {
    out: usize,
    given: u64,
    line: Vec<(u32, u64, Option<u64>)>,
}

impl Expected {
    /// Gives all free places to the first that wait.
    fn admit(&mut self, places: usize) {
        while self.out < places {
            let waiting = self.line.iter().enumerate().filter(|(_, (.., place))| place.is_none());
            let order = |(index, (rank, last, _)): &(usize, &(u32, u64, _))| (std::cmp::Reverse(*rank), *last, *index);
            let Some((first, _)) = waiting.min_by_key(order) else { return };
            self.line[first].2 = Some(self.give());
        }
    }

    fn give(&mut self) -> u64 {
        (self.out, self.given) = (self.out + 1, self.given + 1);
        self.given
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_histories_are_those_of_a_list(places in 1_u32..4, steps in proptest::collection::vec(step(), 1..60)) {
        let (admission, mut expected) = (admission(places), Expected::default());
        let (mut line, mut held): (Vec<Admitting>, Vec<Admitted>) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Ask(rank, last) => {
                    line.push(admission.ask(rank, last));
                    expected.line.push((rank, last, None));
                }
                Step::Try => {
                    let place = admission.try_admit();
                    let is_free = expected.out < places as usize;
                    prop_assert_eq!(place.as_ref().map(Admitted::number), is_free.then(|| expected.give()));
                    held.extend(place);
                }
                Step::Leave(index) if index < line.len() => {
                    drop(line.remove(index));
                    expected.out -= usize::from(expected.line.remove(index).2.is_some());
                }
                Step::Take(index) if index < line.len() => {
                    let place = expected.line[index].2;
                    let polled = poll(&mut line[index], &Arc::default());
                    prop_assert_eq!(polled.is_ready(), place.is_some());
                    if let Poll::Ready(admitted) = polled {
                        prop_assert_eq!(Some(admitted.number()), place);
                        held.push(admitted);
                        drop(line.remove(index));
                        expected.line.remove(index);
                    }
                }
                Step::GiveBack(index) if index < held.len() => {
                    drop(held.remove(index));
                    expected.out -= 1;
                }
                Step::Leave(_) | Step::Take(_) | Step::GiveBack(_) => {}
            }
            expected.admit(places as usize);
            let waiting = expected.line.iter().filter(|(.., place)| place.is_none()).count();
            prop_assert_eq!(admission.waiting(), waiting);
        }
        drop((line, held));
        prop_assert_eq!(free(&admission), places as usize);
    }
}
