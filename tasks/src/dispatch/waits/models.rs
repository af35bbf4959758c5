//! Loom models of a thread that polls marks itself, next to the thread on watch and a future: each mark is seen.
//!
//! The sleepers, the turn, the held lock and the bells are the dispatcher's own. A thread that sleeps forever is a
//! deadlock, and fails the model.

use driver::RealHost;
use loom::sync::Arc;
use loom::thread;
use threads::Bell;

use crate::dispatch::held::{self, Held};
use crate::dispatch::sleepers::{Calls, Sleepers, Sleeps};
use crate::dispatch::turn::Turn;

#[derive(Default)]
struct State {
    turn: Turn,
    sleepers: Sleepers,
    /// Marks that are to be recorded, that have been, and that the thread on watch has seen.
    wanted: u32,
    recorded: u32,
    seen: u32,
}

impl Sleeps for State {
    fn may_call(&self) -> bool {
        self.sleepers.may_call(|| false)
    }

    fn calls(&mut self) -> Calls {
        self.sleepers.calls(false)
    }
}

struct Model {
    bells: [Bell; 1],
    state: held::Lock<State>,
}

impl Model {
    fn new() -> Arc<Model> {
        Arc::new(Model { bells: [Bell::default()], state: held::Lock::new(State::default()) })
    }

    fn enter(&self) -> Held<'_, State> {
        Held::new(&self.bells, &self.state)
    }

    /// Records marks, unless another thread does. The lock is let go of for each call of the driver.
    fn pump(&self, mut held: Held<'_, State>) {
        if !held.turn.begin() {
            return;
        }
        while held.recorded < held.wanted {
            held.let_go();
            held.take_again();
            held.recorded += 1;
            held.sleepers.tell_of_mark(true);
        }
        held.turn.end();
    }

    /// A future counts on the thread on watch.
    fn poll(&self) {
        let mut held = self.enter();
        held.wanted += 1;
        held.sleepers.count_on_watch();
        self.pump(held);
    }

    /// A thread waits for work of which it sees the end, but for the mark that it has had recorded.
    fn wait(&self) {
        let mut held = self.enter();
        held.wanted += 1;
        held.sleepers.waiter_looks(true);
        self.pump(held);
        self.enter().sleepers.waiter_looks(false);
        let mut held = self.enter();
        if held.seen < held.recorded {
            held.sleepers.leave_news();
        }
    }

    /// Keeps the watch until it has seen so many marks.
    fn watch(&self, marks: u32) {
        let [bell] = &self.bells;
        bell.listen();
        assert!(self.enter().sleepers.keep_watch(0));
        loop {
            let seen = bell.count();
            let mut held = self.enter();
            held.seen = held.recorded;
            if held.seen == marks {
                return;
            }
            held.sleepers.watcher_sleeps(false, false, false);
            drop(held);
            bell.wait(&RealHost::new(), None, &mut || bell.count() != seen);
        }
    }
}

/// Runs the threads beside the one on watch, in orders with few switches.
fn check(threads: &'static [fn(&Model)]) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let model = Model::new();
        let watches = Arc::clone(&model);
        let watch = thread::spawn(move || watches.watch(threads.len() as u32));
        let others = threads.iter().map(|run| {
            let model = Arc::clone(&model);
            thread::spawn(move || run(&model))
        });
        others.collect::<Vec<_>>().into_iter().for_each(|other| other.join().unwrap());
        watch.join().unwrap();
    });
}

#[test]
fn a_mark_that_a_thread_leaves_is_seen() {
    check(&[Model::wait]);
}

#[test]
fn a_mark_of_a_future_beside_that_thread_is_seen() {
    check(&[Model::wait, Model::poll]);
}
