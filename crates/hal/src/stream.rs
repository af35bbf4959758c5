//! Flags and states of contexts, streams and events.

/// Context creation flags (`CUctx_flags`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct ContextFlags(pub u32);

impl ContextFlags {
    /// The driver chooses how calls wait for the device.
    pub const DEFAULT: ContextFlags = ContextFlags(0);
    /// Calls that wait for the device sleep, and use no processor meanwhile.
    pub const BLOCKING_SYNC: ContextFlags = ContextFlags(4);

    /// Whether calls that wait for the device are to sleep.
    #[must_use]
    pub const fn block(self) -> bool {
        self.0 & ContextFlags::BLOCKING_SYNC.0 != 0
    }
}

/// Stream creation flags (`CUstream_flags`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct StreamFlags(pub u32);

impl StreamFlags {
    /// Synchronises with the legacy default stream.
    pub const DEFAULT: StreamFlags = StreamFlags(0);
    /// Does not synchronise with the legacy default stream.
    pub const NON_BLOCKING: StreamFlags = StreamFlags(1);
}

/// Event creation flags (`CUevent_flags`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct EventFlags(pub u32);

impl EventFlags {
    /// Takes time stamps.
    pub const DEFAULT: EventFlags = EventFlags(0);
    /// Blocks instead of spinning in `event_synchronize`.
    pub const BLOCKING_SYNC: EventFlags = EventFlags(1);
    /// Takes no time stamps. This is cheaper and right for every event that only orders work.
    pub const DISABLE_TIMING: EventFlags = EventFlags(2);
}

/// The stream priorities of a context, in CUDA's inverted numbers: `greatest` (most urgent) <= `least`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityRange {
    /// The number of the least urgent priority (0 on every device so far).
    pub least: i32,
    /// The number of the most urgent priority (-5 on an H100).
    pub greatest: i32,
}

/// The restrictions of a capture on the calls of threads (`CUstreamCaptureMode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureMode {
    /// Potentially unsafe calls are prohibited on every thread.
    Global,
    /// Potentially unsafe calls are prohibited on the capturing thread only.
    ThreadLocal,
    /// No calls are prohibited.
    Relaxed,
}

/// The state of a stream's capture (`CUstreamCaptureStatus`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureStatus {
    /// The stream does not capture.
    None,
    /// The stream captures.
    Active,
    /// The stream captured, and an error has spoilt the capture.
    Invalidated,
}
