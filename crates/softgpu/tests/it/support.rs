//! Helpers of several test files.

use std::sync::atomic::{AtomicU32, Ordering};

use hal::{Device, DevicePtr, Driver, Function, HostAllocFlags, Launch, MemOp, Stream, StreamFlags, WaitCondition};
use overtake_softgpu::{BUILTIN_PTX, SoftGpu};

pub const MIB: u64 = 1 << 20;

/// Makes the primary context current on this thread.
pub fn enter(gpu: &SoftGpu) {
    let context = gpu.primary_context_retain(Device(0)).unwrap();
    gpu.context_set_current(Some(context)).unwrap();
}

pub fn stream(gpu: &SoftGpu) -> Stream {
    gpu.stream_create(StreamFlags::NON_BLOCKING, 0).unwrap()
}

/// Pinned memory that is never freed.
#[derive(Clone, Copy)]
pub struct Pinned(pub u64);

impl Pinned {
    pub fn new(gpu: &SoftGpu, bytes: u64) -> Pinned {
        Pinned(gpu.host_alloc(bytes, HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP)).unwrap() as u64)
    }

    /// As [`Pinned::new`], under a context that need not be current yet.
    pub fn new_in(gpu: &SoftGpu, context: hal::Context, bytes: u64) -> Pinned {
        gpu.context_set_current(Some(context)).unwrap();
        Pinned::new(gpu, bytes)
    }

    pub fn device(self) -> DevicePtr {
        DevicePtr(self.0)
    }

    fn atomic(&self) -> &AtomicU32 {
        // SAFETY: the first word of a page-aligned pinned allocation that is never freed; every access is atomic.
        unsafe { AtomicU32::from_ptr(self.0 as *mut u32) }
    }

    pub fn load(self) -> u32 {
        self.atomic().load(Ordering::Acquire)
    }

    pub fn store(self, value: u32) {
        self.atomic().store(value, Ordering::Release);
    }

    /// The bytes, copied out.
    pub fn bytes(self, count: usize) -> Vec<u8> {
        // SAFETY: callers ask for no more than they allocated, and the device has finished with it.
        unsafe { std::slice::from_raw_parts(self.0 as *const u8, count) }.to_vec()
    }
}

pub fn upload(gpu: &SoftGpu, target: DevicePtr, source: Pinned, bytes: u64, stream: Stream) -> hal::Result<()> {
    // SAFETY: pinned memory of these tests is never freed, and no thread writes it while a copy may run.
    unsafe { gpu.copy_htod_async(target, source.0 as *const u8, bytes, stream) }
}

pub fn download(gpu: &SoftGpu, target: Pinned, source: DevicePtr, bytes: u64, stream: Stream) -> hal::Result<()> {
    // SAFETY: as for uploads.
    unsafe { gpu.copy_dtoh_async(target.0 as *mut u8, source, bytes, stream) }
}

pub fn wait_for(gpu: &SoftGpu, stream: Stream, word: DevicePtr, value: u32) {
    gpu.mem_op(stream, MemOp::wait32(word, value, WaitCondition::Eq)).unwrap();
}

pub fn kernel(gpu: &SoftGpu, name: &str) -> Function {
    let module = gpu.module_load(BUILTIN_PTX.as_bytes()).unwrap();
    gpu.module_function(module, name).unwrap()
}

/// Launches a kernel whose parameters all have eight bytes.
pub fn launch(gpu: &SoftGpu, function: Function, blocks: u32, stream: Stream, parameters: &[u64]) -> hal::Result<()> {
    let mut values = parameters.to_vec();
    let parameters: Vec<_> = values.iter_mut().map(|value| std::ptr::from_mut(value).cast()).collect();
    let launch =
        Launch { function, grid: [blocks, 1, 1], block: [512, 1, 1], shared_bytes: 0, stream, parameters: &parameters };
    // SAFETY: every kernel of these tests declares as many parameters as are passed, of at most eight bytes each.
    unsafe { gpu.launch(&launch) }
}
