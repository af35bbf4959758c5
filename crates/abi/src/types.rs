//! The types of the CUDA driver ABI, and the C types that its prototypes are written in.

pub use core::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_ushort, c_void};

pub use crate::generated::*;

/// `CU_STREAM_LEGACY`: the legacy default stream by name. The header casts a number, which bindgen cannot carry over.
pub const CU_STREAM_LEGACY: CUstream = core::ptr::without_provenance_mut(1);
/// `CU_STREAM_PER_THREAD`: the calling thread's default stream by name.
pub const CU_STREAM_PER_THREAD: CUstream = core::ptr::without_provenance_mut(2);
