//! Kernels that run on and consume the stages that the host feeds: on the software GPU, and on a GPU with
//! `OVERTAKE_BACKEND=cuda` (then with `--test-threads=1`: to free memory waits for the kernels of other tests).
#![allow(unsafe_code)] // launches and copies; the memory is described where it is made

mod devices;
mod ends;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use backend::Backend;
use overtake::hal::{Attribute, Code, Device, DevicePtr, Driver, HostAllocFlags, Module, Nanos, Stream, spawn};
use overtake::options::Transport;
use overtake::pipeline::{Error, Feed, FeedKernel, FeedOptions, FeedResult, FeedResults, FeedStage, Feeder};
use overtake::task::{Kernel, Shape};
use overtake::{Options, Overtake, Priority};
use softgpu::SoftGpu;
use testkit::fixture::faulty::Faulty;

const BLOCKS: u32 = 6;
const THREADS: u32 = 256;
const BYTES: usize = 10_000;
const SPAN: Nanos = Nanos::from_ms(20);

fn open_driver() -> Arc<dyn Driver> {
    let asked = std::env::var_os(backend::BACKEND_VARIABLE).is_some();
    let backend = if asked { Backend::from_environment().unwrap() } else { Backend::Soft };
    backend::open_with(backend, workloads::register).unwrap().driver
}

fn is_soft() -> bool {
    open_driver().host().is_virtual()
}

fn options(stages: u8) -> FeedOptions {
    let result_bytes = 8 * BLOCKS as usize;
    FeedOptions { name: "camera".to_owned(), stages, bytes: BYTES, result_bytes, ..FeedOptions::default() }
}

struct Bed {
    driver: Arc<dyn Driver>,
    overtake: Overtake,
    module: Module,
}

impl Bed {
    fn new() -> Bed {
        Bed::on(&open_driver(), Options::default()).unwrap()
    }

    fn on(driver: &Arc<dyn Driver>, options: Options) -> overtake::hal::Result<Bed> {
        let overtake = Overtake::open(driver, Device(0), options)?;
        let module = driver.module_load(workloads::STREAMED_PTX.as_bytes())?;
        Ok(Bed { driver: Arc::clone(driver), overtake, module })
    }

    fn start(&self, options: FeedOptions) -> Result<(Feeder, FeedResults, FeedKernel), Error> {
        self.start_with(options, BLOCKS, THREADS, Nanos::ZERO)
    }

    fn start_with(
        &self,
        options: FeedOptions,
        blocks: u32,
        threads: u32,
        span: Nanos,
    ) -> Result<(Feeder, FeedResults, FeedKernel), Error> {
        let kernel = Kernel::find(&*self.driver, self.module, "work_streamed")?;
        let feed = Feed::open(&self.overtake, options)?;
        let shape = Shape::line(blocks, threads);
        // SAFETY: the kernel takes the feed, a pointer that may be null, and a time; it is written by the header.
        unsafe { feed.start(&kernel, &shape, |feed| feed.value(&0_u64).value(&span.0)) }
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = self.driver.module_unload(self.module);
    }
}

/// The words of a stage: each differs from its neighbours and from those of other stages.
fn word(number: u64, at: u64) -> u32 {
    (number.wrapping_mul(2_654_435_761).wrapping_add(at * 40_503) % 1_000_003) as u32
}

fn fill(feeder: &mut Feeder) -> Result<u64, Error> {
    commit(feeder.acquire()?)
}

fn commit(mut stage: FeedStage<'_>) -> Result<u64, Error> {
    let number = stage.number();
    for (at, bytes) in stage.bytes_mut().as_chunks_mut::<4>().0.iter_mut().enumerate() {
        *bytes = word(number, at as u64).to_le_bytes();
    }
    stage.commit()?;
    Ok(number)
}

/// The kernel's sum of each block, against those of the bytes that were committed.
fn check(result: &FeedResult<'_>) {
    let mut expected = vec![0_u64; BLOCKS as usize];
    for at in 0..(BYTES / 4) as u64 {
        expected[(at / u64::from(THREADS)) as usize % BLOCKS as usize] += u64::from(word(result.number(), at));
    }
    let sums: Vec<u64> = result.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
    assert_eq!(sums, expected, "the sums of stage {}", result.number());
}

/// The numbers of all results that come, until there are none any more.
fn view(results: &mut FeedResults) -> Vec<u64> {
    let mut numbers = Vec::new();
    loop {
        match results.wait() {
            Ok(result) => {
                check(&result);
                numbers.push(result.number());
            }
            Err(Error::Ended) => return numbers,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn each_stage_comes_with_its_bytes_in_order() {
    let bed = Bed::new();
    for stages in [1, 3, 255] {
        let (mut feeder, mut results, kernel) = bed.start(options(stages)).unwrap();
        let frames = 2 * u64::from(stages) + 5;
        let camera = spawn(&bed.driver, "camera", move || {
            (0..frames).for_each(|number| assert_eq!(fill(&mut feeder).unwrap(), number));
            feeder.close().unwrap();
        });
        assert_eq!(view(&mut results), (0..frames).collect::<Vec<_>>(), "{stages} stages");
        camera.unwrap().join(bed.driver.host());
        kernel.wait().unwrap();
        assert!(kernel.has_ended());
    }
}

#[test]
fn the_producer_is_ahead_by_exactly_the_stages() {
    let bed = Bed::new();
    let (mut feeder, mut results, _kernel) = bed.start(options(3)).unwrap();
    for _ in 0..3 {
        fill(&mut feeder).unwrap();
    }
    for number in 0..7 {
        assert!(feeder.try_acquire().unwrap().is_none(), "a fourth stage");
        assert!(feeder.acquire_for(SPAN.into()).unwrap().is_none(), "a fourth stage, later");
        let result = results.wait().unwrap();
        assert_eq!(result.number(), number);
        assert_eq!(result.len(), 8 * BLOCKS as usize);
        assert!(feeder.try_acquire().unwrap().is_none(), "a stage whose result is still there");
        drop(result);
        fill(&mut feeder).unwrap();
    }
}

#[test]
fn a_wait_that_timed_out_succeeds_later() {
    let bed = Bed::new();
    let (mut feeder, mut results, _kernel) = bed.start(options(2)).unwrap();
    let began = bed.driver.host().now();
    assert!(results.wait_for(SPAN.into()).unwrap().is_none());
    assert!(results.try_wait().unwrap().is_none());
    assert!(bed.driver.host().now() >= began + SPAN);
    let _given_up = feeder.acquire().unwrap();
    assert_eq!(fill(&mut feeder).unwrap(), 0, "a stage that is given up is there again");
    check(&results.wait_for(Nanos::from_ms(2_000).into()).unwrap().unwrap());
}

#[test]
fn a_producer_that_panics_ends_the_kernel() {
    let bed = Bed::new();
    let (mut feeder, mut results, kernel) = bed.start(options(3)).unwrap();
    let camera = spawn(&bed.driver, "camera", move || {
        catch_unwind(AssertUnwindSafe(move || {
            fill(&mut feeder).unwrap();
            let _stage = feeder.acquire().unwrap();
            std::panic::resume_unwind(Box::new("a camera fails"));
        }))
        .is_err()
    });
    let numbers = view(&mut results);
    assert!(numbers.len() <= 1, "{numbers:?}");
    kernel.wait().unwrap();
    assert!(camera.unwrap().join(bed.driver.host()), "it has panicked");
}

#[test]
fn a_consumer_that_goes_ends_the_kernel_and_tells_the_producer() {
    let bed = Bed::new();
    let (mut feeder, results, kernel) = bed.start(options(2)).unwrap();
    fill(&mut feeder).unwrap();
    drop(results);
    kernel.wait().unwrap();
    assert!(matches!(feeder.acquire().map(|_| ()), Err(Error::Ended)));
}

/// It hears of that at once, although the kernel is at work for longer.
#[test]
fn a_producer_that_waits_hears_of_a_consumer_that_goes() {
    let bed = Bed::new();
    let (mut feeder, results, _kernel) = bed.start_with(options(1), BLOCKS, THREADS, SPAN).unwrap();
    fill(&mut feeder).unwrap();
    let driver = Arc::clone(&bed.driver);
    let camera = spawn(&bed.driver, "camera", move || {
        let acquired = feeder.acquire().map(|_| ());
        (acquired, driver.host().now())
    });
    bed.driver.host().sleep(Nanos(SPAN.0 / 4));
    let gone = bed.driver.host().now();
    drop(results);
    let (acquired, told) = camera.unwrap().join(bed.driver.host());
    assert!(matches!(acquired, Err(Error::Ended)), "{acquired:?}");
    assert!(told < gone + Nanos(SPAN.0 / 4), "it was told after {}", told.since(gone));
}

#[test]
fn a_kernel_that_leaves_no_multiprocessors_is_refused() {
    let bed = Bed::new();
    let feed = Feed::open(&bed.overtake, options(3)).unwrap();
    let blocks_max = feed.blocks_max();
    let multiprocessors = bed.driver.device_attribute(Attribute::MULTIPROCESSOR_COUNT, Device(0)).unwrap() as u32;
    assert_eq!(blocks_max, multiprocessors - FeedOptions::default().leave);
    let error = bed.start_with(options(3), blocks_max + 1, THREADS, Nanos::ZERO).unwrap_err();
    let left = FeedOptions::default().leave;
    assert!(error.to_string().contains(&format!("{blocks_max} leave {left} multiprocessors")), "{error}");
}

/// Options under which bulk goes by copy kernel, in the stream of its caller.
fn bulk_by_kernel() -> Options {
    Options::default().with_profile(|profile| profile.transport = Transport::Kernel)
}

/// A copy of 64 MiB in a stream of its own, which an urgent stream beside it sends by kernel.
struct Bulk<'b> {
    bed: &'b Bed,
    host: *mut u8,
    device: DevicePtr,
    stream: overtake::PriorityStream,
    _urgent: overtake::PriorityStream,
}

const BULK_BYTES: u64 = 64 << 20;

impl<'b> Bulk<'b> {
    fn new(bed: &'b Bed) -> Bulk<'b> {
        let host = bed.driver.host_alloc(BULK_BYTES, HostAllocFlags::PORTABLE).unwrap();
        let device = bed.driver.mem_alloc(BULK_BYTES).unwrap();
        let stream = bed.overtake.stream(Priority::LOWEST).unwrap();
        let urgent = bed.overtake.stream(bed.overtake.priorities().highest()).unwrap();
        Bulk { bed, host, device, stream, _urgent: urgent }
    }

    fn send(&self) {
        // SAFETY: both sides are as large, and live until `free`, before which the stream is waited for.
        unsafe { self.stream.memcpy_htod_async(self.device, self.host, BULK_BYTES) }.unwrap();
    }

    fn raw(&self) -> Stream {
        self.stream.raw()
    }

    fn free(self) {
        self.bed.driver.mem_free(self.device).unwrap();
        // SAFETY: all copies have ended.
        unsafe { self.bed.driver.host_free(self.host) }.unwrap();
    }
}

#[test]
fn bulk_by_kernel_goes_on_beside_a_kernel_that_waits() {
    let bed = Bed::on(&open_driver(), bulk_by_kernel()).unwrap();
    let bulk = Bulk::new(&bed);
    let blocks = Feed::open(&bed.overtake, options(3)).unwrap().blocks_max();
    let results_of_all = FeedOptions { result_bytes: 8 * blocks as usize, ..options(3) };
    let (mut feeder, mut results, kernel) = bed.start_with(results_of_all, blocks, 1024, Nanos::ZERO).unwrap();
    for _ in 0..4 {
        bulk.send();
        // It waits for no stage: none has been committed.
        bed.driver.stream_synchronize(bulk.raw()).unwrap();
        fill(&mut feeder).unwrap();
        drop(results.wait().unwrap());
    }
    feeder.close().unwrap();
    kernel.wait().unwrap();
    assert!(bed.overtake.statistics().kernel.copies > 0, "the bulk went by kernel");
    drop((results, kernel));
    bulk.free();
}

/// The reason for `FeedOptions::leave`: with no multiprocessor left, bulk by kernel waits for ever.
#[test]
fn a_full_device_that_waits_hangs_bulk_by_kernel() {
    if !is_soft() {
        return;
    }
    let bed = Bed::on(&open_driver(), bulk_by_kernel()).unwrap();
    let bulk = Bulk::new(&bed);
    let full = FeedOptions { leave: 0, blocks_each: 2, ..options(3) };
    let blocks = Feed::open(&bed.overtake, full.clone()).unwrap().blocks_max();
    let (feeder, results, kernel) = bed.start_with(full, blocks, 1024, Nanos::ZERO).unwrap();
    bulk.send();
    let stuck = bed.driver.stream_synchronize(bulk.raw()).unwrap_err();
    assert!(stuck.to_string().contains("multiprocessors"), "{stuck}");
    kernel.end();
    kernel.wait().unwrap();
    bed.driver.stream_synchronize(bulk.raw()).unwrap();
    drop((feeder, results, kernel));
    bulk.free();
}

/// Calls that may wait for the device, and so for the kernel.
const WAITING: &[&str] = &[
    "context_create",
    "context_destroy",
    "context_synchronize",
    "graph_instantiate",
    "host_alloc",
    "host_free",
    "host_register",
    "host_unregister",
    "mem_alloc",
    "mem_free",
    "module_load",
    "module_unload",
    "primary_context_release",
    "stream_create",
    "stream_destroy",
];

#[test]
fn no_call_waits_for_the_device_while_the_kernel_runs() {
    let faulty = Faulty::new(&open_driver(), Code::LAUNCH_FAILED);
    let driver: Arc<dyn Driver> = Arc::clone(&faulty) as _;
    let bed = Bed::on(&driver, bulk_by_kernel()).unwrap();
    let bulk = Bulk::new(&bed);
    let urgent = FeedOptions { priority: bed.overtake.priorities().highest(), ..options(4) };
    let (mut feeder, mut results, kernel) = bed.start(urgent).unwrap();
    faulty.refuse(WAITING);
    let before = faulty.made();
    for _ in 0..12 {
        bulk.send();
        for _ in 0..4 {
            fill(&mut feeder).unwrap();
        }
        for _ in 0..4 {
            check(&results.wait().unwrap());
        }
    }
    feeder.close().unwrap();
    kernel.wait().unwrap();
    bed.driver.stream_synchronize(bulk.raw()).unwrap();
    let after = faulty.made();
    let made = |name: &&&str| after.get(**name) != before.get(**name);
    let waiting: Vec<&&str> = WAITING.iter().filter(made).collect();
    assert!(waiting.is_empty(), "{waiting:?}");
    faulty.refuse(&[]);
    drop((results, kernel));
    bulk.free();
}

/// A short life of a feed. Calls that fail are its errors.
fn life(driver: &Arc<dyn Driver>) -> Result<(), Error> {
    let bed = Bed::on(driver, Options::default())?;
    let (mut feeder, mut results, kernel) = bed.start(options(2))?;
    for _ in 0..3 {
        fill(&mut feeder)?;
        check(&results.wait()?);
    }
    feeder.close()?;
    kernel.wait()
}

#[test]
fn every_driver_call_fails_once_and_nothing_hangs() {
    if !is_soft() {
        return;
    }
    let (mut nth, mut failures) = (0, 0);
    loop {
        nth += 1;
        let gpu = workloads::register(SoftGpu::builder()).build();
        let soft: Arc<dyn Driver> = Arc::new(gpu.clone());
        let faulty = Faulty::new(&soft, Code::LAUNCH_FAILED);
        faulty.fail(nth);
        let driver: Arc<dyn Driver> = Arc::clone(&faulty) as _;
        let lived = life(&driver);
        let Some(failed) = faulty.failed() else { break };
        failures += usize::from(lived.is_err());
        // The stages and the words, each allocation of which the failed call may have been to free.
        let left = gpu.live().allocations;
        let may_leak = failed.contains("free") || failed.contains("context") || failed.contains("release");
        assert!(left == 0 || may_leak, "{left} allocations are left after call {nth}, {failed}: {lived:?}");
    }
    assert!(nth > 60 && failures > 20, "{nth} calls, {failures} failures");
}

#[test]
fn a_lost_device_is_an_error_at_both_ends() {
    if !is_soft() {
        return;
    }
    let gpu = workloads::register(SoftGpu::builder()).build();
    let soft: Arc<dyn Driver> = Arc::new(gpu);
    let faulty = Faulty::new(&soft, Code::ECC_UNCORRECTABLE);
    let driver: Arc<dyn Driver> = Arc::clone(&faulty) as _;
    let bed = Bed::on(&driver, Options::default()).unwrap();
    let (mut feeder, mut results, kernel) = bed.start(options(2)).unwrap();
    fill(&mut feeder).unwrap();
    check(&results.wait().unwrap());
    faulty.fail_for_good(1);
    let filled = (0..4).map(|_| fill(&mut feeder)).find(Result::is_err).unwrap();
    assert!(matches!(filled, Err(Error::Driver(_))), "{filled:?}");
    assert!(matches!(results.wait().map(|_| ()), Err(Error::Driver(_))));
    assert!(matches!(kernel.wait(), Err(Error::Driver(_))));
}
