//! The memory of a bank is freed with it. In a process of its own, because it counts the mappings there.

use std::sync::Arc;

use hal::{Device, Driver};
use overtake_semaphores::Bank;
use priority::Priorities;
use softgpu::SoftGpu;
use testkit::alone::is_alone;

/// Memory that a fork of this process would share.
fn shared_mappings() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().filter(|line| line.contains("/dev/zero")).count()
}

#[test]
fn a_bank_leaves_nothing_behind() {
    if !is_alone("memory::a_bank_leaves_nothing_behind") {
        return;
    }
    let gpu = SoftGpu::builder().build();
    let driver: Arc<dyn Driver> = Arc::new(gpu.clone());
    let context = driver.primary_context_retain(Device(0)).unwrap();
    driver.context_set_current(Some(context)).unwrap();
    let held = || (gpu.live().allocations, shared_mappings());
    let before = held();
    let bank = Bank::new(&driver, Priorities::new(2).unwrap()).unwrap();
    let with = held();
    assert!(with.0 > before.0 && with.1 > before.1, "{before:?} {with:?}");
    drop(bank);
    assert_eq!(held(), before);
}
