//! Whether a frame belongs to one end alone.

/// A frame that one end has for itself, and may change.
#[derive(Clone, Copy, Debug)]
pub enum Alone {}

/// A frame that several members have at the same time.
#[derive(Clone, Copy, Debug)]
pub enum Together {}
