//! Loom models of threads that leave entries for the thread with the turn. The mailboxes and the turn are the
//! dispatcher's own; lists replace the graph.

use loom::thread;

use super::*;
use crate::dispatch::turn::Turn;

/// A task that comes after one that may fail.
const FOLLOWER: u32 = 7;

#[derive(Default)]
struct State {
    turn: Turn,
    ready: Vec<u32>,
    ended: Vec<u32>,
    /// The task before the follower has failed, and all mailboxes have not been looked at since.
    has_failed: bool,
    /// Followers in the graph, where a failure finds them.
    followers: u32,
    /// Followers that have failed.
    failures: u32,
}

impl Takes<Vec<u32>, u32> for State {
    fn take(&mut self, mail: &mut Vec<u32>) {
        for entry in mail.drain(..) {
            match entry {
                FOLLOWER if self.has_failed => self.failures += 1,
                FOLLOWER => self.followers += 1,
                other => self.ready.push(other),
            }
        }
    }

    fn refill(&mut self, store: &mut Vec<u32>, missing: usize) {
        store.extend((0..).take(missing.min(2)));
    }
}

struct Model {
    state: Mutex<State>,
    mailboxes: Mailboxes<Vec<u32>, u32>,
    /// The outcome of the task before the follower.
    has_failed: AtomicBool,
}

impl Model {
    fn new() -> Arc<Model> {
        let state = State::default();
        let mailboxes = Mailboxes::new(state.turn.sign());
        Arc::new(Model { state: Mutex::new(state), mailboxes, has_failed: AtomicBool::new(false) })
    }

    fn look_in(&self, state: &mut State) {
        if self.mailboxes.has_news() || state.has_failed {
            self.mailboxes.take(state.has_failed, &mut Vec::new(), state);
            state.has_failed = false;
        }
    }

    /// As the dispatcher's.
    fn pump<'m>(&'m self, mut held: MutexGuard<'m, State>) {
        loop {
            if !held.turn.begin() {
                return;
            }
            loop {
                self.look_in(&mut held);
                let Some(step) = held.ready.pop() else { break };
                drop(held);
                held = lock(&self.state);
                held.ended.push(step);
            }
            held.turn.end();
            drop(held);
            if !self.mailboxes.has_late_news() {
                return;
            }
            held = lock(&self.state);
            self.look_in(&mut held);
        }
    }

    fn submit(&self, mailbox: usize, entry: u32) {
        if self.mailboxes.is_attended() {
            let (index, mut held) = self.mailboxes.mailbox(mailbox);
            held.mail.push(entry);
            drop(held);
            if !self.mailboxes.post(index) {
                return;
            }
            let mut held = lock(&self.state);
            self.look_in(&mut held);
            return self.pump(held);
        }
        let mut held = lock(&self.state);
        held.ready.push(entry);
        self.pump(held);
    }

    /// A call that takes the lock and no step.
    fn ask(&self) -> usize {
        let mut held = lock(&self.state);
        if self.mailboxes.has_news() {
            self.look_in(&mut held);
            self.pump(held);
            held = lock(&self.state);
        }
        held.ended.len()
    }
}

fn check(switches: usize, body: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(switches);
    model.check(body);
}

/// Each entry is taken, whether the thread with the turn sees it in time or not.
#[test]
fn no_entry_is_left_behind() {
    check(3, || {
        let model = Model::new();
        let [one, other, third] = [(); 3].map(|()| Arc::clone(&model));
        let third = move || {
            third.submit(0, 3);
            assert!(third.ask() <= 3);
        };
        let threads =
            [thread::spawn(move || one.submit(0, 1)), thread::spawn(move || other.submit(1, 2)), thread::spawn(third)];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let mut held = lock(&model.state);
        assert!(held.turn.begin(), "the turn is kept");
        held.ended.sort_unstable();
        assert_eq!((&held.ended[..], held.ready.len()), (&[1, 2, 3][..], 0), "an entry is left behind");
        assert!(!model.mailboxes.has_news());
    });
}

/// A task that is left behind another one learns of its failure, however late that comes.
#[test]
fn a_follower_learns_of_the_failure() {
    check(3, || {
        let model = Model::new();
        let (fails, follows) = (Arc::clone(&model), Arc::clone(&model));
        let failing = thread::spawn(move || {
            let mut held = lock(&fails.state);
            fails.has_failed.store(true, Ordering::Release);
            held.failures += std::mem::take(&mut held.followers);
            held.has_failed = true;
            fails.look_in(&mut held);
        });
        let following = thread::spawn(move || {
            let (index, mut mailbox) = follows.mailboxes.mailbox(0);
            let is_told = follows.has_failed.load(Ordering::Acquire);
            if !is_told {
                mailbox.mail.push(FOLLOWER);
            }
            drop(mailbox);
            follows.mailboxes.post(index);
            is_told
        });
        let is_told = following.join().unwrap();
        model.look_in(&mut lock(&model.state));
        failing.join().unwrap();
        let mut held = lock(&model.state);
        model.look_in(&mut held);
        assert!(is_told || held.failures == 1, "the follower has not learnt of the failure");
    });
}
