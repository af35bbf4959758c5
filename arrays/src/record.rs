//! The record of an array: its memory in each place, and which bytes are up to date there.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use graph::{DataId, Location, Progress, Validity};
use overtake_tasks::task::{Error, Handle};
use smallvec::SmallVec;

use crate::memory::{ALIGN_BYTES, HostMemory};
use crate::operator::Reducer;
use crate::resident::Resident;
use crate::store::Store;

/// A task as validity knows it.
#[derive(Clone)]
pub(super) struct Node(pub Handle);

impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        self.0.is_same(&other.0)
    }
}

impl Node {
    /// Asked with the dispatcher's lock held: the answer stands until that is let go of.
    pub fn progress(&self) -> Progress {
        match (self.0.is_done(), self.0.has_failed()) {
            (false, _) => Progress::Pending,
            (true, false) => Progress::Done,
            (true, true) => Progress::Failed,
        }
    }
}

/// An array without its type. Tasks that use it keep it.
pub(super) struct Record {
    /// The same in the graph.
    pub data: DataId,
    pub bytes: u64,
    /// It stands for an order alone: it has one byte, which is in no memory.
    pub is_token: bool,
    pub state: Mutex<State>,
    /// Whether there are results of reductions, for threads without that lock.
    pub has_partials: AtomicBool,
    // Last: its heaps go after the memory.
    pub store: Arc<Store>,
}

/// The changing parts. The lock is held for a few statements.
pub(super) struct State {
    pub validity: Validity<Node>,
    pub host: Option<HostMemory>,
    /// One for each device.
    pub devices: Vec<Option<Arc<Resident>>>,
    /// Bytes that no task may write, and the node that keeps them so.
    pub frozen: Vec<(Handle, Range<u64>)>,
    /// Results of reductions that have not been combined with its bytes.
    pub partials: Vec<Partial>,
    /// The number of its last use.
    pub used: u64,
    pub is_token: bool,
}

/// The address of a token, at which there is nothing.
const NOWHERE: u64 = ALIGN_BYTES;

/// Memory that the caller owns, with the contents of an array.
pub(super) enum Adopted {
    Host(HostMemory),
    Device(u8, Resident),
}

/// A partial result: memory that reductions use one at a time, in one place.
#[derive(Clone)]
pub(super) struct Partial {
    pub record: Arc<Record>,
    /// The bytes of the array that it is for.
    pub bytes: Range<u64>,
    pub place: Location,
    pub reducer: Reducer,
}

impl State {
    /// The address of its memory there.
    pub fn start(&self, place: Location) -> Option<u64> {
        if self.is_token {
            return Some(NOWHERE);
        }
        match place {
            Location::Host => self.host.as_ref().map(HostMemory::start),
            Location::Device(_) => self.resident(place).map(|block| block.start()),
        }
    }

    /// Its memory on that device.
    pub fn resident(&self, place: Location) -> Option<&Arc<Resident>> {
        let Location::Device(device) = place else { return None };
        self.devices.get(usize::from(device))?.as_ref()
    }

    /// The place of the memory that the caller owns, if there is some.
    pub fn home(&self) -> Option<Location> {
        let is_lent = |device: &Option<Arc<Resident>>| device.as_ref().is_some_and(|memory| memory.is_lent());
        let on_host = self.host.as_ref().filter(|memory| memory.is_lent()).map(|_| Location::Host);
        on_host.or_else(|| self.devices.iter().position(is_lent).map(|device| Location::Device(device as u8)))
    }

    /// Its memory on that device leaves it.
    pub fn take_resident(&mut self, device: u8) -> Option<Arc<Resident>> {
        self.devices.get_mut(usize::from(device))?.take()
    }
}

/// Arrays of a task that need no memory of their own.
pub(super) const FEW: usize = 4;

/// The memory in one place that a task uses.
#[derive(Default)]
pub(super) struct Memory {
    /// The address of each of its uses.
    pub addresses: Addresses,
    pub kept: Keeps,
}

pub(super) type Addresses = SmallVec<[u64; FEW]>;
pub(super) type Keeps = SmallVec<[Kept; FEW]>;

/// Memory that stays until the task that has this has ended.
pub(super) struct Kept {
    _device: Option<Arc<Resident>>,
    // Last: the heap of the device goes with it.
    _record: Arc<Record>,
}

impl Kept {
    pub fn of(record: &Arc<Record>, place: Location) -> Kept {
        Kept::in_state(record, &hal::locks::lock(&record.state), place)
    }

    /// The same with the record's lock at hand.
    pub fn in_state(record: &Arc<Record>, state: &State, place: Location) -> Kept {
        Kept { _record: Arc::clone(record), _device: state.resident(place).cloned() }
    }
}

impl Record {
    /// So many bytes, which this memory has, or which have not been written.
    pub fn new(store: &Arc<Store>, bytes: u64, memory: Option<Adopted>) -> Result<Arc<Record>, Error> {
        let mut devices = vec![None; usize::from(store.places.devices())];
        let (host, at) = match memory {
            None => (None, None),
            Some(Adopted::Host(memory)) => (Some(memory), Some(Location::Host)),
            Some(Adopted::Device(device, memory)) => {
                devices[usize::from(device)] = Some(Arc::new(memory));
                (None, Some(Location::Device(device)))
            }
        };
        let data = store.tasks.within().enter()?.graph().data(bytes);
        let (validity, frozen, partials) = (Validity::new(bytes, at), Vec::new(), Vec::new());
        let state = State { validity, host, devices, frozen, partials, used: 0, is_token: false };
        let record = Record::with(store, data, bytes, state);
        if at.is_some() {
            store.adopted.add(&record);
        }
        if let Some(Location::Device(device)) = at {
            store.residents[usize::from(device)].records.add(&record);
        }
        Ok(record)
    }

    /// One of no memory, which counts as written.
    pub fn token(store: &Arc<Store>) -> Result<Arc<Record>, Error> {
        let data = store.tasks.within().enter()?.graph().token();
        let (validity, devices) = (Validity::new(1, Some(Location::Host)), Vec::new());
        let (frozen, partials) = (Vec::new(), Vec::new());
        let state = State { validity, host: None, devices, frozen, partials, used: 0, is_token: true };
        Ok(Record::with(store, data, 1, state))
    }

    fn with(store: &Arc<Store>, data: DataId, bytes: u64, state: State) -> Arc<Record> {
        let (store, is_token, has_partials) = (Arc::clone(store), state.is_token, AtomicBool::new(false));
        Arc::new(Record { data, bytes, is_token, state: Mutex::new(state), has_partials, store })
    }

    /// The place at which its bytes count as used when a task uses them there.
    pub fn place(&self, place: Location) -> Location {
        if self.is_token { Location::Host } else { place }
    }

    /// Changes the results of reductions.
    pub fn change_partials(&self, change: impl FnOnce(&mut Vec<Partial>)) {
        let mut state = hal::locks::lock(&self.state);
        change(&mut state.partials);
        self.has_partials.store(!state.partials.is_empty(), Ordering::Relaxed);
    }

    /// Whether bytes may have to come from a device that the place is not linked with: they go through the host.
    pub fn is_beyond(&self, state: &State, place: Location) -> bool {
        let devices = (0..self.store.places.devices()).map(Location::Device);
        let mut others = devices.filter(|other| *other != place && state.resident(*other).is_some());
        others.any(|other| self.store.places.nearness(other, place) == 0.0)
    }

    /// Has memory there.
    pub fn ensure(self: &Arc<Record>, place: Location) -> hal::Result<()> {
        let state = hal::locks::lock(&self.state);
        if state.start(place).is_some() {
            return Ok(());
        }
        drop(state);
        // Without the lock: the heap may call the driver. Another thread may be faster.
        match place {
            Location::Host => {
                let memory = HostMemory::zeros(&self.store.pinned, self.bytes)?;
                hal::locks::lock(&self.state).host.get_or_insert(memory);
            }
            Location::Device(device) => {
                let residents = &self.store.residents[usize::from(device)];
                let block = residents.alloc(self.bytes, ALIGN_BYTES)?;
                hal::locks::lock(&self.state).devices[usize::from(device)].get_or_insert(block);
                residents.records.add(self);
            }
        }
        Ok(())
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if let Ok(mut held) = self.store.tasks.within().enter() {
            let forgotten = held.graph().forget(self.data);
            debug_assert!(forgotten.is_ok(), "it is forgotten once: {forgotten:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use copies::{Options, Overtake};
    use overtake_tasks::dispatch::{DispatchOptions, Dispatcher};

    use super::*;
    use crate::{ArrayOptions, Arrays};

    #[test]
    fn the_graph_forgets_arrays_that_are_dropped() {
        let driver: Arc<dyn hal::Driver> = Arc::new(softgpu::SoftGpu::builder().build());
        let overtake = Arc::new(Overtake::open(&driver, hal::Device(0), Options::default()).unwrap());
        let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default()).unwrap();
        let arrays = Arrays::open(&dispatcher, ArrayOptions::default()).unwrap();
        let numbers: Vec<usize> = (0..100).map(|_| arrays.array_of(&[1, 2, 3]).unwrap().record.data.index()).collect();
        assert!(numbers.iter().all(|number| *number < 2), "{numbers:?}");
    }
}
