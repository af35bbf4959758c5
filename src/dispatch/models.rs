//! Model checks of the turn to take steps, and of threads that sleep until there is something to do.
//!
//! The turn, the sleepers, the held lock and the bells are the dispatcher's own. Counts stand in the place of the
//! graph. A thread that sleeps for ever is a deadlock, which ends the check.

use driver::RealHost;
use hal::primitive::{AtomicBool, Mutex, MutexGuard, Ordering, lock};
use loom::sync::Arc;
use loom::thread;
use threads::Bell;

use crate::dispatch::bells::Bells;
use crate::dispatch::held::Held;
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
    type Step = Step;
    type Kit = ();

    fn turn(&mut self) -> &mut Turn {
        &mut self.turn
    }

    fn step(&mut self, (): &mut ()) -> Option<Step> {
        self.steps.pop()
    }

    fn tell(&mut self) {
        self.sleepers.has_news = true;
    }
}

impl Sleeps for State {
    fn may_call(&self) -> bool {
        (self.sleepers.has_worker() && self.functions > 0) || self.sleepers.is_completion_called()
    }

    fn calls(&mut self) -> Calls {
        self.sleepers.calls(self.functions > 0)
    }
}

struct Model {
    bells: Bells,
    state: Mutex<State>,
    /// A thread takes a step.
    is_inside: AtomicBool,
    /// A thread takes so many steps at most.
    most: u32,
    /// Steps and functions in all.
    all: u32,
}

type Lock<'m> = Held<'m, MutexGuard<'m, State>>;

impl Model {
    fn new(most: u32, all: u32, workers: usize) -> Arc<Model> {
        Arc::new(Model {
            bells: Bells { completion: Bell::default(), workers: (0..workers).map(|_| Bell::default()).collect() },
            state: Mutex::default(),
            is_inside: AtomicBool::new(false),
            most,
            all,
        })
    }

    fn enter(&self) -> Lock<'_> {
        Held::new(&self.bells, lock(&self.state))
    }

    fn pump<'m>(&'m self, mut held: Lock<'m>) {
        if !held.turn.begin() {
            return;
        }
        drop(take_steps(held, &mut (), self.most, |held, submits, ()| {
            drop(held);
            assert!(!self.is_inside.swap(true, Ordering::AcqRel), "two threads take steps");
            if submits > 0 {
                self.submit(submits, 0);
            }
            self.is_inside.store(false, Ordering::Release);
            let mut held = self.enter();
            held.ended += 1;
            if held.ended == self.all {
                held.tell();
            }
            held
        }));
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

    /// The loop of the completion thread, until all has ended.
    fn look_after(&self) {
        let bell = &self.bells.completion;
        bell.listen();
        loop {
            let seen = bell.count();
            let mut held = self.enter();
            if held.turn.resume() {
                self.pump(held);
                held = self.enter();
            }
            if held.ended == self.all {
                return;
            }
            let is_handed_over = held.turn.is_handed_over();
            held.sleepers.completion_sleeps(is_handed_over);
            drop(held);
            bell.wait(&RealHost::new(), None, &mut || bell.count() != seen);
        }
    }

    /// The loop of a worker, until it has run so many functions.
    fn work(&self, index: usize, most: u32) {
        let bell = &self.bells.workers[index];
        bell.listen();
        let mut run = 0;
        while run < most {
            let seen = bell.count();
            let mut held = self.enter();
            if held.functions > 0 {
                held.functions -= 1;
                drop(held);
                run += 1;
                let mut held = self.enter();
                held.ended += 1;
                self.pump(held);
                continue;
            }
            held.sleepers.worker_sleeps(index);
            drop(held);
            bell.wait(&RealHost::new(), None, &mut || bell.count() != seen);
        }
    }

    fn assert_over(&self) {
        let mut held = self.enter();
        assert_eq!((held.ended, held.steps.len(), held.functions), (self.all, 0, 0), "something is left behind");
        assert!(held.turn.begin(), "the turn is kept");
    }
}

/// Checks the orders with up to so many switches from a thread that could go on: all orders take too long.
fn check(switches: usize, body: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(switches);
    model.check(body);
}

/// Each step is taken, and by one thread at a time, also those that a step submits (T9).
#[test]
fn no_step_is_left_behind() {
    check(4, || {
        let model = Model::new(9, 4, 0);
        let (two, three) = (Arc::clone(&model), Arc::clone(&model));
        let others = [thread::spawn(move || two.submit(1, 1)), thread::spawn(move || three.submit(1, 0))];
        model.submit(1, 0);
        others.into_iter().for_each(|other| other.join().unwrap());
        model.assert_over();
    });
}

/// Steps that a thread leaves after its share are taken by the completion thread.
#[test]
fn steps_that_are_handed_over_are_taken() {
    check(4, || {
        let model = Model::new(1, 4, 0);
        let (looks, submits) = (Arc::clone(&model), Arc::clone(&model));
        let completion = thread::spawn(move || looks.look_after());
        let other = thread::spawn(move || submits.submit(1, 0));
        model.submit(2, 1);
        other.join().unwrap();
        completion.join().unwrap();
        model.assert_over();
    });
}

/// A worker that sleeps hears of functions.
#[test]
fn a_worker_runs_all_functions() {
    check(4, || {
        let model = Model::new(9, 2, 1);
        let (works, submits) = (Arc::clone(&model), Arc::clone(&model));
        let worker = thread::spawn(move || works.work(0, 2));
        let other = thread::spawn(move || submits.submit_function());
        model.submit_function();
        other.join().unwrap();
        worker.join().unwrap();
        model.assert_over();
    });
}

/// One worker is rung for several functions, and rings the next.
#[test]
fn several_workers_hear_of_several_functions() {
    check(3, || {
        let model = Model::new(9, 2, 2);
        let workers = [0, 1].map(|index| {
            let model = Arc::clone(&model);
            thread::spawn(move || model.work(index, 1))
        });
        let mut held = model.enter();
        held.functions = 2;
        model.pump(held);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        model.assert_over();
    });
}
