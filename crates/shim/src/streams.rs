//! The streams of all contexts that have copied, for finding them again.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use hal::{Context, Stream};

use crate::context::Adopted;
use crate::process::Process;

/// The application's threads that may have a per-thread default stream of their own in a context; each costs a stream
/// of ours.
const PER_THREAD_MAX: usize = 128;

type Known = HashMap<Anywhere, Arc<Adopted>, BuildHasherDefault<Mixer>>;

/// The streams. What is taken out is handed back, because driver calls destroy what it held: not under the lock.
#[derive(Default)]
pub(crate) struct Streams {
    known: RwLock<Known>,
}

impl Streams {
    /// The stream, if it has been kept.
    pub(crate) fn find(&self, which: &Anywhere) -> Option<Arc<Adopted>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(which).cloned()
    }

    /// Keeps a stream, unless another thread has been faster: its is the one then. `None` where there are too many.
    pub(crate) fn keep(&self, which: Anywhere, adopted: &Arc<Adopted>) -> Option<Arc<Adopted>> {
        let mut known = self.write();
        if let Some(faster) = known.get(&which) {
            return Some(Arc::clone(faster));
        }
        let alike = |other: &&Anywhere| other.stream == which.stream && other.context == which.context;
        if which.stream == Stream::PER_THREAD && known.keys().filter(alike).count() >= PER_THREAD_MAX {
            return None;
        }
        known.insert(which, Arc::clone(adopted));
        Some(Arc::clone(adopted))
    }

    /// Finds a stream no more.
    pub(crate) fn remove(&self, which: &Anywhere) -> Option<Arc<Adopted>> {
        self.write().remove(which)
    }

    /// Finds the streams of a context no more.
    pub(crate) fn remove_all(&self, context: Context) -> Vec<Arc<Adopted>> {
        self.write().extract_if(|_, adopted| adopted.context == context).map(|(_, adopted)| adopted).collect()
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Process {
    /// The stream, in the current context if it is new or one of the default streams.
    pub(crate) fn adopted(&self, stream: Stream) -> Option<Arc<Adopted>> {
        let current = || self.driver.get()?.context_current().ok()?;
        let which = Anywhere::of(stream, current)?;
        self.streams.find(&which).or_else(|| self.adopt(which))
    }

    fn adopt(&self, which: Anywhere) -> Option<Arc<Adopted>> {
        let adopted = Arc::new(self.here()?.adopt(which.stream())?);
        // Closed meanwhile, it would never be forgotten again.
        self.while_open(adopted.context, || self.streams.keep(which, &adopted))
    }

    /// The application is about to destroy a stream.
    pub(crate) fn forget(&self, stream: Stream) {
        // Nobody destroys a default stream.
        let which = Anywhere::of(stream, || None);
        drop(which.and_then(|which| self.streams.remove(&which)));
    }

    /// Whether the calling thread's context is that of the stream: a copy from elsewhere goes natively.
    pub(crate) fn is_current(&self, adopted: &Adopted) -> bool {
        let current = self.driver.get().and_then(|driver| driver.context_current().ok().flatten());
        current == Some(adopted.context)
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
        let thread = if stream == Stream::PER_THREAD { this_thread() } else { 0 };
        Some(Anywhere { stream, context, thread })
    }

    /// The handle.
    pub(crate) fn stream(&self) -> Stream {
        self.stream
    }
}

/// Tells threads apart: per-thread default streams of different threads are different streams behind one handle.
fn this_thread() -> u64 {
    thread_local! {
        static HERE: u8 = const { 0 };
    }
    HERE.with(|here| std::ptr::from_ref(here).addr() as u64)
}

/// Mixes the few words of a key: it is looked up for every copy.
#[derive(Default)]
struct Mixer(u64);

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

#[cfg(test)]
mod tests {
    use hal::{Device, Driver};
    use overtake::Options;
    use softgpu::SoftGpu;

    use super::*;
    use crate::context::Local;

    #[test]
    fn a_context_keeps_so_many_threads_and_loses_all_of_them_at_once() {
        let driver: Arc<dyn Driver> = Arc::new(SoftGpu::builder().build());
        let context = driver.primary_context_retain(Device(0)).unwrap();
        driver.context_set_current(Some(context)).unwrap();
        let local = Local::open(&driver, context, &Options { channels: false, ..Options::default() }).unwrap();
        let adopt = || Arc::new(local.adopt(Stream::PER_THREAD).unwrap());
        let of_thread = |context, thread| Anywhere { stream: Stream::PER_THREAD, context, thread };
        let streams = Streams::default();
        let first = streams.keep(of_thread(context, 1), &adopt()).unwrap();
        assert!(Arc::ptr_eq(&first, &streams.keep(of_thread(context, 1), &adopt()).unwrap()), "the first is the one");
        for thread in 2..=PER_THREAD_MAX as u64 {
            assert!(streams.keep(of_thread(context, thread), &adopt()).is_some());
        }
        assert!(streams.keep(of_thread(context, 0), &adopt()).is_none(), "one too many");
        assert!(streams.keep(of_thread(Context(7), 0), &adopt()).is_some(), "elsewhere there is room");
        let legacy = Anywhere { stream: Stream::LEGACY, context, thread: 0 };
        assert!(streams.keep(legacy, &adopt()).is_some(), "another stream");
        assert!(streams.remove(&legacy).is_some() && streams.find(&legacy).is_none());
        assert_eq!(streams.remove_all(context).len(), PER_THREAD_MAX + 1, "the one under the other name too");
        assert!(streams.find(&of_thread(context, 1)).is_none());
    }
}
