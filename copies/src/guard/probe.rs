//! Finds out whether kernels of one stream can pass waiting kernels of another stream.
//!
//! With one hardware queue for all kernels (`CUDA_DEVICE_MAX_CONNECTIONS=1`), a copy kernel that waits for earlier work
//! of its stream holds up all later kernels, and the earlier work may wait for one of those.

use std::sync::Arc;

use channels::Adder;
use hal::{DevicePtr, Driver, Host, MemOp, Nanos, Result, Stream, WaitCondition};
use semaphores::Words;

use super::carrier::Carrier;
use super::opener::Opener;
use crate::kernel::CopyKernel;

/// The time that the kernel may take, counted by the time that this thread runs. If there is one queue, the
/// application's start takes so much longer. If there are more, a host that lets no thread run for a while must not be
/// mistaken for one queue. So between two looks at most [`TURN`] counts, however long this thread had to wait for the
/// second. Each look asks the driver: a modelled device moves at the latest when it is asked, and its own thread may
/// starve.
const PATIENCE: Nanos = Nanos::from_ms(300);
const TURN: Nanos = Nanos::from_ms(5);
/// The pause between two looks.
const LOOK_EVERY: Nanos = Nanos::from_us(20);

/// The words of the probe. To free words of its own would wait for all work in the context.
#[derive(Clone)]
pub(super) struct Gates {
    words: Arc<Words>,
    first: u64,
}

/// One opens the waiting streams, and the kernel adds to the other.
const OPEN: u64 = 0;
const ADDED: u64 = 1;

impl Gates {
    pub(super) const WORDS: u64 = 2;

    /// Those from the word of this number on, which are the probe's alone.
    pub(super) fn new(words: &Arc<Words>, first: u64) -> Gates {
        Gates { words: Arc::clone(words), first }
    }

    fn store(&self, which: u64, value: u32) {
        self.words.store(self.first + which, value);
    }

    fn host_address(&self, which: u64) -> DevicePtr {
        self.words.host_address(self.first + which)
    }

    fn device_address(&self, which: u64) -> DevicePtr {
        self.words.device_address(self.first + which)
    }
}

/// Lets all streams of the carriers but one wait, and runs a kernel in that one.
pub(super) fn kernels_pass_waits(
    driver: &Arc<dyn Driver>,
    carriers: &[Carrier],
    kernel: &CopyKernel,
    words: &Gates,
) -> Result<bool> {
    let Some(last) = carriers.last() else { return Ok(false) };
    let waiting: Vec<Stream> = carriers.iter().flat_map(|carrier| [carrier.copies, carrier.waits]).collect();
    let its = words.clone();
    let opener = Opener::start(driver, move || its.store(OPEN, 1))?;
    let step = || opener.step(Nanos::ZERO);
    opener.in_turns(|| {
        words.store(OPEN, 0);
        let passed = try_it((&**driver, driver.host()), words, &waiting, last.rescues, kernel, &step);
        words.store(OPEN, 1);
        let rested = opener.rest();
        // The words must outlive the streams that wait for them.
        let ended = waiting.iter().chain([&last.rescues]).map(|stream| driver.stream_synchronize(*stream));
        ended.fold(rested, Result::and).and(passed)
    })
}

fn try_it(
    (driver, host): (&dyn Driver, &dyn Host),
    words: &Gates,
    waiting: &[Stream],
    passing: Stream,
    kernel: &CopyKernel,
    step: &dyn Fn() -> Result<()>,
) -> Result<bool> {
    for stream in waiting {
        step()?;
        driver.mem_op(*stream, MemOp::wait32(words.host_address(OPEN), 1, WaitCondition::Geq))?;
        kernel.add(*stream, words.device_address(OPEN), 1)?;
    }
    kernel.add(passing, words.device_address(ADDED), 1)?;
    comes_true(host, &mut || step().and_then(|()| driver.stream_query(passing)))
}

fn comes_true(host: &dyn Host, condition: &mut dyn FnMut() -> Result<bool>) -> Result<bool> {
    let mut left = PATIENCE;
    loop {
        let looked_at = host.now();
        if condition()? {
            return Ok(true);
        }
        if left == Nanos::ZERO {
            return Ok(false);
        }
        host.sleep(LOOK_EVERY);
        left = left.since(host.now().since(looked_at).min(TURN));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use softgpu::Connections;

    use super::*;
    use driver::RealHost;

    #[test]
    fn a_host_that_lets_no_thread_run_is_waited_for() {
        let (mut looks, starved) = (0, Duration::from_nanos(2 * TURN.0));
        let ended = comes_true(&RealHost::new(), &mut || {
            std::thread::sleep(starved);
            looks += 1;
            Ok(looks == PATIENCE.0 / TURN.0)
        });
        assert_eq!(ended, Ok(true), "a turn for each look, and more patience than there were looks");
        assert_eq!(comes_true(&RealHost::new(), &mut || Ok(false)), Ok(false));
    }

    /// Opens a layer where a tool has each launch wait for its kernel, which no variable says. Returns the launches.
    fn launches(guard_bytes_min: Option<u64>) -> u64 {
        let gpu = softgpu::SoftGpu::builder().launches_block(true).build();
        let driver: Arc<dyn Driver> = Arc::new(gpu.clone());
        let context = driver.primary_context_retain(hal::Device(0)).unwrap();
        driver.context_set_current(Some(context)).unwrap();
        let profile = options::Profile { channels: false, guard_bytes_min, ..options::Profile::LIBRARY };
        let options = options::Options { profile, ..Default::default() };
        let overtake = crate::Overtake::attach(&driver, options).unwrap();
        assert!(overtake.inner().guard.is_none());
        assert_eq!(overtake.inner().may_use_kernel(), guard_bytes_min.is_none());
        gpu.counts().launches
    }

    /// Each of 100 turns of the probe would launch a kernel, which waits for 30 ms.
    #[test]
    #[cfg_attr(miri, ignore)] // two whole layers and their kernels, for minutes under an interpreter
    fn launches_that_wait_for_their_kernels_end_the_probe_soon() {
        let by_guard = launches(Some(1 << 20)) - launches(None);
        assert!((4..10).contains(&by_guard), "{by_guard}");
    }

    /// The result of the probe on a model whose time does not pass by itself.
    fn found_in_real_time(connections: Connections) -> bool {
        let gpu = softgpu::SoftGpu::builder().connections(connections).build();
        let driver: Arc<dyn Driver> = Arc::new(gpu);
        let context = driver.primary_context_retain(hal::Device(0)).unwrap();
        driver.context_set_current(Some(context)).unwrap();
        let kernel = CopyKernel::load(&driver).unwrap();
        let words = Gates::new(&Arc::new(Words::new(&driver, 3).unwrap()), 1);
        let streams = [(); 5].map(|()| driver.stream_create(hal::StreamFlags::NON_BLOCKING, 0).unwrap());
        let passed =
            try_it((&*driver, &RealHost::new()), &words, &streams[..4], streams[4], &kernel, &|| Ok(())).unwrap();
        words.store(OPEN, 1);
        streams.iter().for_each(|stream| driver.stream_synchronize(*stream).unwrap());
        passed
    }

    #[test]
    #[cfg_attr(miri, ignore)] // it runs kernels on the software GPU in real time, for minutes under an interpreter
    fn a_device_whose_thread_starves_is_not_taken_for_one_queue() {
        assert!(found_in_real_time(Connections::default()));
        assert!(!found_in_real_time(Connections { max: Some(1), copy: Some(8) }), "and one queue is found");
    }
}
