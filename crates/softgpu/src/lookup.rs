//! Answers that the C ABI needs and the seam does not give.

use hal::{CaptureMode, Device, Function, Result, Stream};

use crate::gpu::SoftGpu;
use crate::host::HostTurn;
use crate::model::{Caller, Failure, Model};

impl SoftGpu {
    fn look<T>(&self, body: impl FnOnce(&mut Model, Caller) -> T) -> T {
        let mut turn = HostTurn::begin(&self.shared);
        let caller = turn.caller(self.process);
        let found = body(turn.model(), caller);
        turn.end();
        found
    }

    /// The number of parameters that a kernel of the current context declares. C's launch passes no count.
    ///
    /// # Errors
    /// No context is current, or the handle names no kernel of it.
    pub fn parameter_count(&self, function: Function) -> Result<usize> {
        let outcome = self.look(|model, caller| model.function(caller, function));
        outcome.map(|(_, parameter_bytes)| parameter_bytes.len()).map_err(|failure| failure.at("cuLaunchKernel"))
    }

    /// Base and size of the allocation or registration that holds an address.
    #[must_use]
    pub fn allocation(&self, address: u64) -> Option<(u64, u64)> {
        self.look(|model, caller| model.allocation(caller, address))
    }

    /// The same; of reserved addresses the piece that is mapped there.
    #[must_use]
    pub fn mapping(&self, address: u64) -> Option<(u64, u64)> {
        self.look(|model, caller| model.mapping(caller, address))
    }

    /// Whether a device's primary context is alive; `false` for a device that does not exist.
    #[must_use]
    pub fn primary_context_is_active(&self, device: Device) -> bool {
        let ordinal = usize::try_from(device.0);
        ordinal.is_ok_and(|ordinal| self.look(|model, caller| model.has_primary(caller, ordinal)))
    }

    /// Sets how far stream captures restrict calls on the calling thread. Returns the mode before.
    #[must_use]
    pub fn exchange_capture_mode(&self, mode: CaptureMode) -> CaptureMode {
        self.look(|model, caller| model.exchange_capture_mode(caller, mode))
    }

    /// A number that no other capture shares; `None` while the stream does not capture.
    ///
    /// # Errors
    /// The handle names no stream.
    pub fn capture_id(&self, stream: Stream) -> Result<Option<u64>> {
        let outcome = self.look(|model, caller| {
            let key = model.stream(caller, stream)?;
            Ok::<_, Failure>(model.capture_id(key))
        });
        outcome.map_err(|failure| failure.at("cuStreamGetCaptureInfo"))
    }
}

#[cfg(test)]
mod tests {
    use hal::{Code, Driver, StreamFlags};

    use super::*;

    fn with_context() -> SoftGpu {
        let gpu = SoftGpu::builder().build();
        let context = gpu.primary_context_retain(Device(0)).unwrap();
        gpu.context_set_current(Some(context)).unwrap();
        gpu
    }

    #[test]
    fn an_address_is_found_in_its_allocation() {
        let gpu = with_context();
        let memory = gpu.mem_alloc(1000).unwrap();
        assert_eq!(gpu.allocation(memory.0 + 999), Some((memory.0, 1000)));
        assert_eq!(gpu.allocation(memory.0 + 1000), None);
        gpu.mem_free(memory).unwrap();
        assert_eq!(gpu.allocation(memory.0), None);
    }

    #[test]
    fn the_primary_context_is_active_while_it_is_retained() {
        let gpu = with_context();
        assert!(gpu.primary_context_is_active(Device(0)));
        assert!(!gpu.primary_context_is_active(Device(1)) && !gpu.primary_context_is_active(Device(-1)));
        gpu.primary_context_release(Device(0)).unwrap();
        assert!(!gpu.primary_context_is_active(Device(0)));
    }

    #[test]
    fn a_relaxed_thread_may_make_calls_that_a_capture_prohibits() {
        let gpu = with_context();
        let stream = gpu.stream_create(StreamFlags::NON_BLOCKING, 0).unwrap();
        gpu.stream_begin_capture(stream, CaptureMode::Global).unwrap();
        assert_eq!(gpu.exchange_capture_mode(CaptureMode::Relaxed), CaptureMode::Global);
        gpu.mem_alloc(1).unwrap();
        assert_eq!(gpu.exchange_capture_mode(CaptureMode::ThreadLocal), CaptureMode::Relaxed);
        assert_eq!(gpu.mem_alloc(1).unwrap_err().code(), Code::STREAM_CAPTURE_UNSUPPORTED);
    }

    #[test]
    fn captures_are_numbered() {
        let gpu = with_context();
        let stream = gpu.stream_create(StreamFlags::NON_BLOCKING, 0).unwrap();
        let mut seen = Vec::new();
        for _ in 0..2 {
            assert_eq!(gpu.capture_id(stream), Ok(None));
            gpu.stream_begin_capture(stream, CaptureMode::Relaxed).unwrap();
            seen.push(gpu.capture_id(stream).unwrap().unwrap());
            let graph = gpu.stream_end_capture(stream).unwrap();
            gpu.graph_destroy(graph).unwrap();
        }
        assert_ne!(seen[0], seen[1]);
    }
}
