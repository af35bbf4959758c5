//! A CUDA context of the application, and the copy layer that is open in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use copies::{Options, Overtake, Priority, PriorityStream, machine};
use hal::{Context, Device, Driver, Result, Stream};

use crate::demand::Meter;
use crate::report::live;
use crate::room;

/// A stream of the application in the layer.
pub(crate) struct Adopted {
    pub(crate) copies: PriorityStream,
    pub(crate) context: Context,
    /// Its CUDA priority, unless that is the default of every stream.
    pub(crate) cuda_priority: Option<i32>,
    /// The priority of copies that follows from its CUDA priority.
    pub(crate) own: Option<Priority>,
    /// Its recent copies, with the rule of demand.
    pub(crate) demand: Meter,
    /// The priority that the program has set; 0 for none.
    given: AtomicU8,
}

impl Adopted {
    pub(crate) fn given(&self) -> Option<Priority> {
        Priority::new(self.given.load(Ordering::Relaxed))
    }

    /// Forgets this stream's past: the handle now means the stream of another thread.
    pub(crate) fn renew(&self) {
        self.give(None);
        self.demand.renew();
        self.copies.renew();
    }

    pub(crate) fn give(&self, priority: Option<Priority>) {
        self.given.store(priority.map_or(0, Priority::get), Ordering::Relaxed);
    }
}

/// A context in which the layer is open.
pub(crate) struct Local {
    /// Shared with the dispatchers of the program.
    pub(crate) overtake: Arc<Overtake>,
    pub(crate) device: Device,
    pub(crate) name: String,
    pub(crate) pci: String,
    context: Context,
    least: i32,
}

impl Local {
    /// Opens the layer in the calling thread's current context. It `is_new` if no work can be under way there.
    pub(crate) fn open(driver: &Arc<dyn Driver>, context: Context, options: &Options, is_new: bool) -> Result<Local> {
        let device = driver.context_device()?;
        let least = driver.priority_range()?.least;
        let (name, pci) = (driver.device_name(device)?, machine::pci(&**driver, device));
        if is_new {
            // An error is not ours to report: the program's own use of these streams will tell.
            let _ = hal::beside_captures(&**driver, || room::begin_default_streams(&**driver));
        }
        let overtake = Arc::new(Overtake::attach_with(driver, options.clone(), live::beat)?);
        if is_new {
            room::make(&**driver);
        }
        Ok(Local { overtake, device, name, pci, context, least })
    }

    /// Whether no thread and no dispatcher uses the layer any more.
    pub(crate) fn is_at_rest(&self) -> bool {
        Arc::strong_count(&self.overtake) == 1 && self.overtake.is_at_rest()
    }

    /// Adopts a stream of the application; `None` if it belongs to another context.
    pub(crate) fn adopt(&self, stream: Stream) -> Option<Adopted> {
        let (driver, special) = (self.overtake.driver(), stream.is_default());
        // The layer of this context has no part in streams of green or other contexts.
        if !special && driver.stream_context(stream).ok()? != self.context {
            return None;
        }
        let cuda_priority = match special {
            true => None,
            false => Some(driver.stream_priority(stream).ok()?).filter(|priority| *priority < self.least),
        };
        Some(Adopted {
            copies: self.overtake.adopt_plain(stream),
            context: self.context,
            cuda_priority,
            own: cuda_priority.and_then(|priority| self.meaning(priority)),
            demand: Meter::default(),
            given: AtomicU8::new(0),
        })
    }

    /// The priority of copies in streams of a CUDA priority: above bulk and small copies, in CUDA's order.
    fn meaning(&self, cuda_priority: i32) -> Option<Priority> {
        let steps = u8::try_from(self.least - cuda_priority).unwrap_or(u8::MAX);
        let highest = self.overtake.priorities().highest();
        Priority::new(steps.saturating_add(2)).map(|priority| priority.min(highest))
    }
}

#[cfg(test)]
mod tests {
    use hal::StreamFlags;
    use softgpu::SoftGpu;

    use super::*;

    /// A stream of CUDA's greatest priority has the most urgent copies. A stream of the least has no priority of its
    /// own.
    #[test]
    fn cuda_priorities_keep_their_order() {
        let driver: Arc<dyn Driver> = Arc::new(SoftGpu::builder().build());
        let context = driver.primary_context_retain(Device(0)).unwrap();
        driver.context_set_current(Some(context)).unwrap();
        let priorities = copies::Priorities::new(7).unwrap();
        let options = Options { priorities, ..Options::default() }.with_profile(|profile| profile.channels = false);
        let local = Local::open(&driver, context, &options, true).unwrap();
        let range = driver.priority_range().unwrap();
        assert_eq!((range.least, range.greatest), (0, -5));
        let own = |cuda| {
            let stream = driver.stream_create(StreamFlags::NON_BLOCKING, cuda).unwrap();
            let adopted = local.adopt(stream).unwrap();
            (adopted.cuda_priority, adopted.own.map_or(0, Priority::get))
        };
        assert_eq!(own(0), (None, 0));
        let said: Vec<(Option<i32>, u8)> = (1..=5).map(|steps| own(-steps)).collect();
        assert_eq!(said, [(Some(-1), 3), (Some(-2), 4), (Some(-3), 5), (Some(-4), 6), (Some(-5), 7)]);
        let time = |body: &dyn Fn()| {
            let before = driver.host().now();
            body();
            driver.host().now().since(before)
        };
        for stream in [Stream::LEGACY, Stream::PER_THREAD] {
            let asked = time(&|| assert_eq!(local.adopt(stream).unwrap().own, None));
            assert_eq!(asked, time(&|| ()), "the driver is asked nothing about {stream:?}");
        }
    }

    #[test]
    fn few_priorities_leave_the_most_urgent_together() {
        let driver: Arc<dyn Driver> = Arc::new(SoftGpu::builder().build());
        let context = driver.primary_context_retain(Device(0)).unwrap();
        driver.context_set_current(Some(context)).unwrap();
        let priorities = copies::Priorities::new(4).unwrap();
        let options = Options { priorities, ..Options::default() }.with_profile(|profile| profile.channels = false);
        let local = Local::open(&driver, context, &options, true).unwrap();
        let said = [-1, -2, -3, -5].map(|cuda| local.meaning(cuda).map(Priority::get));
        assert_eq!(said, [Some(3), Some(4), Some(4), Some(4)]);
    }
}
