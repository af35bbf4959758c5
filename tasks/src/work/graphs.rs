//! The CUDA graphs of a template whose launches are the same at each replay: captured once for the lanes of a group,
//! and instantiated for each of these lanes. They are destroyed with the template, or with the dispatcher of the lanes.

use std::mem;
use std::sync::{Arc, Mutex};

use copies::Overtake;
use hal::locks::lock;
use hal::{Driver, Graph, GraphExec};
use os::forks::Process;

/// So often a graph of a group cannot be made before all its replays go by calls. At the first time the driver or a
/// library may load something, which it cannot do in a capture.
const FAILURES_MAX: u32 = 2;

/// A lane of a dispatcher.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The address of the dispatcher.
    pub home: usize,
    /// The number of the lane's group among those of the dispatcher.
    pub group: u8,
    pub lane: u8,
}

/// The answer about a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It can be launched there.
    Ready(GraphExec),
    /// It has been captured for another lane of the group.
    Captured(Graph),
    /// It has to be captured.
    None,
    /// It could not be made.
    Refused,
}

/// All graphs of a template.
pub(crate) struct Graphs {
    made: Mutex<Made>,
    process: Process,
}

#[derive(Default)]
struct Made {
    /// With the address of the dispatcher, and the lane. A graph never runs beside itself, so each lane has one:
    /// replays in two lanes do not wait for each other.
    ready: Vec<(usize, u8, GraphExec)>,
    captured: Vec<OfGroup>,
}

/// The graph for the lanes of a group, which have one device and one priority of the driver's.
struct OfGroup {
    home: usize,
    group: u8,
    /// The context of the lanes lives as long as their graphs.
    layer: Arc<Overtake>,
    graph: Option<Graph>,
    failures: u32,
}

impl Default for Graphs {
    /// None.
    fn default() -> Graphs {
        Graphs { made: Mutex::default(), process: Process::this() }
    }
}

impl Graphs {
    /// The graph for a lane. It stays while a replay has these graphs and the dispatcher is open.
    #[inline]
    pub fn find(&self, home: usize, lane: u8) -> Option<GraphExec> {
        let made = lock(&self.made);
        made.ready.iter().find_map(|&(of, number, exec)| (of == home && number == lane).then_some(exec))
    }

    /// The same, where there may be none yet.
    #[cold]
    pub fn find_captured(&self, place: Place) -> Found {
        if let Some(exec) = self.find(place.home, place.lane) {
            return Found::Ready(exec);
        }
        let mut made = lock(&self.made);
        let Some(of_group) = made.of_group(place) else { return Found::None };
        match of_group.graph {
            _ if of_group.failures >= FAILURES_MAX => Found::Refused,
            Some(graph) => Found::Captured(graph),
            None => Found::None,
        }
    }

    /// A graph cannot be made. Returns whether this has been the last time.
    pub fn refuse(&self, place: Place, layer: &Arc<Overtake>) -> bool {
        let mut made = lock(&self.made);
        let of_group = made.enter(place, layer);
        of_group.failures += 1;
        of_group.failures >= FAILURES_MAX
    }

    /// One has been captured.
    pub fn keep(&self, place: Place, layer: &Arc<Overtake>, graph: Graph) {
        lock(&self.made).enter(place, layer).graph = Some(graph);
    }

    /// One has been made ready.
    pub fn keep_ready(&self, place: Place, exec: GraphExec) {
        lock(&self.made).ready.push((place.home, place.lane, exec));
    }

    /// Those of a dispatcher end. None of its lanes has work any more.
    pub fn end(&self, home: usize) {
        let mut made = lock(&self.made);
        let (ready, others) = mem::take(&mut made.ready).into_iter().partition(|(of, ..)| *of == home);
        let (captured, other_groups) = mem::take(&mut made.captured).into_iter().partition(|it| it.home == home);
        *made = Made { ready: others, captured: other_groups };
        drop(made);
        destroy(Made { ready, captured });
    }
}

impl Made {
    fn of_group(&mut self, Place { home, group, .. }: Place) -> Option<&mut OfGroup> {
        self.captured.iter_mut().find(|it| it.home == home && it.group == group)
    }

    fn enter(&mut self, place: Place, layer: &Arc<Overtake>) -> &mut OfGroup {
        let at = self.captured.iter().position(|it| it.home == place.home && it.group == place.group);
        let at = at.unwrap_or_else(|| {
            let Place { home, group, .. } = place;
            self.captured.push(OfGroup { home, group, layer: Arc::clone(layer), graph: None, failures: 0 });
            self.captured.len() - 1
        });
        &mut self.captured[at]
    }
}

/// A launch that is under way still completes.
fn destroy(Made { ready, captured }: Made) {
    let Some(layer) = captured.first().map(|it| Arc::clone(&it.layer)) else { return };
    let all = |driver: &dyn Driver| {
        let ready = ready.iter().map(|(_, _, exec)| driver.graph_exec_destroy(*exec));
        let captured = captured.iter().filter_map(|it| it.graph).map(|graph| driver.graph_destroy(graph));
        // All of them: one that cannot be destroyed keeps no other.
        ready.chain(captured).filter_map(Result::err).last().map_or(Ok(()), Err)
    };
    // A graph is the process's, and no context's: it is no matter which one is current.
    if let Err(error) = layer.cuda_context().call(all) {
        log::warn!("a graph of a template cannot be destroyed: {error}");
    }
}

impl Drop for Graphs {
    fn drop(&mut self) {
        let made = mem::take(self.made.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner));
        if self.process.is_this() {
            destroy(made);
        } else {
            // The driver has no threads in the child of a fork: a call could wait for them for ever.
            mem::forget(made);
        }
    }
}
