//! One CUDA context of the application, with the copy layer opened in it.

use std::collections::HashMap;
use std::hash::Hasher;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use hal::{Context, Device, Driver, Result, Stream};
use overtake::{Options, Overtake, Priority, PriorityStream};

/// The application's threads that may have a per-thread default stream of their own here; each costs a stream of ours.
const PER_THREAD_MAX: usize = 128;

/// A stream of the application's.
pub(crate) struct Adopted {
    pub(crate) copies: PriorityStream,
    pub(crate) context: Context,
    /// Its CUDA priority, where that is not the one that every stream has.
    pub(crate) cuda_priority: Option<i32>,
    /// What that means for copies.
    pub(crate) own: Option<Priority>,
    /// What the application has said; 0 for nothing.
    given: AtomicU8,
}

impl Adopted {
    pub(crate) fn given(&self) -> Option<Priority> {
        Priority::new(self.given.load(Ordering::Relaxed))
    }

    pub(crate) fn give(&self, priority: Option<Priority>) {
        self.given.store(priority.map_or(0, Priority::get), Ordering::Relaxed);
    }
}

/// Which stream: the handle, and for the per-thread default stream whose.
type StreamKey = (Stream, u64);

/// A context.
pub(crate) struct Local {
    // Dropped first: they were adopted in what follows.
    streams: RwLock<HashMap<StreamKey, Arc<Adopted>>>,
    pub(crate) overtake: Overtake,
    pub(crate) device: Device,
    pub(crate) name: String,
    context: Context,
    least: i32,
}

impl Local {
    /// Opens the layer in the calling thread's current context.
    pub(crate) fn open(driver: &Arc<dyn Driver>, context: Context, options: &Options) -> Result<Local> {
        let device = driver.context_device()?;
        let least = driver.priority_range()?.least;
        let name = driver.device_name(device)?;
        let overtake = Overtake::attach(driver, options.clone())?;
        Ok(Local { streams: RwLock::default(), overtake, device, name, context, least })
    }

    /// The stream as the layer knows it; `None` where it belongs to another context, or there are too many.
    pub(crate) fn stream(&self, stream: Stream) -> Option<Arc<Adopted>> {
        let key = key(stream);
        let known = self.streams.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        known.or_else(|| self.adopt(key))
    }

    fn adopt(&self, key: StreamKey) -> Option<Arc<Adopted>> {
        let (stream, driver) = (key.0, self.overtake.driver());
        let special = stream.is_default();
        // A stream of a green context, or of another one, is none of ours.
        if !special && driver.stream_context(stream).ok()? != self.context {
            return None;
        }
        let cuda_priority = match special {
            true => None,
            false => Some(driver.stream_priority(stream).ok()?).filter(|priority| *priority < self.least),
        };
        let adopted = Adopted {
            copies: self.overtake.adopt_plain(stream),
            context: self.context,
            cuda_priority,
            own: cuda_priority.and_then(|priority| self.meaning(priority)),
            given: AtomicU8::new(0),
        };
        let mut streams = self.streams.write().unwrap_or_else(PoisonError::into_inner);
        if stream == Stream::PER_THREAD && streams.keys().filter(|key| key.0 == stream).count() >= PER_THREAD_MAX {
            return None;
        }
        Some(Arc::clone(streams.entry(key).or_insert_with(|| Arc::new(adopted))))
    }

    /// The priority of copies in streams of a CUDA priority: above bulk and small copies, in CUDA's order.
    fn meaning(&self, cuda_priority: i32) -> Option<Priority> {
        let steps = u8::try_from(self.least - cuda_priority).unwrap_or(u8::MAX);
        let highest = self.overtake.priorities().highest();
        Priority::new(steps.saturating_add(2)).map(|priority| priority.min(highest))
    }

    /// The application is about to destroy a stream.
    pub(crate) fn forget(&self, stream: Stream) {
        let gone = self.streams.write().unwrap_or_else(PoisonError::into_inner).remove(&key(stream));
        // Outside the lock: what it held is destroyed by driver calls.
        drop(gone);
    }
}

/// Which stream of the process: handles are addresses, so that those of different contexts differ. The default streams
/// have the same handles everywhere.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Anywhere {
    stream: Stream,
    context: Context,
    thread: u64,
}

impl Anywhere {
    /// The stream behind a handle; `current` tells the calling thread's context, and is asked only where it matters.
    pub(crate) fn of(stream: Stream, current: impl FnOnce() -> Option<Context>) -> Option<Anywhere> {
        let context = if stream.is_default() { current()? } else { Context(0) };
        let (stream, thread) = key(stream);
        Some(Anywhere { stream, context, thread })
    }
}

/// Mixes the few words of a key: it is looked up for every copy.
#[derive(Default)]
pub(crate) struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, word: u64) {
        // The upper half of a product depends on every bit of its factors; tables look at both ends.
        let product = u128::from(self.0 ^ word) * 0x9E37_79B9_7F4A_7C15_u128;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Per-thread default streams of different threads are different streams behind one handle.
fn key(stream: Stream) -> StreamKey {
    thread_local! {
        static HERE: u8 = const { 0 };
    }
    let thread =
        if stream == Stream::PER_THREAD { HERE.with(|here| std::ptr::from_ref(here).addr() as u64) } else { 0 };
    (stream, thread)
}
