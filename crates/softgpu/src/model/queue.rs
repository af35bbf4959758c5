//! Hardware queues: first in, first out, across the streams that share them.

use std::collections::VecDeque;

use super::stream::Stream;
use super::{ContextKey, Model, OpKey, QueueKey, StreamKey};
use crate::parameters::Assignment;

/// What kind of work a queue takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Copies to the device.
    H2d,
    /// Copies to the host.
    D2h,
    /// Copies on the device.
    D2d,
    /// Copies to another device.
    Peer,
    /// Kernels, memsets, and memory operations that follow no copy.
    Compute,
}

impl Class {
    /// How many there are.
    pub(crate) const COUNT: usize = 5;
    const ALL: [Class; Class::COUNT] = [Class::H2d, Class::D2h, Class::D2d, Class::Peer, Class::Compute];

    /// As reports name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Class::H2d => "H2D",
            Class::D2h => "D2H",
            Class::D2d => "D2D",
            Class::Peer => "peer",
            Class::Compute => "compute",
        }
    }
}

/// A hardware queue.
pub(crate) struct Queue {
    pub(crate) class: Class,
    /// Number in its pool.
    pub(crate) number: u32,
    /// Whether it belongs to one stream and goes with it.
    pub(crate) private: bool,
    pub(crate) ops: VecDeque<OpKey>,
}

/// The queues of one class in one context.
#[derive(Default)]
pub(crate) struct Pool {
    queues: Vec<QueueKey>,
    /// Streams that were given a queue so far.
    assigned: u32,
}

impl Model {
    /// How many queues a class has; `None` for one per stream.
    fn pool_limit(&self, class: Class) -> Option<u32> {
        let queue = &self.parameters.queue;
        match class {
            Class::H2d => Some(queue.h2d),
            Class::D2h => Some(queue.d2h),
            Class::D2d => Some(queue.d2d),
            Class::Peer => Some(queue.peer),
            Class::Compute => (queue.compute > 0).then_some(queue.compute),
        }
    }

    fn new_queue(&mut self, class: Class, number: u32, private: bool) -> QueueKey {
        self.queues.insert(Queue { class, number, private, ops: VecDeque::new() })
    }

    fn assign_queue(&mut self, context: ContextKey, class: Class) -> QueueKey {
        let limit = self.pool_limit(class);
        let pool = &mut self.contexts[context].pools[class as usize];
        let number = pool.assigned;
        pool.assigned += 1;
        let Some(limit) = limit else { return self.new_queue(class, number, true) };
        let number = number % limit;
        if let Some(&queue) = pool.queues.get(number as usize) {
            return queue;
        }
        let queue = self.new_queue(class, number, false);
        self.contexts[context].pools[class as usize].queues.push(queue);
        queue
    }

    /// The stream's queue of a class, given at the first use.
    pub(crate) fn queue_of(&mut self, stream: StreamKey, class: Class) -> QueueKey {
        if let Some(queue) = self.streams[stream].queues[class as usize] {
            return queue;
        }
        let queue = self.assign_queue(self.streams[stream].context, class);
        self.streams[stream].queues[class as usize] = Some(queue);
        queue
    }

    /// Gives a new stream all its queues, where the parameters say so.
    pub(crate) fn assign_at_creation(&mut self, stream: StreamKey) {
        if self.parameters.queue.assignment == Assignment::Creation {
            for class in Class::ALL {
                self.queue_of(stream, class);
            }
        }
    }

    /// Where the stream's next memory operation goes: behind its last copy, else among its kernels.
    pub(crate) fn memop_queue(&mut self, stream: StreamKey) -> QueueKey {
        match self.streams[stream].last_copy_queue {
            Some(queue) => queue,
            None => self.queue_of(stream, Class::Compute),
        }
    }

    /// Drops the queues that belong to one stream alone.
    pub(crate) fn drop_private_queues(&mut self, stream: &Stream) {
        for queue in stream.queues.iter().flatten() {
            if self.queues.get(*queue).is_some_and(|q| q.private) {
                self.queues.remove(*queue);
            }
        }
    }

    /// Drops the shared queues of a context.
    pub(crate) fn drop_pools(&mut self, pools: [Pool; Class::COUNT]) {
        for queue in pools.into_iter().flat_map(|pool| pool.queues) {
            self.queues.remove(queue);
        }
    }

    /// Takes an operation off its queue; it is the head.
    pub(crate) fn leave_queue(&mut self, op: OpKey) {
        let Some(queue) = self.ops[op].queue.take() else { return };
        let head = self.queues[queue].ops.pop_front();
        debug_assert_eq!(head, Some(op), "a queue runs its head only");
    }

    /// Lets the head of a queue begin, if it can.
    pub(crate) fn touch_head(&mut self, queue: QueueKey) {
        if let Some(&head) = self.queues.get(queue).and_then(|q| q.ops.front()) {
            self.touch(head);
        }
    }
}
