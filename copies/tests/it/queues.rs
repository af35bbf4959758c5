//! The number of hardware queues for copies. In a process of its own, because that has one environment.

use std::sync::Arc;

use hal::{Device, Driver};
use options::{GuardOptions, Options};
use overtake_copies::Overtake;
use testkit::alone::is_alone_with;

#[test]
#[cfg_attr(miri, ignore)] // it starts a process
fn there_are_as_many_as_the_caller_says_or_else_the_drivers_variable() {
    let name = "queues::there_are_as_many_as_the_caller_says_or_else_the_drivers_variable";
    if !is_alone_with(name, &[("CUDA_DEVICE_MAX_COPY_CONNECTIONS", "1")]) {
        return;
    }
    for (copy_queues, stands_down) in [(None, true), (Some(4), false), (Some(1), true)] {
        let driver: Arc<dyn Driver> = Arc::new(softgpu::SoftGpu::builder().build());
        let guard = GuardOptions { copy_queues, ..GuardOptions::default() };
        let overtake = Overtake::open(&driver, Device(0), Options { guard, ..Options::default() }).unwrap();
        assert_eq!(overtake.statistics().stood_down, stands_down, "{copy_queues:?}");
    }
}
