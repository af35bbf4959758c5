//! A system that refuses the threads of staging: pageable copies are staged by those that it gives, and left to the
//! driver where it gives none.
#![allow(unsafe_code)] // copies are unsafe: the memory outlives them

mod refused_threads {
    testkit::refused_threads!();
}

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hal::{Device, Driver, Nanos};
use options::Options;
use overtake_copies::Overtake;
use overtake_copies::copy::{Plan, Reason};
use priority::Priority;
use refused_threads::REFUSED_TO_ANY;
use softgpu::SoftGpu;
use testkit::alone::is_alone;

const BYTES: u64 = 3 << 20;
/// The layer has made its threads long before so many copies.
const TRIES: u64 = 100;

/// Copies there and back, while the system refuses the thread of this number, until both are staged. Returns the last
/// plans.
fn there_and_back(refused: u32) -> [Plan; 2] {
    let driver: Arc<dyn Driver> = Arc::new(SoftGpu::builder().build());
    let context = driver.primary_context_retain(Device(0)).unwrap();
    driver.context_set_current(Some(context)).unwrap();
    let mut options = Options { staging: true, staging_threads: 3, ..Options::default() };
    options.profile.staging_bytes_min = BYTES;
    let overtake = Overtake::attach(&driver, options).unwrap();
    let stream = overtake.stream(Priority::LOWEST).unwrap();
    let device = driver.mem_alloc(BYTES).unwrap();
    let (source, mut target) = (vec![7_u8; BYTES as usize], vec![0_u8; BYTES as usize]);
    REFUSED_TO_ANY.store(refused, Ordering::SeqCst);
    let (mut plans, mut copies) = ([Plan::Native(Reason::Unstaged); 2], 0);
    while copies < TRIES && plans.iter().any(|plan| matches!(plan, Plan::Native(_))) {
        target.fill(0);
        // SAFETY: both sides have so many bytes, and outlive the copies, which are complete when the second returns.
        plans = unsafe {
            let there = stream.memcpy_htod_async(device, source.as_ptr(), BYTES).unwrap();
            let back = stream.memcpy_dtoh_async(target.as_mut_ptr(), device, BYTES).unwrap();
            [there.plan(), back.plan()]
        };
        copies += 2;
        assert!(target == source, "other bytes came back");
        driver.host().sleep(Nanos::from_us(100));
    }
    assert_eq!(REFUSED_TO_ANY.load(Ordering::SeqCst), 0, "so many threads were not asked for");
    let native = overtake.statistics().native.get(&Reason::Unstaged).map_or(0, |class| class.copies);
    assert_eq!(native + overtake.statistics().staged.copies, copies, "{:?}", overtake.statistics());
    drop((stream, overtake));
    driver.mem_free(device).unwrap();
    plans
}

#[test]
fn copies_take_the_threads_that_there_are() {
    if !is_alone("refused::copies_take_the_threads_that_there_are") {
        return;
    }
    let staged = Plan::Staged { raises: false };
    assert_eq!(there_and_back(0), [staged, staged]);
    assert_eq!(there_and_back(3), [staged, staged], "one of three threads");
    let native = Plan::Native(Reason::Unstaged);
    assert_eq!(there_and_back(2), [native, native], "no thread moves bytes");
    assert_eq!(there_and_back(1), [native, native], "no thread makes slots");
}
