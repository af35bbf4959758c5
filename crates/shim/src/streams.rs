//! All streams that have copied, in all contexts.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::{Arc, RwLock, RwLockWriteGuard};

use hal::locks;
use hal::{Context, Stream};

use crate::context::Adopted;
use crate::passed::Passed;
use crate::process::Process;
use crate::thread;

/// The number of streams of ended threads that a context keeps for new threads.
const SPARE_MAX: usize = 4;

type Table = HashMap<Anywhere, Arc<Adopted>, BuildHasherDefault<Mixer>>;

/// The streams of one context. A removed stream is returned, because dropping it calls the driver, which must not
/// happen under the lock.
#[derive(Default)]
pub(crate) struct Streams {
    known: RwLock<Known>,
}

#[derive(Default)]
struct Known {
    table: Table,
    /// Per-thread default streams of ended threads. The next thread takes one over: where threads come and go, other
    /// streams still count on copies of its priorities.
    spare: Vec<Arc<Adopted>>,
}

impl Streams {
    /// The stream, if it is known.
    #[inline(always)] // each copy asks
    pub(crate) fn find(&self, which: &Anywhere) -> Option<Arc<Adopted>> {
        locks::read(&self.known).table.get(which).cloned()
    }

    /// Keeps a stream, unless another thread has kept one for this key: that one is returned then.
    pub(crate) fn keep(&self, which: Anywhere, adopted: &Arc<Adopted>) -> Arc<Adopted> {
        Arc::clone(self.write().table.entry(which).or_insert_with(|| Arc::clone(adopted)))
    }

    /// Takes a stream of an ended thread for the calling thread.
    fn inherit(&self, which: Anywhere) -> Option<Arc<Adopted>> {
        let mut known = self.write();
        let at = known.spare.iter().rposition(|spare| spare.context == which.context)?;
        let spare = known.spare.remove(at);
        known.table.insert(which, Arc::clone(&spare));
        Some(spare)
    }

    /// A thread has ended, and with it its default streams.
    pub(crate) fn end(&self, thread: u64) {
        let mut known = self.write();
        let ended: Vec<_> = known.table.extract_if(|which, _| which.thread == thread).map(|(_, ended)| ended).collect();
        let mut surplus = Vec::new();
        for adopted in ended {
            let alike = known.spare.iter().filter(|spare| spare.context == adopted.context).count();
            let place = if alike < SPARE_MAX { &mut known.spare } else { &mut surplus };
            place.push(adopted);
        }
        drop(known);
        drop(surplus);
    }

    /// The streams of a context.
    pub(crate) fn all(&self, context: Context) -> Vec<Arc<Adopted>> {
        let known = locks::read(&self.known);
        known.table.values().filter(|adopted| adopted.context == context).cloned().collect()
    }

    /// Forgets a stream, and returns it.
    pub(crate) fn remove(&self, which: &Anywhere) -> Option<Arc<Adopted>> {
        self.write().table.remove(which)
    }

    /// Forgets the streams of a context, and returns them.
    pub(crate) fn remove_all(&self, context: Context) -> Vec<Arc<Adopted>> {
        let mut known = self.write();
        let there = |adopted: &Arc<Adopted>| adopted.context == context;
        let mut removed: Vec<_> = known.spare.extract_if(.., |spare| there(spare)).collect();
        removed.extend(known.table.extract_if(|_, adopted| there(adopted)).map(|(_, adopted)| adopted));
        removed
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        locks::write(&self.known)
    }
}

impl Process {
    /// The stream, if it is known, in the current context, or one of the default streams. Else the reason why the layer
    /// has none.
    #[inline(always)] // each copy asks
    pub(crate) fn adopted(&self, stream: Stream) -> Result<Arc<Adopted>, Passed> {
        let which = Anywhere::of(stream, || self.current_context())?;
        self.streams.find(&which).map_or_else(|| self.adopt(which), Ok)
    }

    #[cold]
    fn adopt(&self, which: Anywhere) -> Result<Arc<Adopted>, Passed> {
        let open = self.here().ok_or(Passed::NotOpen)?;
        // If the context has been closed meanwhile, no later call would forget the stream.
        let ours = which.stream == Stream::PER_THREAD;
        if let Some(spare) = ours.then(|| self.while_open(which.context, || self.streams.inherit(which))).flatten() {
            spare.renew();
            return Ok(spare);
        }
        let adopted = Arc::new(open.adopt(which.stream()).ok_or(Passed::ForeignStream)?);
        let kept = self.while_open(adopted.context, || Some(self.streams.keep(which, &adopted)));
        kept.ok_or(Passed::NotOpen)
    }

    /// The program is about to destroy a stream.
    pub(crate) fn forget(&self, stream: Stream) {
        // A default stream cannot be destroyed.
        let Ok(which) = Anywhere::of(stream, || None) else { return };
        drop(self.streams.remove(&which));
        self.observer.iter().for_each(|observer| observer.stream_going(&which));
    }

    /// Whether the stream's context is current on the calling thread. Otherwise the copy goes natively.
    pub(crate) fn is_current(&self, adopted: &Adopted) -> bool {
        self.current_context() == Some(adopted.context)
    }
}

/// A stream of the process. Handles are addresses, so those of different contexts differ. The default streams have the
/// same handles in every context.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Anywhere {
    stream: Stream,
    context: Context,
    thread: u64,
}

impl Anywhere {
    /// The stream of a handle. `current` returns the calling thread's context, and is called only for default streams.
    #[inline(always)] // as above
    pub(crate) fn of(stream: Stream, current: impl FnOnce() -> Option<Context>) -> Result<Anywhere, Passed> {
        // The per-thread default streams of different threads are different streams with one handle.
        let per_thread = stream == Stream::PER_THREAD;
        let thread = if per_thread { thread::number().ok_or(Passed::ThreadEnding)? } else { 0 };
        let context = if stream.is_default() { current().ok_or(Passed::NotOpen)? } else { Context(0) };
        Ok(Anywhere { stream, context, thread })
    }

    /// A number of its own; 0 is none's.
    #[inline]
    pub(crate) fn number(&self) -> u64 {
        let mut mixer = Mixer::default();
        self.hash(&mut mixer);
        mixer.finish().max(1)
    }

    pub(crate) fn stream(&self) -> Stream {
        self.stream
    }
}

/// Mixes the few words of a key: every copy looks one up.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, word: u64) {
        // The upper half of a product depends on every bit of its factors; tables use both ends of it.
        let product = u128::from(self.0 ^ word) * 0x9E37_79B9_7F4A_7C15_u128;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use copies::Options;
    use hal::{Device, Driver};
    use softgpu::SoftGpu;

    use super::*;
    use crate::context::Local;

    fn open() -> (Arc<dyn Driver>, Context, Local) {
        let driver: Arc<dyn Driver> = Arc::new(SoftGpu::builder().build());
        let context = driver.primary_context_retain(Device(0)).unwrap();
        driver.context_set_current(Some(context)).unwrap();
        let options = Options::default().with_profile(|profile| profile.channels = false);
        let local = Local::open(&driver, context, &options, true).unwrap();
        (driver, context, local)
    }

    fn of_thread(context: Context, thread: u64) -> Anywhere {
        Anywhere { stream: Stream::PER_THREAD, context, thread }
    }

    #[test]
    fn a_context_keeps_every_thread_and_loses_all_of_them_at_once() {
        let (_driver, context, local) = open();
        let adopt = || Arc::new(local.adopt(Stream::PER_THREAD).unwrap());
        let streams = Streams::default();
        let first = streams.keep(of_thread(context, 1), &adopt());
        assert!(Arc::ptr_eq(&first, &streams.keep(of_thread(context, 1), &adopt())), "the first one stays");
        for thread in 2..=200 {
            streams.keep(of_thread(context, thread), &adopt());
        }
        let legacy = Anywhere { stream: Stream::LEGACY, context, thread: 0 };
        streams.keep(legacy, &adopt());
        assert!(streams.remove(&legacy).is_some() && streams.find(&legacy).is_none());
        streams.end(200);
        assert_eq!(streams.remove_all(context).len(), 200, "that of the ended thread included");
        assert!(streams.find(&of_thread(context, 1)).is_none() && streams.inherit(of_thread(context, 1)).is_none());
    }

    /// A new thread takes over the stream of an ended one, in its own context, and few are kept.
    #[test]
    fn streams_of_ended_threads_are_handed_on() {
        let (_driver, context, local) = open();
        let streams = Streams::default();
        for thread in 1..=10 {
            let adopted = Arc::new(local.adopt(Stream::PER_THREAD).unwrap());
            adopted.give(copies::Priority::new(5));
            streams.keep(of_thread(context, thread), &adopted);
        }
        (1..=10).for_each(|thread| streams.end(thread));
        assert!(streams.inherit(of_thread(Context(7), 11)).is_none(), "in another context");
        for thread in 11..11 + SPARE_MAX as u64 {
            let heir = streams.inherit(of_thread(context, thread)).unwrap();
            heir.renew();
            assert_eq!(heir.given(), None, "the priority that the other thread gave its stream went with it");
            assert!(Arc::ptr_eq(&heir, &streams.find(&of_thread(context, thread)).unwrap()));
        }
        assert!(streams.inherit(of_thread(context, 99)).is_none(), "no more than that are kept");
    }
}
