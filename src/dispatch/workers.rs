//! The threads that run functions of the host.
//!
//! They take their functions from the graph's own queue, which knows priorities, and not from deques of their own: a
//! worker has to report the end of a function under the dispatcher's lock anyway, and takes the next one there.

use std::sync::Arc;

use hal::{Host, Nanos};

use crate::dispatch::inside::Inside;
use crate::dispatch::shared::{Shared, run};

/// A worker that finds no function looks again for so long before it sleeps: to wake a thread takes as long.
const AWAKE: Nanos = Nanos::from_us(30);

/// Runs functions until the dispatcher is closed.
pub(crate) fn work(shared: &Arc<Shared>, host: &dyn Host, index: usize) {
    let bell = &shared.bells.workers[index];
    bell.listen();
    let _inside = Inside::begin(Arc::as_ptr(shared) as usize);
    while !bell.has_ended() {
        let seen = bell.count();
        let mut held = shared.enter();
        if let Some((node, function)) = held.host_step() {
            drop(held);
            let outcome = run(function);
            let mut held = shared.enter();
            held.ran(node, outcome);
            shared.pump(held);
            continue;
        }
        held.sleepers.worker_sleeps(index);
        drop(held);
        let news = || bell.count() != seen;
        if !host.is_virtual() {
            host.wait_until(Some(host.now() + AWAKE), &mut { news });
        }
        bell.wait(host, None, &mut { news });
    }
}
