//! Takes the entries of the mailboxes: appends the tasks to the graph, and applies the reports.

use std::sync::Arc;

use graph::{Cause, Spec};

use crate::dispatch::arrivals::{Arrival, Entry, Mail, Number};
use crate::dispatch::mailboxes::Takes;
use crate::dispatch::state::State;
use crate::work::function::Work;

impl State {
    /// Takes the entries that threads have left.
    #[inline]
    pub fn look_in(&mut self) {
        if self.mailboxes.has_news() || !self.failed.is_empty() {
            // A thread leaves a task while the one before it has not failed, to its knowledge. If that has, the entry
            // is in its mailbox by now, or the thread learns of the failure there.
            self.take_arrivals(!self.failed.is_empty());
        }
    }

    /// Takes the last entries: from now on none are left.
    pub fn close_mailboxes(&mut self) {
        self.mailboxes.close();
        // A thread may have left one, and not told of it yet.
        self.take_arrivals(true);
    }

    #[inline(never)]
    fn take_arrivals(&mut self, all: bool) {
        let (mailboxes, mut mail) = (Arc::clone(&self.mailboxes), std::mem::take(&mut self.mail));
        mailboxes.take(all, &mut mail, self);
        self.mail = mail;
        self.failed.clear();
        let mut reached = std::mem::take(&mut self.reached);
        reached.drain(..).for_each(|(lane, mark)| self.reach(lane, mark));
        self.reached = reached;
        self.collect();
    }

    fn arrive(&mut self, arrival: Arrival, name: &str) {
        let Arrival { node, after, set, kind, device, priority, character, work } = arrival;
        let cause: Option<Cause> =
            self.failed.iter().find_map(|&(failed, cause)| (Some(failed) == after).then_some(cause));
        match self.sets.get(set) {
            Some(set) => self.bodies.fill(node, set, character, Work::Launch(work)),
            None => self.dead.add_work(Work::Launch(work)),
        }
        self.expect(character);
        let after = after.as_slice();
        self.graph.append_reserved(
            node,
            &Spec { kind, priority, name, after, references: 0, device, in_copy_strand: false },
            cause,
        );
    }
}

impl Takes<Mail, Number> for State {
    fn take(&mut self, mail: &mut Mail) {
        let mut from = 0;
        for entry in mail.entries.drain(..) {
            match entry {
                Entry::Task(arrival, length) => {
                    let name = &mail.names[from..from + length];
                    self.arrive(arrival, name);
                    from += length;
                }
                Entry::Want(node) => self.want(node),
                // Tasks may have failed by it, and of those that were left behind them some are still in their
                // mailboxes.
                Entry::Reached(lane, mark) => self.reached.push((lane, mark)),
            }
        }
        mail.names.clear();
    }

    fn refill(&mut self, store: &mut Vec<Number>, missing: usize) {
        for node in std::iter::from_fn(|| self.graph.reserve()).take(missing) {
            store.push((node, self.bodies.reserve(node)));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use graph::{Kind, Priority};
    use hal::{Device, Driver};
    use softgpu::SoftGpu;

    use super::*;
    use crate::dispatch::body::Character;
    use crate::dispatch::{DispatchOptions, Dispatcher};
    use crate::task::{Handle, Lane, More, Tasks};
    use crate::work::function::Launch;
    use copies::{Options, Overtake};

    #[test]
    fn a_task_that_is_waited_for_before_it_comes_is_wanted() {
        let driver: Arc<dyn Driver> = Arc::new(SoftGpu::builder().build());
        let overtake = Arc::new(Overtake::open(&driver, Device(0), Options::default()).unwrap());
        let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default()).unwrap();
        let (tasks, mut store, mut mail) = (Tasks::new(&dispatcher), Vec::new(), Mail::default());
        let shared = tasks.shared();
        let mut held = shared.enter();
        held.refill(&mut store, 1);
        let (node, outcome) = store.remove(0);
        mail.want(node);
        held.take(&mut mail);
        let (kind, priority, device) = (Kind::Kernel, Priority::LOWEST, 0);
        let character = Character::new(kind, priority, device, false);
        let work = Launch::own(|_: &mut Lane<'_>| Ok(More::Done));
        let set = tasks.set().id();
        mail.submit(Arrival { node, after: None, set, kind, device, priority, character, work }, "late");
        held.take(&mut mail);
        assert!(held.bodies.running(node).is_wanted);
        shared.pump(held);
        Handle::new(node, outcome).wait().unwrap();
    }
}
