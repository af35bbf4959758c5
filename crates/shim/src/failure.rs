//! The layer's own error codes: negative numbers, which are never reused. Positive numbers are the driver's.

/// A failure of the layer's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Failure {
    /// An argument is outside its documented range.
    InvalidArgument = -1,
    /// A buffer is too small; nothing was written to it.
    BufferTooSmall = -2,
    /// A part of the layer panicked; the call may have had some of its effects.
    Panic = -3,
    /// The layer has not been opened in this process.
    NotStarted = -4,
    /// The layer is switched off by its options, the process is the child of a fork, or it is exiting.
    Off = -5,
    /// The text has a fault.
    Syntax = -6,
    /// No driver library was found.
    NoDriver = -7,
}

impl Failure {
    /// All failures.
    pub const ALL: [Failure; 7] = [
        Failure::InvalidArgument,
        Failure::BufferTooSmall,
        Failure::Panic,
        Failure::NotStarted,
        Failure::Off,
        Failure::Syntax,
        Failure::NoDriver,
    ];

    /// The number that C functions return.
    #[must_use]
    pub fn number(self) -> i32 {
        self as i32
    }
}
