//! Opaque handles and device addresses.

use std::fmt;

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(transparent)]
        pub struct $name(pub u64);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:#x})"), self.0)
            }
        }
    };
}

handle!(
    /// A device address (`CUdeviceptr`). Under unified addressing it may also name mapped host memory.
    DevicePtr
);
handle!(
    /// A context (`CUcontext`).
    Context
);
handle!(
    /// A stream (`CUstream`). The special handles are constants.
    Stream
);
handle!(
    /// An event (`CUevent`).
    Event
);
handle!(
    /// A loaded module (`CUmodule`).
    Module
);
handle!(
    /// A kernel of a module (`CUfunction`).
    Function
);
handle!(
    /// A captured graph (`CUgraph`).
    Graph
);
handle!(
    /// A graph that can be launched (`CUgraphExec`).
    GraphExec
);
handle!(
    /// Imported memory of another API (`CUexternalMemory`).
    ExternalMemory
);
handle!(
    /// An imported semaphore of another API (`CUexternalSemaphore`).
    ExternalSemaphore
);

impl Stream {
    /// Handle 0: the legacy default stream, as the plain (not `_ptsz`) entry points read it.
    pub const DEFAULT: Stream = Stream(0);
    /// `CU_STREAM_LEGACY`.
    pub const LEGACY: Stream = Stream(1);
    /// `CU_STREAM_PER_THREAD`.
    pub const PER_THREAD: Stream = Stream(2);

    /// Whether this is the legacy default stream, under either handle.
    #[must_use]
    pub fn is_legacy(self) -> bool {
        matches!(self, Stream::DEFAULT | Stream::LEGACY)
    }

    /// Whether this is one of the default streams. They have the same handles in every context.
    #[must_use]
    pub fn is_default(self) -> bool {
        matches!(self, Stream::DEFAULT | Stream::LEGACY | Stream::PER_THREAD)
    }
}

impl DevicePtr {
    /// The null address.
    pub const NULL: DevicePtr = DevicePtr(0);

    /// The address `bytes` further on. It wraps like the hardware's arithmetic; the driver checks bounds.
    #[must_use]
    pub fn offset(self, bytes: u64) -> DevicePtr {
        DevicePtr(self.0.wrapping_add(bytes))
    }
}
