//! The graph as its owner keeps it, with threads that launch, and a device that does nothing. Behind a lock, only the
//! thread that has the turn takes steps: the others leave theirs to it, and wait for their tasks.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use overtake_graph::{Graph, Kind, LANES_MAX, NodeId, Options, Runner, Spec};
use rayon::ThreadPool;

/// Tasks of a thread between two looks at the timelines.
const BATCH: u64 = 16;
/// So often a thread asks in vain before it gives its processor to others.
const IDLE_MAX: u32 = 100;

/// Chains of tasks. Each has its first task held until the chains are run.
pub struct Chains {
    graph: Mutex<Graph>,
    /// A thread has the turn.
    turn: AtomicBool,
    first: Vec<NodeId>,
    tasks: u64,
}

impl Chains {
    pub fn new(most: usize) -> Chains {
        let options = Options { nodes_max: most as u32, edges_max: most as u32, ..Options::default() };
        let graph = Mutex::new(Graph::new(options).expect("the options fit"));
        Chains { graph, turn: AtomicBool::new(false), first: Vec::new(), tasks: 0 }
    }

    pub fn build(&mut self, chains: usize, length: usize) {
        let graph = self.graph.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.first.clear();
        for _ in 0..chains {
            let mut last = None;
            for _ in 0..length {
                let references = u32::from(last.is_none());
                let spec = Spec { after: last.as_slice(), references, ..Spec::of(Kind::Kernel) };
                let node = graph.append(&spec).expect("there is room");
                if last.is_none() {
                    self.first.push(node);
                }
                last = Some(node);
            }
        }
        self.tasks = (chains * length) as u64;
    }

    /// Runs the chains that have been built, on the threads of this pool, or on this one.
    pub fn run(&mut self, pool: Option<&ThreadPool>) {
        let graph = self.graph.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.first.drain(..).for_each(|first| graph.release(first).expect("it is held"));
        let complete = AtomicU64::new(0);
        match pool {
            Some(pool) => drop(pool.broadcast(|_| self.launch(&complete))),
            None => self.launch(&complete),
        }
    }

    /// Frees the slots of the tasks that have ended. Returns how many there were.
    pub fn free(&mut self) -> u64 {
        let graph = self.graph.get_mut().unwrap_or_else(PoisonError::into_inner);
        std::iter::from_fn(|| graph.ended()).count() as u64
    }

    /// Waits until all tasks are complete. A thread that finds the turn free takes it, for all that there is to launch.
    fn launch(&self, complete: &AtomicU64) {
        let mut idle = 0;
        while complete.load(Ordering::Acquire) < self.tasks {
            if !self.turn.load(Ordering::Relaxed) && !self.turn.swap(true, Ordering::AcqRel) {
                self.launch_all(complete);
                self.turn.store(false, Ordering::Release);
            }
            idle += 1;
            std::hint::spin_loop();
            if idle > IDLE_MAX {
                std::thread::yield_now();
            }
        }
    }

    /// Launches tasks until none is ready. The lock is released while a task is launched.
    fn launch_all(&self, complete: &AtomicU64) {
        let mut lanes = Lanes { values: [0; LANES_MAX as usize], reached: 0, count: 0 };
        let mut last = None;
        loop {
            let mut graph = self.graph.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(node) = last {
                let at = graph.launched(node).expect("it is being launched").at.expect("the device is there");
                lanes.values[usize::from(at.lane)] = at.value;
                lanes.reached |= 1 << at.lane;
                lanes.count += 1;
            }
            last = graph.next(Runner::Device).map(|ready| ready.node);
            if last.is_none() || lanes.count == BATCH {
                complete.fetch_add(lanes.complete(&mut graph), Ordering::Release);
            }
            drop(graph);
            // Here the task's work would be submitted.
            if black_box(last).is_none() {
                return;
            }
        }
    }
}

/// The last value of each lane that a thread has submitted to, and the lanes that are not reported, a bit each.
struct Lanes {
    values: [u64; LANES_MAX as usize],
    reached: u64,
    count: u64,
}

impl Lanes {
    /// The device has come to the last values. Returns how many tasks are complete by that.
    fn complete(&mut self, graph: &mut Graph) -> u64 {
        while self.reached != 0 {
            let lane = self.reached.trailing_zeros() as usize;
            self.reached &= self.reached - 1;
            graph.complete(lane as u8, self.values[lane]).expect("it was given out");
        }
        std::mem::take(&mut self.count)
    }
}
