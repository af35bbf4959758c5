//! The dispatcher's threads: one keeps the watch, and the others run host functions.
//!
//! They take functions from the graph's own queue, which knows priorities, rather than from deques of their own: a
//! thread has to report the end of a function under the dispatcher's lock anyway, and takes the next one there.

use std::sync::Arc;

use graph::NodeId;
use hal::{Host, Nanos};

use crate::dispatch::inside::Inside;
use crate::dispatch::shared::Shared;
use crate::dispatch::visit::run;
use crate::dispatch::watch::watch;
use crate::work::function::Function;

/// A thread that finds nothing to do looks again for so long before it sleeps: to wake a thread takes as long.
const AWAKE: Nanos = Nanos::from_us(30);
/// The nap of a thread that stands by. If a function takes long though those before it were short, the ends that come
/// meanwhile are seen so much later at the most.
const STANDBY_NAP: Nanos = Nanos::from_us(250);

/// The next thing for a thread to do.
enum Next {
    Run(NodeId, Function),
    Sleep,
    StandBy,
}

/// Keeps the watch or runs functions, until the dispatcher is closed.
pub(crate) fn serve(shared: &Arc<Shared>, host: &dyn Host, index: usize) {
    let bell = &shared.bells[index];
    bell.listen();
    let _inside = Inside::begin(Arc::as_ptr(shared) as usize);
    let mut has_napped = false;
    while !bell.has_ended() {
        let seen = bell.count();
        let next = next(shared, host, index);
        let naps = match next {
            Next::Run(node, function) => {
                run_timed(shared, host, node, function);
                has_napped = false;
                continue;
            }
            Next::Sleep => None,
            Next::StandBy => Some(STANDBY_NAP),
        };
        let news = || bell.count() != seen;
        if !(host.is_virtual() || has_napped) {
            host.wait_until(Some(host.now() + AWAKE), &mut { news });
        }
        bell.wait(host, naps.map(|nap| host.now() + nap), &mut { news });
        has_napped = naps.is_some() && !news();
    }
}

/// Keeps the watch if no other thread does, and then looks for a function.
fn next(shared: &Arc<Shared>, host: &dyn Host, index: usize) -> Next {
    let mut held = shared.enter();
    held.sleepers.wakes(index);
    let function = if held.sleepers.keep_watch(index) {
        drop(held);
        watch(shared, host, &shared.bells[index])
    } else {
        let function = held.host_step();
        match &function {
            Some(_) => held.sleepers.runs(),
            None if held.sleepers.sleeps(index) => return Next::StandBy,
            None => {}
        }
        function
    };
    function.map_or(Next::Sleep, |(node, function)| Next::Run(node, function))
}

/// Runs a function, and reports its end.
fn run_timed(shared: &Arc<Shared>, host: &dyn Host, node: NodeId, function: Function) {
    let began = host.now();
    let outcome = run(function);
    let span = host.now().since(began);
    let mut held = shared.enter();
    held.sleepers.has_run(span);
    held.ran(node, outcome);
    shared.pump(held);
}
