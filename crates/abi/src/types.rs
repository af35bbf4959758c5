//! The types of the CUDA driver ABI, and the C types that its prototypes are written in.

pub use core::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_ushort, c_void};

pub use crate::generated::*;

/// `CU_STREAM_LEGACY`: the legacy default stream by name. The header casts a number, which bindgen cannot carry over.
pub const CU_STREAM_LEGACY: CUstream = core::ptr::without_provenance_mut(1);
/// `CU_STREAM_PER_THREAD`: the calling thread's default stream by name.
pub const CU_STREAM_PER_THREAD: CUstream = core::ptr::without_provenance_mut(2);

// Sizes and types that every driver since CUDA 11.7 agrees on, written a second time by hand. If the generator or the
// header's macros ever change one of these types, the code that uses it does not compile.
const _: () = {
    use core::mem::{align_of, size_of};
    assert!(size_of::<CUresult>() == 4 && size_of::<Option<unsafe extern "C" fn() -> CUresult>>() == 8);
    assert!(size_of::<CUdevice>() == 4 && size_of::<CUdeviceptr>() == 8 && size_of::<CUuuid>() == 16);
    assert!(size_of::<CUstream>() == 8 && size_of::<CUevent>() == 8 && size_of::<CUcontext>() == 8);
    assert!(size_of::<CUstreamBatchMemOpParams>() == 48 && align_of::<CUstreamBatchMemOpParams>() == 8);
    assert!(size_of::<CUDA_MEMCPY2D>() == 128 && size_of::<CUDA_MEMCPY3D>() == 200);
    assert!(size_of::<CUmemLocation>() == 8 && size_of::<CUmemcpyAttributes>() == 24);
};
