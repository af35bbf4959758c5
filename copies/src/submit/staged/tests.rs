//! Staged copies on the software GPU: their turns, and the time before there are slots.
#![allow(unsafe_code)] // copies are unsafe: the memory outlives them

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use channels::Side;
use hal::{Code, ContextFlags, Device, DevicePtr, Driver, Nanos, Stream};
use options::Options;
use priority::Priority;

use super::*;
use crate::decide::{Others, Reason};
use crate::native::Native;
use crate::overtake::Overtake;
use crate::request::Request;

const BYTES: u64 = 1 << 20;

fn layer(driver: &Arc<dyn Driver>, change: impl FnOnce(&mut Options)) -> Overtake {
    let mut options = Options { staging: true, staging_threads: 2, ..Options::default() };
    options.profile.staging_bytes_min = BYTES;
    change(&mut options);
    Overtake::attach(driver, options).unwrap()
}

/// A layer with slots to the device.
fn warm_layer(driver: &Arc<dyn Driver>, change: impl FnOnce(&mut Options)) -> Overtake {
    let overtake = layer(driver, change);
    while !matches!(copy(&overtake, driver).0, Plan::Staged { .. }) {
        driver.host().sleep(Nanos::from_us(100));
    }
    overtake
}

/// Copies to the device at the lowest priority. Returns the plan and the time that the call took.
fn copy(overtake: &Overtake, driver: &Arc<dyn Driver>) -> (Plan, Nanos) {
    let stream = overtake.stream(Priority::LOWEST).unwrap();
    let (device, source) = (driver.mem_alloc(BYTES).unwrap(), vec![1_u8; BYTES as usize]);
    let before = driver.host().now();
    // SAFETY: both sides have so many bytes; a pageable source is read during the call.
    let handle = unsafe { stream.memcpy_htod_async(device, source.as_ptr(), BYTES) }.unwrap();
    let span = driver.host().now().since(before);
    stream.synchronize().unwrap();
    driver.mem_free(device).unwrap();
    (handle.plan(), span)
}

#[test]
fn bulk_waits_while_a_more_urgent_copy_is_pending() {
    let (driver, held) = (crate::soft::driver(), Nanos::from_us(900));
    let overtake = warm_layer(&driver, |_| ());
    let (_, alone) = copy(&overtake, &driver);
    let standing = &overtake.records().standing;
    let pending = standing.raise(Direction::HostToDevice, overtake.priorities().highest()).unwrap();
    let (bank, its_driver) = (Arc::clone(&overtake.inner().engine(Direction::HostToDevice).bank), driver.clone());
    let lowers = hal::spawn(&driver, "lowers", move || {
        its_driver.host().sleep(held);
        bank.lower(pending);
    });
    let (plan, beside) = copy(&overtake, &driver);
    lowers.unwrap().join(driver.host());
    assert_eq!(plan, Plan::Staged { raises: false });
    assert!(alone < held && beside >= held, "{alone} alone, {beside} beside a pending copy");
}

/// A word that stays up holds a staged copy no longer than a copy kernel.
#[test]
fn bulk_waits_no_longer_than_a_kernel_would() {
    let (driver, most) = (crate::soft::driver(), Nanos::from_us(300));
    let overtake = warm_layer(&driver, |options| options.profile.kernel_wait_max = most);
    let pending = overtake.records().standing.raise(Direction::HostToDevice, overtake.priorities().highest());
    let (_, span) = copy(&overtake, &driver);
    assert!(pending.is_some() && span >= most && span < most + Nanos::from_ms(1), "{span}");
}

/// The attributes of a batch say when its sources are read, and only the driver knows them.
#[test]
fn a_batch_is_left_to_the_driver() {
    let driver = crate::soft::driver();
    let overtake = warm_layer(&driver, |_| ());
    let before = overtake.statistics().staged.copies;
    let stream = overtake.stream(Priority::LOWEST).unwrap();
    let (device, source) = (driver.mem_alloc(2 * BYTES).unwrap(), vec![1_u8; 2 * BYTES as usize]);
    let halves = [0, BYTES].map(|at| Request::htod(device.offset(at), source[at as usize..].as_ptr(), BYTES));
    let calls = std::cell::Cell::new(0);
    let native = || {
        calls.set(calls.get() + 1);
        0
    };
    // SAFETY: the native call makes no copy, and no other way is taken.
    let handle = unsafe { stream.memcpy_through(&halves, &Native::asynchronous(&native)) }.unwrap();
    assert!(matches!(handle.plan(), Plan::Native(_)), "{:?}", handle.plan());
    assert_eq!((calls.get(), overtake.statistics().staged.copies), (1, before));
    driver.mem_free(device).unwrap();
}

/// The plan of a copy to the device behind a long one in its stream, or behind none.
fn plan_behind(overtake: &Overtake, driver: &Arc<dyn Driver>, earlier_bytes: u64, bytes: u64) -> Plan {
    const LONG: u64 = 64 << 20;
    let (stream, source) = (overtake.stream(Priority::LOWEST).unwrap(), vec![1_u8; bytes as usize]);
    let (device, long) = (driver.mem_alloc(bytes).unwrap(), driver.mem_alloc(LONG).unwrap());
    if earlier_bytes > 0 {
        driver.memset_d8_async(long, 1, earlier_bytes, stream.raw()).unwrap();
        assert!(!driver.stream_query(stream.raw()).unwrap(), "there is earlier work");
    }
    // SAFETY: both sides have so many bytes; a pageable source is read during the call.
    let handle = unsafe { stream.memcpy_htod_async(device, source.as_ptr(), bytes) }.unwrap();
    stream.synchronize().unwrap();
    assert!(download(driver, device, bytes) == source, "other bytes arrived");
    [device, long].into_iter().for_each(|memory| driver.mem_free(memory).unwrap());
    handle.plan()
}

/// The driver keeps such a copy and returns, and a staged one would wait.
#[test]
fn a_copy_of_few_bytes_behind_earlier_work_is_left_to_the_driver() {
    let driver = crate::soft::driver();
    let overtake = layer(&driver, |options| options.profile.staging_bytes_min = 0);
    let few = 2 * BYTES;
    while !matches!(plan_behind(&overtake, &driver, 0, few), Plan::Staged { .. }) {
        driver.host().sleep(Nanos::from_us(100));
    }
    assert_eq!(plan_behind(&overtake, &driver, 64 << 20, few), Plan::Native(Reason::Unstaged));
    assert_eq!(plan_behind(&overtake, &driver, 64 << 20, 2 * few), Plan::Staged { raises: false });
    assert_eq!(plan_behind(&overtake, &driver, 0, few), Plan::Staged { raises: false });
}

/// Without helpers the calling thread moves every piece.
#[test]
fn a_copy_completes_without_helpers() {
    let driver = crate::soft::driver();
    let overtake = warm_layer(&driver, |_| ());
    let staging = overtake.inner().staging.as_ref().unwrap();
    let made = means(overtake.inner(), staging, Direction::HostToDevice).unwrap();
    staging.leave();
    assert!(means(overtake.inner(), staging, Direction::HostToDevice).is_none(), "it has left");
    let (device, source) = (driver.mem_alloc(BYTES).unwrap(), vec![7_u8; BYTES as usize]);
    let stream = overtake.stream(Priority::LOWEST).unwrap();
    let order = Order {
        direction: Direction::HostToDevice,
        stream: stream.raw(),
        priority: Priority::LOWEST,
        raises: false,
        yields: false,
    };
    let shape = channels::Shape::linear(device.0, source.as_ptr() as u64, BYTES);
    let mut conductor = Conductor::new(made, order, Areas::default(), cut(&shape, &order, 2).unwrap(), None);
    // SAFETY: both sides have so many bytes, and live until the stream has been waited for.
    let (first, went) = unsafe { conductor.go(true) };
    assert!(first > 1 && went.is_ok(), "{first} pieces: {went:?}");
    let mut target = vec![0_u8; BYTES as usize];
    // SAFETY: as above.
    unsafe { driver.copy_dtoh(target.as_mut_ptr(), device, BYTES) }.unwrap();
    assert_eq!(target, source);
    driver.mem_free(device).unwrap();
}

/// Has slots to the device made slowly, or refused at last.
fn make_slowly(overtake: &Overtake, driver: &Arc<dyn Driver>, span: Nanos, is_refused: bool) {
    let (its_driver, context) = (Arc::clone(driver), overtake.inner().context.clone());
    overtake.inner().staging.as_ref().unwrap().begin(driver, Direction::HostToDevice, move |bytes| {
        its_driver.host().sleep(span);
        match is_refused {
            true => Err(Code::OUT_OF_MEMORY.at("test")),
            false => context.call(|_| pin(&its_driver, bytes)),
        }
    });
}

#[test]
fn a_small_copy_does_not_wait_for_slots() {
    let (driver, span) = (crate::soft::driver(), Nanos::from_ms(30));
    let overtake = layer(&driver, |_| ());
    make_slowly(&overtake, &driver, span, false);
    let (plan, took) = copy(&overtake, &driver);
    assert_eq!(plan, Plan::Native(Reason::Unstaged));
    assert!(took < Nanos(span.0 / 10), "{took}");
    driver.host().sleep(span);
    assert_eq!(copy(&overtake, &driver).0, Plan::Staged { raises: false });
}

/// Rows of a large copy to the device, whose first slots are made slowly or refused. Returns the bytes that the driver
/// made of how many, and the plan of the next copy.
fn large_copy(pitch: u64, is_refused: bool) -> ([u64; 2], Plan) {
    const WIDTH: u64 = 8192;
    const ROWS: u64 = 4096;
    let driver = crate::soft::driver();
    let overtake = layer(&driver, |_| ());
    let (stream, bytes) = (overtake.stream(Priority::LOWEST).unwrap(), pitch * ROWS);
    let mut source: Vec<u8> = (0..bytes).map(|at| (at * 31 / 7) as u8).collect();
    let (sent, device) = (source.clone(), driver.mem_alloc(bytes).unwrap());
    driver.memset_d8_async(device, 0, bytes, stream.raw()).unwrap();
    let side = |side: Side| side.pitched(pitch, bytes);
    let (to, from) = (side(Side::device(device)), side(Side::host(source.as_ptr() as u64)));
    let shape = Shape { target: to, source: from, width_bytes: WIDTH, rows: ROWS, depth: 1 };
    make_slowly(&overtake, &driver, Nanos::from_ms(1), is_refused);
    // SAFETY: both sides have so many rows; a pageable source is read during the call.
    let handle = unsafe { stream.memcpy_shape_async(&shape) }.unwrap();
    source.fill(0xee);
    stream.synchronize().unwrap();
    assert_eq!(handle.plan(), Plan::Staged { raises: false });
    assert!(download(&driver, device, bytes) == arrived(&sent, WIDTH, pitch), "other bytes arrived");
    driver.mem_free(device).unwrap();
    ([overtake.statistics().unstaged_bytes, WIDTH * ROWS], copy(&overtake, &driver).0)
}

fn download(driver: &Arc<dyn Driver>, device: DevicePtr, bytes: u64) -> Vec<u8> {
    let mut target = vec![1; bytes as usize];
    // SAFETY: both sides have so many bytes.
    unsafe { driver.copy_dtoh(target.as_mut_ptr(), device, bytes) }.unwrap();
    target
}

/// The rows of `sent`, with zeroes in the gaps.
fn arrived(sent: &[u8], width: u64, pitch: u64) -> Vec<u8> {
    sent.iter().enumerate().map(|(at, byte)| if at as u64 % pitch < width { *byte } else { 0 }).collect()
}

/// A box that is smaller than a piece.
#[test]
fn every_slice_of_a_small_box_arrives() {
    const WIDTH: u64 = 1_111;
    const ROWS: u64 = 54;
    const DEPTH: u64 = 4;
    const PITCH: u64 = 1_200;
    const SLICE: u64 = PITCH * 56;
    let driver = crate::soft::driver();
    let overtake = warm_layer(&driver, |options| options.profile.staging_bytes_min = 4 << 10);
    let (stream, bytes) = (overtake.stream(Priority::LOWEST).unwrap(), SLICE * DEPTH);
    let sent: Vec<u8> = (0..bytes).map(|at| (at * 31 / 7) as u8).collect();
    let device = driver.mem_alloc(bytes).unwrap();
    let side = |side: Side| side.pitched(PITCH, SLICE);
    let (to, from) = (side(Side::device(device)), side(Side::host(sent.as_ptr() as u64)));
    let shape = Shape { target: to, source: from, width_bytes: WIDTH, rows: ROWS, depth: DEPTH };
    // SAFETY: both sides have so many slices; a pageable source is read during the call.
    let handle = unsafe { stream.memcpy_shape_async(&shape) }.unwrap();
    stream.synchronize().unwrap();
    assert_eq!(handle.plan(), Plan::Staged { raises: false });
    let there = download(&driver, device, bytes);
    for row in (0..DEPTH).flat_map(|slice| (0..ROWS).map(move |row| (slice * SLICE + row * PITCH) as usize)) {
        let row = row..row + WIDTH as usize;
        assert!(there[row.clone()] == sent[row.clone()], "other bytes at {}", row.start);
    }
    driver.mem_free(device).unwrap();
}

#[test]
fn a_large_copy_begins_natively_and_goes_on_through_slots() {
    for pitch in [8192, 9000] {
        let ([natively, all], next) = large_copy(pitch, false);
        assert!(natively >= MEANWHILE_BYTES / 2 && natively <= all / 2, "{natively} of {all}");
        assert_eq!(next, Plan::Staged { raises: false });
    }
}

#[test]
fn a_large_copy_ends_natively_if_slots_are_refused() {
    for pitch in [8192, 9000] {
        let ([natively, all], next) = large_copy(pitch, true);
        assert_eq!((natively, next), (all, Plan::Native(Reason::Unstaged)));
    }
}

/// A layer that closes while a thread makes slots waits for that thread, and ends it.
#[test]
fn a_layer_closes_while_slots_are_made() {
    let (driver, span) = (crate::soft::driver(), Nanos::from_ms(1));
    let overtake = layer(&driver, |_| ());
    make_slowly(&overtake, &driver, span, false);
    let began = driver.host().now();
    drop(overtake);
    assert!(driver.host().now().since(began) >= span, "the thread has been left behind");
}

/// The most fences that are out at once while a copy is made, the bulk that another stream finds meanwhile, and its
/// plan. None is out before and after.
fn fences_of_a_copy(overtake: &Overtake, driver: &Arc<dyn Driver>) -> (usize, Others, Plan) {
    let (inner, its_driver) = (Arc::clone(overtake.inner()), Arc::clone(driver));
    let ends = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&ends);
    let out = || overtake.records().fences.outstanding();
    assert_eq!(out(), 0);
    let looks = hal::spawn(driver, "looks", move || {
        let (mut most, mut others) = (0, Others::default());
        while !ended.load(Ordering::SeqCst) {
            most = most.max(inner.records.fences.outstanding());
            let found = inner.records.traffic(Direction::HostToDevice).room(Priority::LOWEST, Stream(1)).others;
            others = if found.streams > 0 { found } else { others };
            its_driver.host().sleep(Nanos::from_us(1));
        }
        (most, others)
    });
    let (plan, _) = copy(overtake, driver);
    ends.store(true, Ordering::SeqCst);
    let (most, others) = looks.unwrap().join(driver.host());
    assert_eq!(out(), 0, "a fence has not come back");
    (most, others, plan)
}

/// An urgent copy waits for one piece at most, and that has a fence in place of an event. Where it states how long it
/// may wait, other bulk counts on the turns of these pieces.
#[test]
fn beside_urgent_streams_one_piece_at_a_time_is_in_flight_with_a_fence() {
    let driver = crate::soft::driver();
    let overtake = warm_layer(&driver, |_| ());
    let (staged, none, turn) =
        (Plan::Staged { raises: false }, Others::default(), cost(SHARED_PIECE_BYTES_MAX, &Options::default()));
    assert_eq!(fences_of_a_copy(&overtake, &driver), (0, none, staged), "alone");
    let expected = || overtake.expect(overtake.priorities().highest(), None).unwrap();
    let urgent = expected();
    assert_eq!(fences_of_a_copy(&overtake, &driver), (1, none, staged));
    let patient = urgent.tolerating(Nanos::from_us(150));
    let others = Others { streams: 1, longest: turn, whole_streams: 1, longest_whole: turn };
    assert_eq!(fences_of_a_copy(&overtake, &driver), (1, others, staged));
    let room = || overtake.records().traffic(Direction::HostToDevice).room(Priority::LOWEST, Stream(1)).others;
    assert_eq!(room(), none, "it has landed");
    drop(patient);
    assert_eq!(fences_of_a_copy(&overtake, &driver), (0, none, staged), "alone again");
}

/// A piece that finds no fence has an event.
#[test]
fn pieces_land_without_fences() {
    let driver = crate::soft::driver();
    let overtake = warm_layer(&driver, |_| ());
    let _urgent = overtake.stream(overtake.priorities().highest()).unwrap();
    let fences = &overtake.records().fences;
    let all: Vec<_> = std::iter::from_fn(|| fences.take()).collect();
    assert_eq!(copy(&overtake, &driver).0, Plan::Staged { raises: false });
    assert_eq!(fences.outstanding(), all.len());
    all.into_iter().for_each(|fence| fences.release(fence));
}

/// How staged copies behind earlier work wait in a context with these flags: whether any spins, whether any sleeps.
fn waits(flags: ContextFlags) -> [bool; 2] {
    let gpu = softgpu::SoftGpu::builder().build();
    gpu.context_create_with(Device(0), flags).unwrap();
    let driver: Arc<dyn Driver> = Arc::new(gpu.clone());
    let overtake = warm_layer(&driver, |_| ());
    let before = gpu.counts();
    let (stream, bytes) = (overtake.stream(Priority::LOWEST).unwrap(), 16 * BYTES);
    let (device, mut there) = (driver.mem_alloc(bytes).unwrap(), vec![1_u8; bytes as usize]);
    for _ in 0..4 {
        driver.memset_d8_async(device, 7, bytes, stream.raw()).unwrap();
        // SAFETY: both sides have so many bytes; the source is read during the call.
        let sent = unsafe { stream.memcpy_htod_async(device, there.as_ptr(), bytes) }.unwrap();
        assert!(matches!(sent.plan(), Plan::Staged { .. }));
        // SAFETY: both sides have so many bytes, and the target is written during the call.
        unsafe { stream.memcpy_dtoh_async(there.as_mut_ptr(), device, bytes) }.unwrap();
    }
    let after = gpu.counts();
    driver.mem_free(device).unwrap();
    [after.spinning_event_waits > before.spinning_event_waits, after.blocking_event_waits > before.blocking_event_waits]
}

#[test]
fn a_thread_waits_for_the_device_as_its_context_says() {
    assert_eq!(waits(ContextFlags::DEFAULT), [true, false]);
    assert_eq!(waits(ContextFlags::BLOCKING_SYNC), [false, true]);
}
