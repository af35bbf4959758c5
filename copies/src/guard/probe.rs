//! Finds out whether kernels of one stream can pass waiting kernels of another stream.
//!
//! With one hardware queue for all kernels (`CUDA_DEVICE_MAX_CONNECTIONS=1`), a copy kernel that waits for earlier work
//! of its stream holds up all later kernels, and the earlier work may wait for one of those.

use std::sync::Arc;

use hal::{Driver, Host, MemOp, Nanos, Result, Stream, WaitCondition};
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

/// The word of the probe, which opens the waiting streams. To free one of its own would wait for all work in the
/// context.
#[derive(Clone)]
pub(super) struct Gate {
    words: Arc<Words>,
    number: u64,
}

impl Gate {
    /// The word of this number, which is the probe's alone.
    pub(super) fn new(words: &Arc<Words>, number: u64) -> Gate {
        Gate { words: Arc::clone(words), number }
    }

    fn set(&self, is_open: bool) {
        self.words.store(self.number, u32::from(is_open));
    }

    fn wait(&self) -> MemOp {
        MemOp::wait32(self.words.host_address(self.number), 1, WaitCondition::Geq)
    }
}

/// Lets all streams of the carriers but one wait, and runs a kernel in that one.
pub(super) fn kernels_pass_waits(
    driver: &Arc<dyn Driver>,
    carriers: &[Carrier],
    kernel: &CopyKernel,
    gate: &Gate,
) -> Result<bool> {
    let Some(last) = carriers.last() else { return Ok(false) };
    let waiting: Vec<Stream> = carriers.iter().flat_map(|carrier| [carrier.copies, carrier.waits]).collect();
    let its = gate.clone();
    let opener = Opener::start(driver, move || its.set(true))?;
    let step = || opener.step(Nanos::ZERO);
    opener.in_turns(|| {
        gate.set(false);
        let passed = try_it((&**driver, driver.host()), gate, &waiting, last.rescues, kernel, &step);
        gate.set(true);
        let rested = opener.rest();
        // The word must outlive the streams that wait for it.
        let ended = waiting.iter().chain([&last.rescues]).map(|stream| driver.stream_synchronize(*stream));
        ended.fold(rested, Result::and).and(passed)
    })
}

fn try_it(
    (driver, host): (&dyn Driver, &dyn Host),
    gate: &Gate,
    waiting: &[Stream],
    passing: Stream,
    kernel: &CopyKernel,
    step: &dyn Fn() -> Result<()>,
) -> Result<bool> {
    for stream in waiting {
        step()?;
        driver.mem_op(*stream, gate.wait())?;
        kernel.launch_nothing(*stream)?;
    }
    kernel.launch_nothing(passing)?;
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
        let gate = Gate::new(&Arc::new(Words::new(&driver, 3).unwrap()), 1);
        let streams = [(); 5].map(|()| driver.stream_create(hal::StreamFlags::NON_BLOCKING, 0).unwrap());
        let passed =
            try_it((&*driver, &RealHost::new()), &gate, &streams[..4], streams[4], &kernel, &|| Ok(())).unwrap();
        gate.set(true);
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
