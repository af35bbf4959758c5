//! A batch whose events are collected.

use copies::PriorityStream;
use hal::{DevicePtr, Result};

use super::events::{CAPACITY_AT, HEADER_BYTES};
use super::store::{Buffers, Store, UnderWay};

/// A batch in a stream, from [`super::Profiler::begin`] on. When it is dropped, its events are fetched behind the work
/// that is in the stream then. The batch keeps its buffer until they have come.
#[must_use = "the batch ends when it is dropped"]
pub struct Recording<'p> {
    store: &'p Store,
    stream: &'p PriorityStream,
    /// `None` if no events are collected.
    buffers: Option<Buffers>,
}

impl<'p> Recording<'p> {
    pub(super) fn none(store: &'p Store, stream: &'p PriorityStream) -> Recording<'p> {
        Recording { store, stream, buffers: None }
    }

    /// Clears the header behind the work that is in the stream.
    pub(super) fn begin(store: &'p Store, stream: &'p PriorityStream) -> Recording<'p> {
        let mut recording = Recording { store, stream, buffers: store.take() };
        if let Err(error) = recording.clear() {
            log::debug!("a batch is not profiled, because its buffer could not be cleared: {error}");
            recording.buffers.take().into_iter().for_each(|buffers| store.give(buffers));
            store.leave_out();
        }
        recording
    }

    fn clear(&self) -> Result<()> {
        let Some(buffers) = &self.buffers else { return Ok(()) };
        let (driver, stream, header) = (&*self.store.driver, self.stream.raw(), buffers.device.pointer());
        driver.memset_d8_async(header, 0, HEADER_BYTES as u64, stream)?;
        driver.memset_d32_async(header.offset(CAPACITY_AT), self.store.capacity, 1, stream)
    }

    /// The buffer for the kernels of the batch; null if no events are collected.
    #[must_use]
    pub fn buffer(&self) -> DevicePtr {
        self.buffers.as_ref().map_or(DevicePtr::NULL, |buffers| buffers.device.pointer())
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        let Some(Buffers { device, host }) = self.buffers.take() else { return };
        match device.copy_to(host, self.stream) {
            Ok(copy) => self.store.ended(UnderWay { device, copy }),
            Err(error) => {
                log::debug!("a batch is not profiled, because its events could not be fetched: {error}");
                self.store.leave_out();
            }
        }
    }
}
