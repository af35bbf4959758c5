//! Hardware queues: first in, first out, across the streams that share them.

use std::collections::VecDeque;

use super::stream::Stream;
use super::{ContextKey, Model, Ns, OpKey, QueueKey, StreamKey};

/// The kind of work that a queue takes.
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
    /// The number of classes.
    pub(crate) const COUNT: usize = 5;

    /// The name in reports.
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
    /// Whether it belongs to one stream and is dropped with it.
    pub(crate) private: bool,
    /// The context whose streams share it; `None` if it is private.
    pub(crate) context: Option<ContextKey>,
    pub(crate) ops: VecDeque<OpKey>,
    /// The engine of its last copy, as long as no write has followed.
    pub(crate) unflushed: Option<usize>,
    /// The time from which it counts as idle for a stream that looks for a queue; meaningless while it holds
    /// operations.
    idle_at: Ns,
}

/// The queues of one class in one context.
#[derive(Default)]
pub(crate) struct Pool {
    queues: Vec<QueueKey>,
    /// The queue that is next in turn.
    next: u32,
}

impl Pool {
    /// All queues of the pool.
    pub(crate) fn queues(&self) -> &[QueueKey] {
        &self.queues
    }
}

impl Model {
    /// The number of queues of a class; `None` for one per stream.
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

    fn new_queue(&mut self, class: Class, number: u32, context: Option<ContextKey>) -> QueueKey {
        let private = context.is_none();
        let ops = VecDeque::new();
        self.queues.insert(Queue { class, number, private, context, ops, unflushed: None, idle_at: 0 })
    }

    /// The next idle queue of a pool in turn; if none is idle, the next in turn.
    fn pick_queue(&mut self, context: ContextKey, class: Class) -> QueueKey {
        let Some(limit) = self.pool_limit(class) else {
            let pool = &mut self.contexts[context].pools[class as usize];
            pool.next += 1;
            let number = pool.next - 1;
            return self.new_queue(class, number, None);
        };
        while (self.contexts[context].pools[class as usize].queues.len() as u32) < limit {
            let number = self.contexts[context].pools[class as usize].queues.len() as u32;
            let queue = self.new_queue(class, number, Some(context));
            self.contexts[context].pools[class as usize].queues.push(queue);
        }
        let pool = &self.contexts[context].pools[class as usize];
        let idle = |number: &u32| {
            let queue = &self.queues[pool.queues[*number as usize]];
            queue.ops.is_empty() && queue.idle_at <= self.now
        };
        let in_turn = (0..limit).map(|step| (pool.next + step) % limit);
        let number = in_turn.clone().find(idle).unwrap_or(pool.next % limit);
        let queue = pool.queues[number as usize];
        self.contexts[context].pools[class as usize].next = (number + 1) % limit;
        queue
    }

    /// The queue for the stream's next operation of a class. While the stream has unfinished work of that class, it
    /// stays on the same queue. Otherwise it takes the next idle one.
    pub(crate) fn queue_of(&mut self, stream: StreamKey, class: Class) -> QueueKey {
        let own = &self.streams[stream];
        if let Some(queue) = own.queues[class as usize]
            && (own.queued[class as usize] > 0 || self.queues[queue].private)
        {
            return queue;
        }
        let queue = self.pick_queue(own.context, class);
        self.streams[stream].queues[class as usize] = Some(queue);
        queue
    }

    /// Puts an operation at the end of a queue.
    pub(crate) fn enter_queue(&mut self, stream: StreamKey, queue: QueueKey, op: OpKey) {
        let class = self.queues[queue].class;
        self.streams[stream].queued[class as usize] += 1;
        self.queues[queue].ops.push_back(op);
    }

    /// The queue of the stream's next memory operation: behind its last copy, else among its kernels.
    pub(crate) fn memop_queue(&mut self, stream: StreamKey) -> QueueKey {
        let class = self.streams[stream].memop_class;
        self.queue_of(stream, class)
    }

    /// Drops the queues that belong to this stream alone.
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

    /// Takes an operation off its queue. It must be the head.
    pub(crate) fn leave_queue(&mut self, op: OpKey) {
        let Some(queue) = self.ops[op].queue.take() else { return };
        let idle_at = self.now + self.parameters.queue.idle_after_ns;
        let queue = &mut self.queues[queue];
        let head = queue.ops.pop_front();
        debug_assert_eq!(head, Some(op), "a queue runs its head only");
        queue.idle_at = idle_at;
        let class = queue.class;
        let stream = self.ops[op].stream;
        self.streams[stream].queued[class as usize] -= 1;
    }

    /// Lets the head of a queue begin, if it can.
    pub(crate) fn touch_head(&mut self, queue: QueueKey) {
        if let Some(&head) = self.queues.get(queue).and_then(|q| q.ops.front()) {
            self.touch(head);
        }
    }
}
