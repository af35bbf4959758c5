//! Loom models of the turn to take steps, and of threads that sleep until there is something to do.
//!
//! The turn, the sleepers, the held lock and the bells are the dispatcher's own; counters replace the graph. A thread
//! that sleeps forever is a deadlock, and fails the model.

use driver::RealHost;
use hal::primitive::{AtomicBool, Ordering};
use loom::sync::Arc;
use loom::thread;
use threads::Bell;

use crate::dispatch::held::{self, Held};
use crate::dispatch::sleepers::{Calls, Sleepers, Sleeps};
use crate::dispatch::turn::{Steps, Turn, take_steps};

/// Steps that one step submits while it is taken.
type Step = u32;

#[derive(Default)]
struct State {
    turn: Turn,
    sleepers: Sleepers,
    steps: Vec<Step>,
    functions: u32,
    /// Steps and functions that have ended.
    ended: u32,
}

impl Steps for State {
    type Kit = Option<Step>;

    fn turn(&mut self) -> &mut Turn {
        &mut self.turn
    }

    fn step(&mut self, kit: &mut Option<Step>) -> bool {
        *kit = self.steps.pop();
        kit.is_some()
    }

    fn tell(&mut self) {
        self.sleepers.has_news = true;
    }
}

impl Sleeps for State {
    fn may_call(&self) -> bool {
        self.sleepers.may_call(|| self.functions > 0)
    }

    fn calls(&mut self) -> Calls {
        self.sleepers.calls(self.functions > 0)
    }
}

struct Model {
    bells: Vec<Bell>,
    state: held::Lock<State>,
    /// A thread takes a step.
    is_inside: AtomicBool,
    /// A thread takes so many steps at most.
    most: u32,
    /// Steps and functions in all.
    all: u32,
}

type Lock<'m> = Held<'m, State>;

impl Model {
    fn new(most: u32, all: u32, threads: usize) -> Arc<Model> {
        Arc::new(Model {
            bells: (0..threads).map(|_| Bell::default()).collect(),
            state: held::Lock::new(State::default()),
            is_inside: AtomicBool::new(false),
            most,
            all,
        })
    }

    fn enter(&self) -> Lock<'_> {
        Held::new(&self.bells, &self.state)
    }

    fn pump<'m>(&'m self, mut held: Lock<'m>) {
        if held.turn.begin() {
            self.visit(held, &mut || false);
        }
    }

    /// A thread that waits takes the steps that are handed over, until the wait is over.
    fn wait(&self, goes_on: bool) {
        let mut held = self.enter();
        if held.turn.resume() {
            self.visit(held, &mut || goes_on);
        }
    }

    fn visit<'m>(&'m self, mut held: Lock<'m>, goes_on: &mut dyn FnMut() -> bool) {
        take_steps(&mut held, &mut None, &mut self.most.clone(), goes_on, |held, step| {
            let submits = step.take().expect("a step is taken once");
            held.let_go();
            assert!(!self.is_inside.swap(true, Ordering::AcqRel), "two threads take steps");
            if submits > 0 {
                self.submit(submits, 0);
            }
            self.is_inside.store(false, Ordering::Release);
            held.take_again();
            held.ended += 1;
            if held.ended == self.all {
                held.tell();
            }
            1
        });
    }

    /// Submits steps, of which the first submits more.
    fn submit(&self, steps: u32, of_first: u32) {
        let mut held = self.enter();
        held.steps.extend((0..steps).map(|step| if step == 0 { of_first } else { 0 }));
        self.pump(held);
    }

    fn submit_function(&self) {
        let mut held = self.enter();
        held.functions += 1;
        self.pump(held);
    }

    /// The loop of a thread of the dispatcher, until all has ended.
    fn serve(&self, index: usize) {
        let bell = &self.bells[index];
        bell.listen();
        loop {
            let seen = bell.count();
            let mut held = self.enter();
            held.sleepers.wakes(index);
            if held.ended == self.all {
                // In the dispatcher the end of a bell does that.
                drop(held);
                return self.bells.iter().for_each(Bell::wake);
            }
            if held.sleepers.keep_watch(index) {
                drop(held);
                if !self.watch(index) {
                    continue;
                }
            } else if held.functions > 0 {
                held.functions -= 1;
                held.sleepers.runs();
                drop(held);
            } else if held.sleepers.sleeps(index) {
                drop(held);
                // The nap.
                thread::yield_now();
                continue;
            } else {
                drop(held);
                bell.wait(&RealHost::new(), None, &mut || bell.count() != seen);
                continue;
            }
            let mut held = self.enter();
            held.sleepers.has_run(hal::Nanos::ZERO);
            held.ended += 1;
            if held.ended == self.all {
                held.tell();
            }
            self.pump(held);
        }
    }

    /// Keeps the watch until all has ended, or until there is a function and another thread to keep the watch. Returns
    /// whether it has taken a function.
    fn watch(&self, index: usize) -> bool {
        let bell = &self.bells[index];
        loop {
            let seen = bell.count();
            let mut held = self.enter();
            if held.turn.resume() {
                self.visit(held, &mut || false);
                held = self.enter();
            }
            if held.ended == self.all {
                held.sleepers.leave_watch();
                return false;
            }
            if held.functions > 0 {
                held.sleepers.expects_function();
            }
            if held.functions > 0 && held.sleepers.may_leave_watch(self.bells.len()) {
                held.functions -= 1;
                held.sleepers.leave_watch();
                held.sleepers.runs();
                return true;
            }
            let is_handed_over = held.turn.is_handed_over();
            held.sleepers.watcher_sleeps(is_handed_over, false, false);
            drop(held);
            bell.wait(&RealHost::new(), None, &mut || bell.count() != seen);
        }
    }

    fn assert_over(&self) {
        let mut held = self.enter();
        assert_eq!((held.ended, held.steps.len(), held.functions), (self.all, 0, 0), "something is left behind");
        assert!(held.turn.resume() || held.turn.begin(), "the turn is kept");
    }
}

/// Checks the orders with up to so many switches from a thread that could go on: all orders take too long.
fn check(switches: usize, body: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(switches);
    model.check(body);
}

/// Each step is taken, and by one thread at a time, also those that a step submits.
#[test]
fn no_step_is_left_behind() {
    check(4, || {
        let model = Model::new(9, 4, 0);
        let others = [0, 1, 0].map(|of_first| {
            let model = Arc::clone(&model);
            thread::spawn(move || model.submit(1, of_first))
        });
        others.into_iter().for_each(|other| other.join().unwrap());
        model.assert_over();
    });
}

/// Steps that a thread leaves after its share are taken by the thread on watch.
#[test]
fn steps_that_are_handed_over_are_taken() {
    check(4, || {
        let model = Model::new(1, 4, 1);
        let (serves, submits, more) = (Arc::clone(&model), Arc::clone(&model), Arc::clone(&model));
        let watcher = thread::spawn(move || serves.serve(0));
        let others = [thread::spawn(move || submits.submit(1, 0)), thread::spawn(move || more.submit(2, 1))];
        others.into_iter().for_each(|other| other.join().unwrap());
        watcher.join().unwrap();
        model.assert_over();
    });
}

/// The same while a thread waits, which takes some of them, or all.
#[test]
fn steps_that_are_handed_over_are_taken_by_a_thread_that_waits() {
    for goes_on in [false, true] {
        check(3, move || {
            let model = Model::new(1, 3, 1);
            let (serves, waits, submits) = (Arc::clone(&model), Arc::clone(&model), Arc::clone(&model));
            let watcher = thread::spawn(move || serves.serve(0));
            let others = [thread::spawn(move || waits.wait(goes_on)), thread::spawn(move || submits.submit(3, 0))];
            others.into_iter().for_each(|other| other.join().unwrap());
            watcher.join().unwrap();
            model.assert_over();
        });
    }
}

/// Of two threads one keeps the watch, and the other hears of functions.
#[test]
fn functions_are_run_and_steps_taken() {
    check(3, || {
        let model = Model::new(1, 3, 2);
        let threads = [0, 1].map(|index| {
            let model = Arc::clone(&model);
            thread::spawn(move || model.serve(index))
        });
        let submits = Arc::clone(&model);
        let submits = thread::spawn(move || {
            submits.submit(2, 0);
            submits.submit_function();
        });
        submits.join().unwrap();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        model.assert_over();
    });
}

/// The watch goes from thread to thread with the functions.
#[test]
fn the_watch_is_never_left_to_none() {
    check(3, || {
        let model = Model::new(1, 3, 2);
        let threads = [0, 1].map(|index| {
            let model = Arc::clone(&model);
            thread::spawn(move || model.serve(index))
        });
        let mut held = model.enter();
        held.functions = 2;
        // The thread on watch sees them.
        held.tell();
        model.pump(held);
        model.submit(1, 0);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        model.assert_over();
    });
}

/// A watch that is left for a short function is found by the thread that stands by, which is not rung.
#[test]
fn a_watch_that_is_left_is_found_behind_a_nap() {
    check(3, || {
        let model = Model::new(1, 4, 2);
        let mut held = model.enter();
        held.sleepers.runs();
        held.sleepers.has_run(hal::Nanos::ZERO);
        held.functions = 2;
        drop(held);
        let threads = [0, 1].map(|index| {
            let model = Arc::clone(&model);
            thread::spawn(move || model.serve(index))
        });
        model.submit(2, 0);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        model.assert_over();
    });
}
