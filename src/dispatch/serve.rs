//! The threads of the dispatcher: one keeps the watch, and the others run functions of the host.
//!
//! They take their functions from the graph's own queue, which knows priorities, and not from deques of their own: a
//! thread has to report the end of a function under the dispatcher's lock anyway, and takes the next one there.

use std::sync::Arc;

use hal::{Host, Nanos};

use crate::dispatch::inside::Inside;
use crate::dispatch::shared::Shared;
use crate::dispatch::visit::run;
use crate::dispatch::watch::watch;

/// A thread that finds nothing to do looks again for so long before it sleeps: to wake a thread takes as long.
const AWAKE: Nanos = Nanos::from_us(30);

/// Keeps the watch or runs functions, until the dispatcher is closed.
pub(crate) fn serve(shared: &Arc<Shared>, host: &dyn Host, index: usize) {
    let bell = &shared.bells[index];
    bell.listen();
    let _inside = Inside::begin(Arc::as_ptr(shared) as usize);
    while !bell.has_ended() {
        let seen = bell.count();
        let mut held = shared.enter();
        let next = if held.sleepers.keep_watch(index) {
            drop(held);
            watch(shared, host, bell)
        } else {
            let next = held.host_step();
            match &next {
                Some(_) => held.sleepers.runs(),
                None => held.sleepers.sleeps(index),
            }
            drop(held);
            next
        };
        if let Some((node, function)) = next {
            let outcome = run(function);
            let mut held = shared.enter();
            held.sleepers.has_run();
            held.ran(node, outcome);
            shared.pump(held);
            continue;
        }
        let news = || bell.count() != seen;
        if !host.is_virtual() {
            host.wait_until(Some(host.now() + AWAKE), &mut { news });
        }
        bell.wait(host, None, &mut { news });
    }
}
