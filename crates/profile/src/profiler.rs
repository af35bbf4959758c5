//! Collects the events of kernels, batch by batch, with the kernels' names.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use copies::{Overtake, PriorityStream};
use hal::Result;
use hal::locks::lock;
use overtake_memory::buffer::{DeviceBuffer, PinnedBuffer};

use super::events::{EVENT_BYTES, Events, HEADER_BYTES};
use super::recording::Recording;
use super::store::{Buffers, Store};

/// The buffers of a profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfilerOptions {
    /// Batches whose events can be under way at once. Further ones are not profiled, and counted.
    pub buffers: usize,
    /// Events of a batch: one for each block of its launches. Further ones are lost, and counted.
    pub events: u32,
}

impl Default for ProfilerOptions {
    fn default() -> ProfilerOptions {
        ProfilerOptions { buffers: 2, events: 1 << 16 }
    }
}

/// The events that have been collected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The names of kernels, by their numbers.
    pub names: Vec<String>,
    /// The batches, in the order of their ends.
    pub batches: Vec<Events>,
    /// Batches that were not profiled, because no buffer was free or a driver call failed.
    pub left_out: u64,
}

impl Profile {
    /// The name of a kernel, or its number if that was never registered.
    #[must_use]
    pub fn name(&self, kernel: u32) -> String {
        self.names.get(kernel as usize).cloned().unwrap_or_else(|| format!("kernel {kernel}"))
    }
}

/// Collects the events of kernels, batch by batch.
pub struct Profiler {
    store: Store,
    is_on: AtomicBool,
    names: Mutex<Vec<String>>,
}

impl Profiler {
    /// Makes the buffers. Nothing is collected before [`Profiler::collect`].
    pub fn new(overtake: &Overtake, options: ProfilerOptions) -> Result<Profiler> {
        let bytes = HEADER_BYTES + EVENT_BYTES * options.events as usize;
        let buffers = || {
            let device = DeviceBuffer::new(overtake, bytes)?;
            Ok(Buffers { device, host: PinnedBuffer::new(overtake, bytes)? })
        };
        let spare = (0..options.buffers).map(|_| buffers()).collect::<Result<Vec<Buffers>>>()?;
        let store = Store::new(overtake.driver(), options.events, spare);
        Ok(Profiler { store, is_on: AtomicBool::new(false), names: Mutex::default() })
    }

    /// Gives numbers to kernels, for their names in a profile. Returns the first one's; the others' follow.
    pub fn register(&self, names: &[&str]) -> u32 {
        let mut known = lock(&self.names);
        let first = known.len() as u32;
        known.extend(names.iter().map(|name| (*name).to_owned()));
        first
    }

    /// Begins or ends to collect. It counts for batches that begin later.
    pub fn collect(&self, is_on: bool) {
        self.is_on.store(is_on, Ordering::Relaxed);
    }

    /// Begins a batch in this stream. Its kernels get [`Recording::buffer`], and its events are fetched when the
    /// recording is dropped. While nothing is collected this makes no driver call. A driver call that fails leaves the
    /// batch without a profile, and is counted; the batch itself goes on.
    pub fn begin<'p>(&'p self, stream: &'p PriorityStream) -> Recording<'p> {
        match self.is_on.load(Ordering::Relaxed) {
            true => Recording::begin(&self.store, stream),
            false => Recording::none(&self.store, stream),
        }
    }

    /// Reads the buffers of batches that have ended. Later batches need them.
    pub fn poll(&self) {
        self.store.poll();
    }

    /// The events of the batches that have ended since the last call.
    #[must_use]
    pub fn take(&self) -> Profile {
        let (batches, left_out) = self.store.collected();
        Profile { names: lock(&self.names).clone(), batches, left_out }
    }
}

impl fmt::Debug for Profiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profiler").field("is_on", &self.is_on).finish_non_exhaustive()
    }
}
