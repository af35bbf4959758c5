//! Feeds on several devices.
#![allow(unsafe_code)] // a launch, of memory that the feed owns

use std::sync::Arc;

use overtake::hal::{Device, Driver};
use overtake::pipeline::{Feed, FeedOptions};
use overtake::task::{Kernel, Shape};
use overtake::{Options, Overtake};
use softgpu::SoftGpu;

use super::{BLOCKS, THREADS, check, fill, is_soft, open_driver, options};

#[test]
fn the_kernel_runs_on_the_device_of_the_options() {
    let soft = || Arc::new(workloads::register(SoftGpu::builder().devices(2)).build());
    let driver: Arc<dyn Driver> = if is_soft() { soft() } else { open_driver() };
    if driver.device_count().unwrap() < 2 {
        return;
    }
    let layers = [0, 1].map(|device| Overtake::open(&driver, Device(device), Options::default()).unwrap());
    let load = |layer: &Overtake| {
        let find = |module| Kernel::find(&*driver, module, "work_streamed");
        layer.cuda_context().call(|driver| find(driver.module_load(workloads::STREAMED_PTX.as_bytes())?)).unwrap()
    };
    let kernel = load(&layers[0]).and_on_next(&load(&layers[1])).unwrap();
    for (device, layer) in (0..).zip(&layers) {
        let feed = Feed::open(layer, FeedOptions { device, ..options(2) }).unwrap();
        let shape = Shape::line(BLOCKS, THREADS);
        // SAFETY: as in `Bed::start_with`.
        let started = unsafe { feed.start(&kernel, &shape, |feed| feed.value(&0_u64).value(&0_u64)) };
        let (mut feeder, mut results, kernel) = started.unwrap();
        fill(&mut feeder).unwrap();
        check(&results.wait().unwrap());
        feeder.close().unwrap();
        kernel.wait().unwrap();
    }
}
