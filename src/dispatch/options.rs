//! The options of a dispatcher.

use graph::{Inference, Order};

/// The parameters of a dispatcher.
#[derive(Clone, Copy, Debug)]
pub struct DispatchOptions {
    /// The order of ready tasks; that of ranks needs a policy ([`crate::dispatch::Dispatcher::open_ranked`]).
    pub order: Order,
    /// Groups of neighbouring priorities; each has lanes of its own.
    pub groups: u8,
    /// The lanes of a group: streams of the device, made at once. A context has room for some 35 streams without
    /// waiting, and the copy layer takes 13.
    pub lanes: u8,
    /// Threads that run functions of the host. None is kept for urgent ones: have more than there are long functions at
    /// once.
    pub workers: u8,
    /// The most tasks that have not ended. A full dispatcher refuses ([`graph::Refused::WouldBlock`]). The replay of a
    /// template of kernels alone counts as one.
    pub tasks_max: u32,
    /// The most tasks of a lane that have been launched and are not complete; ready tasks wait outside the lane. 0: the
    /// lanes have no bound of their own, and a task costs less.
    pub lane_tasks_max: u32,
    /// How the order of computations is inferred from the arrays that they use.
    pub inference: Inference,
}

/// The most functions of the host that run at once. Each thread has a bit, and there is one thread more.
pub(crate) const WORKERS_MAX: u8 = 63;

impl Default for DispatchOptions {
    fn default() -> DispatchOptions {
        DispatchOptions {
            order: Order::Default,
            groups: 2,
            lanes: 8,
            workers: 2,
            tasks_max: 1 << 16,
            lane_tasks_max: 0,
            inference: Inference::default(),
        }
    }
}
