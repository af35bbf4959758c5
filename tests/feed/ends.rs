//! The end of a kernel that is told to end.

use std::sync::Arc;

use overtake::Options;
use overtake::hal::{Driver, Nanos, spawn};
use overtake::pipeline::Error;
use softgpu::SoftGpu;

use super::{BLOCKS, Bed, SPAN, THREADS, fill, is_soft, options, view};

#[test]
fn a_kernel_that_got_nothing_ends_when_it_is_closed() {
    let bed = Bed::new();
    let (feeder, mut results, kernel) = bed.start(options(3)).unwrap();
    assert!(!kernel.has_ended());
    feeder.close().unwrap();
    kernel.wait().unwrap();
    assert!(matches!(results.wait(), Err(Error::Ended)));
}

#[test]
fn a_word_ends_the_kernel_from_beside() {
    let bed = Bed::new();
    let (mut feeder, mut results, kernel) = bed.start(options(2)).unwrap();
    let ender = spawn(&bed.driver, "ender", move || {
        kernel.end();
        kernel.wait().unwrap();
    });
    assert!(view(&mut results).is_empty());
    assert!(matches!(feeder.acquire().map(|_| ()), Err(Error::Ended)));
    ender.unwrap().join(bed.driver.host());
}

/// It has two seconds. Its memory is given up then, because to free it would wait for the kernel.
#[test]
fn a_kernel_that_does_not_end_is_waited_for_no_longer() {
    if !is_soft() {
        return;
    }
    let gpu = workloads::register(SoftGpu::builder()).build();
    let driver: Arc<dyn Driver> = Arc::new(gpu.clone());
    let bed = Bed::on(&driver, Options::default()).unwrap();
    let before = gpu.live().allocations;
    let at_work = Nanos::from_ms(10_000);
    let (mut feeder, results, kernel) = bed.start_with(options(2), BLOCKS, THREADS, at_work).unwrap();
    let made = gpu.live().allocations - before;
    fill(&mut feeder).unwrap();
    driver.host().sleep(SPAN);
    let began = driver.host().now();
    drop((feeder, results, kernel));
    let took = driver.host().now().since(began);
    assert!(took >= Nanos::from_ms(2_000) && took < Nanos::from_ms(3_000), "{took}");
    assert_eq!(gpu.live().allocations - before, made, "the kernel still uses them");
}
