//! The driver's copies of pageable memory against the measurements on an H100 (1 GiB and 64 KiB copies, one thread).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{MIB, Pinned, enter, stream};
use hal::{DevicePtr, Driver, Stream};
use overtake_softgpu::{Payload, SoftGpu};

/// The model may be this far from a measurement.
const WITHIN: f64 = 0.15;

fn near(what: &str, model: f64, measured: f64) {
    let off = model / measured - 1.0;
    assert!(off.abs() <= WITHIN, "{what}: {model:.1} in the model, {measured:.1} measured: {:.0} % off", 100.0 * off);
}

fn gpu() -> SoftGpu {
    let gpu = SoftGpu::builder().payload(Payload::TimingOnly).build();
    enter(&gpu);
    gpu
}

/// Copies between a vector and the device. Returns the microseconds of the call, and those until the stream is idle.
fn copy(gpu: &SoftGpu, stream: Stream, to_device: bool, device: DevicePtr, memory: &mut [u8]) -> (f64, f64) {
    let (begin, bytes) = (gpu.host().now(), memory.len() as u64);
    // SAFETY: the slice is exclusive until the stream has been waited for.
    unsafe {
        match to_device {
            true => gpu.copy_htod_async(device, memory.as_ptr(), bytes, stream).unwrap(),
            false => gpu.copy_dtoh_async(memory.as_mut_ptr(), device, bytes, stream).unwrap(),
        }
    }
    let returned = gpu.host().now();
    gpu.stream_synchronize(stream).unwrap();
    (returned.since(begin).as_us(), gpu.host().now().since(begin).as_us())
}

#[test]
fn one_thread_copies_at_its_rate() {
    let (gpu, bytes) = (gpu(), 256 * MIB);
    let (stream, device) = (stream(&gpu), gpu.mem_alloc(bytes).unwrap());
    let mut memory = vec![1; bytes as usize];
    for (to_device, measured_gbps) in [(true, 7.3), (false, 10.5)] {
        let (_, us) = copy(&gpu, stream, to_device, device, &mut memory);
        near("GB/s", bytes as f64 / us / 1e3, measured_gbps);
        let (_, us) = copy(&gpu, stream, to_device, device, &mut memory[..64 << 10]);
        near("64 KiB, us", us, if to_device { 25.0 } else { 16.0 });
    }
}

#[test]
fn a_call_returns_before_the_bytes_land_only_to_the_device() {
    let gpu = gpu();
    let (stream, device) = (stream(&gpu), gpu.mem_alloc(4 * MIB).unwrap());
    let mut memory = vec![1; 4 << 20];
    for (to_device, may_be_left) in [(true, true), (false, false)] {
        // SAFETY: the vector outlives the copy, which is waited for.
        unsafe {
            match to_device {
                true => gpu.copy_htod_async(device, memory.as_ptr(), 4 * MIB, stream).unwrap(),
                false => gpu.copy_dtoh_async(memory.as_mut_ptr(), device, 4 * MIB, stream).unwrap(),
            }
        }
        assert_eq!(gpu.stream_query(stream).unwrap(), !may_be_left);
        gpu.stream_synchronize(stream).unwrap();
    }
    for (bytes, has_landed) in [(256 << 10, true), (4 * MIB, false)] {
        // SAFETY: as above.
        unsafe { gpu.copy_htod(device, memory.as_ptr(), bytes).unwrap() };
        assert_eq!(gpu.stream_query(Stream::LEGACY).unwrap(), has_landed, "{bytes} bytes");
        gpu.stream_synchronize(Stream::LEGACY).unwrap();
    }
}

#[test]
fn pinned_copies_to_the_device_do_not_wait_for_pageable_ones() {
    let gpu = Arc::new(gpu());
    let (urgent, bulk) = (stream(&gpu), stream(&gpu));
    let (device, small) = (gpu.mem_alloc(128 * MIB).unwrap(), gpu.mem_alloc(64 << 10).unwrap());
    let pinned = Pinned::new(&gpu, 64 << 10);
    let time = |gpu: &SoftGpu| {
        let begin = gpu.host().now();
        crate::support::upload(gpu, small, pinned, 64 << 10, urgent).unwrap();
        gpu.stream_synchronize(urgent).unwrap();
        gpu.host().now().since(begin).as_us()
    };
    let median = |mut times: Vec<f64>| {
        times.sort_unstable_by(f64::total_cmp);
        times[times.len() / 2]
    };
    // The gaps have no common measure with the pieces of bulk.
    let some = |gpu: &SoftGpu| {
        let one = |number: u64| {
            gpu.host().sleep(hal::Nanos::from_us(90 + 37 * (number % 11)));
            time(gpu)
        };
        median((0..40).map(one).collect())
    };
    let idle = some(&gpu);
    let (feeder, its_gpu) = (Arc::clone(&gpu) as Arc<dyn Driver>, Arc::clone(&gpu));
    let fed = hal::spawn(&feeder, "bulk", move || {
        enter(&its_gpu);
        let mut memory = vec![1; 128 << 20];
        copy(&its_gpu, bulk, true, device, &mut memory);
    });
    let beside = some(&gpu);
    fed.unwrap().join(gpu.host());
    // Measured: 13 us beside pageable bulk, 14 without.
    near("beside bulk by idle", beside / idle, 13.0 / 14.0);
}

#[test]
fn a_small_copy_to_the_host_starves_beside_others() {
    let gpu = Arc::new(gpu());
    let (small, bulk) = (stream(&gpu), stream(&gpu));
    let device = gpu.mem_alloc(MIB).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let (feeder, its_gpu, its_stop) = (Arc::clone(&gpu) as Arc<dyn Driver>, Arc::clone(&gpu), Arc::clone(&stop));
    let fed = hal::spawn(&feeder, "bulk", move || {
        enter(&its_gpu);
        let mut memory = vec![1; 1 << 20];
        let (begin, mut copies) = (its_gpu.host().now(), 0);
        while !its_stop.load(Ordering::SeqCst) {
            copy(&its_gpu, bulk, false, device, &mut memory);
            copies += 1;
        }
        its_gpu.host().now().since(begin).as_us() / f64::from(copies)
    });
    gpu.host().sleep(hal::Nanos::from_us(500));
    let (_, waited_us) = copy(&gpu, small, false, device, &mut vec![1; 64 << 10]);
    stop.store(true, Ordering::SeqCst);
    let bulk_us = fed.unwrap().join(gpu.host());
    // Measured: 14.1 s beside copies of 256 MiB, which take 25.6 ms each.
    near("copies of others", waited_us / bulk_us, 14_100.0 / 25.6);
}
