//! Workspaces: scratch memory that belongs to the lanes of a dispatcher rather than to a computation (SY-23).

use std::fmt;
use std::sync::{Arc, Mutex};

use graph::Refused;
use hal::DevicePtr;
use overtake_tasks::task::{Error, Lane};

use crate::arrays::Arrays;
use crate::memory::ALIGN_BYTES;
use crate::resident::Resident;
use crate::store::Store;

const FOREIGN: &str = "its lane is of another dispatcher than the workspace: open one there";

/// Scratch memory that each lane of the dispatcher has once, such as the workspace of library calls. The work in a lane
/// runs in order, so no two computations use it at the same time, and it makes none wait for another.
///
/// A function that asks for it has to own a clone: functions are kept until their work is complete, so the memory is
/// freed after the last work in its lane, and no computation owns it. Its contents are not preserved between launches.
#[derive(Clone)]
pub struct Workspace(Arc<Spaces>);

struct Spaces {
    bytes: u64,
    /// For each lane one for each device: a computation may run on another one than its lane's.
    blocks: Mutex<Vec<Option<Resident>>>,
    // Last: its heaps go after the memory.
    store: Arc<Store>,
}

impl Arrays {
    /// A workspace of this size for each lane of the dispatcher. A lane gets the memory when a function first asks for
    /// it.
    #[must_use]
    pub fn workspace(&self, bytes: u64) -> Workspace {
        let shared = self.store.tasks.within();
        let blocks = (0..shared.lanes() * shared.layers().len()).map(|_| None).collect();
        Workspace(Arc::new(Spaces { bytes, blocks: Mutex::new(blocks), store: Arc::clone(&self.store) }))
    }
}

impl Workspace {
    /// The memory of this lane, for work that is submitted to it in this call.
    pub fn of(&self, lane: &Lane<'_>) -> Result<DevicePtr, Error> {
        let Spaces { bytes, blocks, store } = &*self.0;
        let shared = store.tasks.within();
        if !shared.has_lane(lane) {
            return Err(Error::Refused(Refused::Data { task: "workspace".to_owned(), fault: FOREIGN }));
        }
        let (device, number) = (usize::from(lane.device()), usize::from(lane.number()));
        let at = number * shared.layers().len() + device;
        let known = hal::locks::lock(blocks)[at].as_ref().map(Resident::start);
        if let Some(start) = known {
            return Ok(DevicePtr(start));
        }
        // Without the lock: the heap may call the driver. One thread at a time launches in a lane.
        let block = store.residents[device].alloc_apart(*bytes, ALIGN_BYTES)?;
        Ok(DevicePtr(hal::locks::lock(blocks)[at].insert(block).start()))
    }

    /// Its size in each lane, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.bytes
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspace").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}
