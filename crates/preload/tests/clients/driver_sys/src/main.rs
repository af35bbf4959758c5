//! A Rust program of the CUDA 10 age: bulk and small pinned copies on two streams, through linked symbols.
#![allow(unsafe_code)] // the bindings are the driver's own functions

use std::ffi::c_void;
use std::ptr::null_mut;

use cuda_driver_sys::*;

const BULK_BYTES: usize = 4 << 20;
const SMALL_BYTES: usize = 64 << 10;
const ROUNDS: u64 = 60;

fn ok(result: CUresult) {
    assert_eq!(result, cudaError_enum::CUDA_SUCCESS);
}

/// A stream with pinned and device memory of its own.
struct Lane {
    stream: CUstream,
    bytes: usize,
    source: *mut u64,
    target: *mut u64,
    device: CUdeviceptr,
}

impl Lane {
    fn new(bytes: usize) -> Lane {
        let (mut stream, mut source, mut target, mut device) = (null_mut(), null_mut(), null_mut(), 0);
        // SAFETY: every output is a live variable; the context is current on this thread.
        unsafe {
            ok(cuStreamCreate(&mut stream, 1));
            ok(cuMemHostAlloc(&mut source, bytes, 0));
            ok(cuMemHostAlloc(&mut target, bytes, 0));
            ok(cuMemAlloc_v2(&mut device, bytes));
        }
        Lane { stream, bytes, source: source.cast(), target: target.cast(), device }
    }

    fn send(&self, seed: u64) {
        for index in 0..self.bytes / 8 {
            // SAFETY: the pinned source is that long, and no copy of it is under way.
            unsafe { self.source.add(index).write(seed.wrapping_mul(0x9e37_79b9).wrapping_add(index as u64)) };
        }
        // SAFETY: source, target and device memory are as long as the copies and live until the lane is freed.
        unsafe {
            ok(cuMemcpyHtoDAsync_v2(self.device, self.source as *const c_void, self.bytes, self.stream));
            ok(cuMemcpyDtoHAsync_v2(self.target as *mut c_void, self.device, self.bytes, self.stream));
        }
    }

    fn finish(&self) -> u64 {
        // SAFETY: a live stream; after it the target is filled and is not written any more.
        unsafe {
            ok(cuStreamSynchronize(self.stream));
            (0..self.bytes / 8).fold(7, |sum: u64, index| sum.rotate_left(5) ^ self.target.add(index).read())
        }
    }

    fn free(self) {
        // SAFETY: all four were made by `new` and nothing uses them any more.
        unsafe {
            ok(cuMemFreeHost(self.source.cast()));
            ok(cuMemFreeHost(self.target.cast()));
            ok(cuMemFree_v2(self.device));
            ok(cuStreamDestroy_v2(self.stream));
        }
    }
}

fn main() {
    let mut context = null_mut();
    // SAFETY: live outputs, in the order that the driver wants.
    unsafe {
        ok(cuInit(0));
        ok(cuDevicePrimaryCtxRetain(&mut context, 0));
        ok(cuCtxSetCurrent(context));
    }
    let (bulk, small) = (Lane::new(BULK_BYTES), Lane::new(SMALL_BYTES));
    let mut sum = 0_u64;
    for round in 0..ROUNDS {
        bulk.send(round);
        small.send(!round);
        sum = sum.rotate_left(9) ^ small.finish() ^ bulk.finish();
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    println!("{sum:016x}");
    bulk.free();
    small.free();
}
