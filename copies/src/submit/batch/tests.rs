//! What the driver is asked about the copies of a batch, on the software GPU.

use hal::{Device, DevicePtr, HostAllocFlags, Nanos};

use super::*;

const PIECE: u64 = 4 << 10;
const PIECES: u64 = 64;

/// The descriptors of a batch, and the time that the driver's answers took.
fn combined(driver: &dyn Driver, home: &Home, requests: &[Request]) -> (usize, Nanos) {
    let begin = driver.host().now();
    let clock = driver.host().now().since(begin); // a look at it takes time too
    let (_, descriptors) = combine(driver, home, requests).expect("kernels reach all of it");
    (descriptors.len(), driver.host().now().since(begin + clock + clock))
}

#[test]
fn the_driver_is_asked_once_about_an_allocation() {
    let driver = crate::soft::driver();
    let home = Home { context: driver.context_current().unwrap().unwrap(), device: Device(0) };
    let sides = |_| {
        let device = driver.mem_alloc(PIECES * PIECE).unwrap();
        (device, driver.host_alloc(PIECES * PIECE, HostAllocFlags(3)).unwrap())
    };
    let [near, far] = [0, 1].map(sides);
    let piece = |(device, host): (DevicePtr, *mut u8), at: u64| {
        Request::htod(device.offset(at * PIECE), host.wrapping_add((at * PIECE) as usize), PIECE)
    };
    let all: Vec<Request> = (0..PIECES).map(|at| piece(near, at)).collect();
    combined(&*driver, &home, &all); // the first call in a while takes another time
    let (one, asked) = combined(&*driver, &home, &all[..1]);
    assert_eq!((one, asked > Nanos::ZERO), (1, true));
    assert_eq!(combined(&*driver, &home, &all), (PIECES as usize, asked));
    let both: Vec<Request> = (0..PIECES).map(|at| piece(if at < PIECES / 2 { near } else { far }, at)).collect();
    assert_eq!(combined(&*driver, &home, &both), (PIECES as usize, asked + asked), "two allocations of each kind");
}
