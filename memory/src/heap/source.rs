//! Where pages come from: the driver, or the host's allocator for ordinary memory.
#![allow(unsafe_code)] // the driver frees pinned memory by its address; the host's allocator is unsafe

use std::alloc::{Layout, alloc, dealloc};
use std::sync::Arc;

use contexts::CudaContext;
use copies::{Inner, Overtake};
use hal::{Code, DevicePtr, Driver, HostAllocFlags, Nanos, Result, Stream, StreamFlags};
use os::forks::Process;

use crate::heap::Space;

/// The alignment of ordinary pages.
const HOST_ALIGN_BYTES: usize = 4096;

/// A new page has its memory at once, unless the device stands still.
const PAGE_WITHIN: Nanos = Nanos::from_ms(10_000);

/// The pause between two questions whether it has.
const LOOK_EVERY: Nanos = Nanos::from_us(2);

/// A page's memory. Dropping it leaks it.
#[derive(Debug)]
pub(super) struct Memory {
    /// Its first byte, as the host sees it, or for device memory as the device does.
    pub(super) start: u64,
    pub(super) bytes: u64,
    /// The same as the device sees it.
    pub(super) device_start: Option<DevicePtr>,
    /// It came in stream order, and goes so.
    pub(super) is_ordered: bool,
}

pub(super) struct Source {
    space: Space,
    context: CudaContext,
    /// The copy layer of the context, which has to know of calls that wait, and of memory that goes.
    layer: Option<Arc<Inner>>,
    /// For device memory that comes and goes in stream order. It holds nothing else.
    stream: Option<Stream>,
    process: Process,
}

impl Source {
    pub(super) fn new(context: &CudaContext, layer: Option<&Overtake>, space: Space) -> Result<Source> {
        let process = layer.map_or_else(Process::this, |layer| layer.inner().process());
        Inner::may_be_used(process)?;
        let stream = match space {
            Space::Device => Some(context.call(|driver| driver.stream_create(StreamFlags::NON_BLOCKING, 0))?),
            _ => None,
        };
        let layer = layer.map(|layer| Arc::clone(layer.inner()));
        Ok(Source { space, context: context.clone(), layer, stream, process })
    }

    /// Refuses the child of a fork: there the memory is the parent's.
    pub(super) fn may_enter(&self) -> Result<()> {
        Inner::may_be_used(self.process)
    }

    pub(super) fn space(&self) -> Space {
        self.space
    }

    /// Whether pages may come at any time: without a call that keeps other threads out, or without any.
    pub(super) fn is_free_running(&self) -> bool {
        matches!(self.space, Space::Device | Space::Host)
    }

    /// A new page. `in_order` has device memory come in stream order.
    pub(super) fn make(&self, bytes: u64, in_order: bool) -> Result<Memory> {
        match (self.space, self.stream) {
            (Space::Device, Some(stream)) if in_order => self.make_in_order(bytes, stream),
            (Space::Device, _) => {
                let start = self.beside_all(|driver| driver.mem_alloc(bytes))?;
                Ok(Memory { start: start.0, bytes, device_start: Some(start), is_ordered: false })
            }
            (Space::Pinned, _) => self.make_pinned(bytes, HostAllocFlags::PORTABLE),
            (Space::WriteCombined, _) => {
                self.make_pinned(bytes, HostAllocFlags::PORTABLE.and(HostAllocFlags::WRITECOMBINED))
            }
            (Space::Host, _) => make_ordinary(bytes),
        }
    }

    /// Memory is there for other streams when the stream has come to its allocation.
    fn make_in_order(&self, bytes: u64, stream: Stream) -> Result<Memory> {
        let start = self.context.call(|driver| driver.mem_alloc_async(bytes, stream))?;
        let memory = Memory { start: start.0, bytes, device_start: Some(start), is_ordered: true };
        match self.await_stream(stream) {
            Ok(()) => Ok(memory),
            Err(error) => {
                let _ = self.free(&memory);
                Err(error)
            }
        }
    }

    fn await_stream(&self, stream: Stream) -> Result<()> {
        let host = self.context.driver().host();
        let deadline = host.now() + PAGE_WITHIN;
        while !self.context.call(|driver| driver.stream_query(stream))? {
            if host.now() > deadline {
                let text = "the device has not come to the allocation of a page within 10 s, because other work keeps \
                            it: reserve memory while warming up";
                return Err(Code::LAUNCH_TIMEOUT.at("overtake heap").because(text));
            }
            host.sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn make_pinned(&self, bytes: u64, flags: HostAllocFlags) -> Result<Memory> {
        let flags = flags.and(HostAllocFlags::DEVICEMAP);
        let start = self.beside_all(|driver| driver.host_alloc(bytes, flags).map(|start| start as u64))?;
        let mut memory = Memory { start, bytes, device_start: None, is_ordered: false };
        match self.context.call(|driver| driver.host_device_pointer(start as *mut u8)) {
            Ok(seen) => {
                memory.device_start = Some(seen);
                Ok(memory)
            }
            Err(error) => {
                let _ = self.free(&memory);
                Err(error)
            }
        }
    }

    /// Gives a page back, whose blocks no thread and no device uses any more.
    pub(super) fn free(&self, memory: &Memory) -> Result<()> {
        if self.space == Space::Host {
            free_ordinary(memory);
            return Ok(());
        }
        self.free_once(memory).or_else(|error| {
            // Memory went with a context that has ended. Otherwise the call alone has failed.
            self.context.validity().map_err(|_| error).and_then(|()| self.free_once(memory))
        })
    }

    fn free_once(&self, memory: &Memory) -> Result<()> {
        match (self.space, self.stream) {
            (_, Some(stream)) if memory.is_ordered => {
                let start = DevicePtr(memory.start);
                self.layer.iter().for_each(|layer| layer.freeing(start));
                self.context.call(|driver| driver.mem_free_async(start, stream))
            }
            // In stream order an H100 keeps it for itself: `cuMemFreeAsync` takes it, and its addresses stay.
            (Space::Device, _) => self.beside_all(|driver| driver.mem_free(DevicePtr(memory.start))),
            // SAFETY: the memory came from `host_alloc`, and the heap has no block in it.
            _ => self.beside_all(|driver| unsafe { driver.host_free(memory.start as *mut u8) }),
        }
    }

    /// Makes a call that may wait for the device and keep other threads out meanwhile.
    fn beside_all<T>(&self, call: impl FnOnce(&dyn Driver) -> Result<T>) -> Result<T> {
        match &self.layer {
            Some(layer) => layer.beside_all(call),
            None => self.context.call(call),
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.filter(|_| self.may_enter().is_ok()) {
            let destroy = || self.context.call(|driver| driver.stream_destroy(stream));
            // A second error means that the context is gone, and with it the stream.
            let _ = destroy().or_else(|error| self.context.validity().map_err(|_| error).and_then(|()| destroy()));
        }
    }
}

fn layout(bytes: u64) -> Option<Layout> {
    Layout::from_size_align(usize::try_from(bytes).ok()?, HOST_ALIGN_BYTES).ok()
}

fn make_ordinary(bytes: u64) -> Result<Memory> {
    let none =
        || Code::OUT_OF_MEMORY.at("overtake heap").because(format!("the host has no {bytes} bytes in one piece"));
    let layout = layout(bytes).ok_or_else(none)?;
    // SAFETY: a page has bytes.
    let start = unsafe { alloc(layout) };
    if start.is_null() {
        return Err(none());
    }
    Ok(Memory { start: start as u64, bytes, device_start: None, is_ordered: false })
}

fn free_ordinary(memory: &Memory) {
    let layout = layout(memory.bytes).expect("it was allocated by this layout");
    // SAFETY: the memory came from `alloc` by the same layout, and the heap has no block in it.
    unsafe { dealloc(memory.start as *mut u8, layout) };
}
