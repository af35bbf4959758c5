//! The options of a dispatcher.

use graph::Order;

/// The options of a dispatcher.
#[derive(Clone, Copy, Debug)]
pub struct DispatchOptions {
    /// The order of ready tasks; an order by ranks needs a policy ([`crate::dispatch::Dispatcher::open_ranked`]).
    pub order: Order,
    /// The number of groups of neighbouring priorities; each group has its own lanes.
    pub groups: u8,
    /// The number of lanes of a group. They are device streams, created when the dispatcher is opened. A context has
    /// room for some 35 streams before creating one waits, and the copy layer takes 13.
    pub lanes: u8,
    /// The number of threads that run host functions. None is reserved for urgent ones: use more than the number of
    /// long functions that run at the same time.
    pub workers: u8,
    /// The maximum number of unfinished tasks. A full dispatcher refuses more ([`graph::Refused::WouldBlock`]). The
    /// replay of a template of kernels only counts as one.
    pub tasks_max: u32,
}

/// The most functions of the host that run at once. Each thread has a bit, and there is one thread more.
pub(crate) const WORKERS_MAX: u8 = 63;

impl Default for DispatchOptions {
    fn default() -> DispatchOptions {
        DispatchOptions { order: Order::Default, groups: 2, lanes: 8, workers: 2, tasks_max: 1 << 16 }
    }
}
