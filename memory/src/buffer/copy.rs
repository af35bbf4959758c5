//! Copies that keep their buffers until they have completed.
#![allow(unsafe_code)] // copies are unsafe: the buffers are kept as they demand

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use bytemuck::Pod;
use copies::copy::{CopyHandle, Request};
use copies::{Direction, Inner, PriorityStream};
use hal::{Code, Result};

use crate::buffer::{DeviceBuffer, PinnedBuffer};

/// A copy between buffers, which it keeps. [`BufferCopy::wait`] gives the pinned one back.
///
/// Dropping it waits for the copy. Forgetting it (`std::mem::forget`) leaks the memory of both buffers.
#[must_use = "dropping it waits for the copy, and frees the pinned buffer"]
pub struct BufferCopy<T: Pod> {
    handle: CopyHandle,
    /// There until the end has been waited for.
    buffers: Option<(PinnedBuffer<T>, DeviceBuffer<T>)>,
}

impl<T: Pod> PinnedBuffer<T> {
    /// Copies the buffer to the device, asynchronously, in the order of the stream. That is no default stream and is
    /// not being captured, and both sides have as many elements; else the copy is refused.
    pub fn copy_to(self, target: &DeviceBuffer<T>, stream: &PriorityStream) -> Result<BufferCopy<T>> {
        BufferCopy::submit(stream, Direction::HostToDevice, self, target)
    }
}

impl<T: Pod> DeviceBuffer<T> {
    /// Copies the buffer to the host, as [`PinnedBuffer::copy_to`] does the other way.
    pub fn copy_to(&self, target: PinnedBuffer<T>, stream: &PriorityStream) -> Result<BufferCopy<T>> {
        BufferCopy::submit(stream, Direction::DeviceToHost, target, self)
    }
}

impl<T: Pod> BufferCopy<T> {
    fn submit(
        stream: &PriorityStream,
        direction: Direction,
        pinned: PinnedBuffer<T>,
        device: &DeviceBuffer<T>,
    ) -> Result<BufferCopy<T>> {
        check(stream, &pinned, device)?;
        let (host, there, bytes) = (pinned.start(), device.pointer(), size_of_val(&*pinned) as u64);
        let request = match direction {
            Direction::DeviceToHost => Request::dtoh(host, there, bytes),
            _ => Request::htod(there, host, bytes),
        };
        // Not dropped if the submission panics.
        let buffers = ManuallyDrop::new((pinned, device.clone()));
        // SAFETY: both sides have that many bytes. They live, and no reference to the host's is handed out, until the
        // copy is known to have ended. Any bytes that arrive there are a `T`.
        match unsafe { stream.memcpy_async(&request) } {
            Ok(handle) => Ok(BufferCopy { handle, buffers: Some(ManuallyDrop::into_inner(buffers)) }),
            Err(error) => {
                // Chunks of the copy may be under way.
                drop_at_rest(stream.inner(), buffers);
                Err(error)
            }
        }
    }

    /// The handle of the copy: its progress, and the way that it went.
    #[must_use]
    pub fn handle(&self) -> &CopyHandle {
        &self.handle
    }

    /// Waits until the copy has completed, and returns the pinned buffer.
    ///
    /// An error is that of [`CopyHandle::wait`]. The buffers are given up then: their memory is freed if the device
    /// comes to rest, and leaked otherwise.
    pub fn wait(mut self) -> Result<PinnedBuffer<T>> {
        let (pinned, _) = self.end()?.expect("the buffers are there until the copy is waited for or dropped");
        Ok(pinned)
    }

    /// Waits for the end of the copy. `None` if that has been done before.
    fn end(&mut self) -> Result<Option<(PinnedBuffer<T>, DeviceBuffer<T>)>> {
        // Not dropped if the wait panics.
        let Some(buffers) = self.buffers.take().map(ManuallyDrop::new) else { return Ok(None) };
        let inner = Arc::clone(buffers.1.inner());
        // In the child of a fork the copy is the parent's, and so are the buffers.
        inner.may_enter()?;
        // The calling thread may have another context, or none.
        match inner.at_home(|| self.handle.wait()) {
            Ok(()) => Ok(Some(ManuallyDrop::into_inner(buffers))),
            Err(error) => {
                drop_at_rest(&inner, buffers);
                Err(error)
            }
        }
    }
}

/// Refuses copies whose end could not be waited for, and those that would leave their memory.
fn check<T: Pod>(stream: &PriorityStream, pinned: &PinnedBuffer<T>, device: &DeviceBuffer<T>) -> Result<()> {
    stream.inner().may_enter()?;
    let refused = |code: Code, detail: String| Err(code.at("overtake buffer copy").because(detail));
    if pinned.len() != device.len() {
        let detail = format!("{} elements in pinned memory, and {} on the device", pinned.len(), device.len());
        return refused(Code::INVALID_VALUE, detail);
    }
    if !Arc::ptr_eq(device.inner(), stream.inner()) {
        return refused(Code::INVALID_VALUE, "stream and device buffer are not of one Overtake".to_owned());
    }
    if stream.raw().is_default() {
        let detail = "a default stream is another one on other threads; use a stream of your own".to_owned();
        return refused(Code::INVALID_VALUE, detail);
    }
    if stream.inner().is_capturing(stream.raw()) {
        let detail = "a graph keeps no buffers; use PriorityStream::memcpy_async".to_owned();
        return refused(Code::STREAM_CAPTURE_UNSUPPORTED, detail);
    }
    Ok(())
}

/// Drops the buffers of a copy that has failed, when the device uses them no more. If that cannot be known, they are
/// leaked.
fn drop_at_rest<T>(inner: &Inner, buffers: ManuallyDrop<T>) {
    if inner.at_home(|| inner.driver().context_synchronize()).is_ok() {
        drop(ManuallyDrop::into_inner(buffers));
    }
}

impl<T: Pod> Drop for BufferCopy<T> {
    fn drop(&mut self) {
        // The next call of the context returns the error too.
        let _ = self.end();
    }
}

impl<T: Pod> fmt::Debug for BufferCopy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferCopy").field("handle", &self.handle).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use copies::{Options, Overtake, Priority};
    use testkit::fixture::failure::ensure;
    use testkit::fixture::faulty::Faulty;
    use testkit::fixture::forks::in_child;

    use super::*;

    /// Another thread of the parent may have held a lock of the driver's, and the copies are the parent's.
    #[test]
    fn the_child_of_a_fork_leaves_copies_under_way_alone() {
        let gpu: Arc<dyn hal::Driver> = Arc::new(softgpu::SoftGpu::builder().build());
        let calls = Faulty::new(&gpu, Code::UNKNOWN);
        let driver: Arc<dyn hal::Driver> = Arc::clone(&calls) as _;
        let overtake = Overtake::open(&driver, hal::Device(0), Options::default()).unwrap();
        let stream = overtake.stream(Priority::LOWEST).unwrap();
        let device = DeviceBuffer::<u8>::new(&overtake, 1 << 20).unwrap();
        let pinned = || PinnedBuffer::new(&overtake, 1 << 20).unwrap();
        let [first, second, third] = [(); 3].map(|()| pinned().copy_to(&device, &stream).unwrap());
        let mut all = Some((first, second, pinned()));
        let end = in_child(|| {
            let before = calls.calls();
            let (first, second, pinned) = all.take().expect("the child has taken nothing before");
            ensure!(first.handle().wait().is_err() && first.wait().is_err(), "it has waited");
            drop(second);
            ensure!(pinned.copy_to(&device, &stream).is_err(), "it has copied");
            ensure!(calls.calls() == before, "it has called the driver");
            Ok(())
        });
        end.unwrap_or_else(|failure| panic!("{failure}"));
        third.wait().unwrap();
    }
}
