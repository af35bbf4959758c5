//! The exported symbols: the one list of driver functions, expanded.
//!
//! Each row becomes an `extern "C"` shell around the function of the row's plain name in [`supported`]. A function
//! that is not named there falls back to the refusal of that name in [`unsupported`].
#![allow(unsafe_code)]
#![allow(non_snake_case)]

use std::ffi::c_void;

use abi::Flavour;
use abi::types::*;

use crate::answer::catch;
use crate::soft::has;

/// The list of driver functions, after functions that older headers have and that programs still ask for.
macro_rules! for_each_export {
    ($callback:ident) => {
        abi::for_each_driver_function! { $callback,
            [context cuCtxAttach = cuCtxAttach, "cuCtxAttach", 2000, Plain, optional;
                (pctx: *mut CUcontext, flags: c_uint)]
            [context cuCtxDetach = cuCtxDetach, "cuCtxDetach", 2000, Plain, optional; (ctx: CUcontext)]
        }
    };
}

/// One refusal for every function of the list.
#[allow(dead_code)] // those that `supported` shadows
mod unsupported {
    use super::*;
    use crate::answer::{Answer, refuse};
    use crate::soft::gpu;
    use hal::Code;

    macro_rules! refusal {
        (Plain $symbol:ident ($($type:ty),*)) => {
            pub unsafe fn $symbol(_: Flavour, $(_: $type),*) -> Answer {
                gpu()?;
                refuse(Code::NOT_SUPPORTED)
            }
        };
        ($flavour:ident $symbol:ident ($($type:ty),*)) => {};
    }
    macro_rules! refusals {
        ({} $([$noun:ident $symbol:ident = $plain:ident, $base:literal, $version:literal,
            $flavour:ident, $need:ident; ($($argument:ident: $type:ty),*)])*) => {
            $(refusal! { $flavour $symbol ($($type),*) })*
        };
    }
    abi::for_each_driver_function! { refusals }
}

macro_rules! supported {
    ($($room:ident: $($function:ident)*;)*) => {
        /// The implementation of each plain function of the list.
        mod supported {
            pub use super::unsupported::*;
            $(pub use crate::$room::{$($function),*};)*
        }

        /// The plain functions that do more than refuse.
        #[cfg(test)]
        const SUPPORTED: &[&str] = &[$($(stringify!($function)),*),*];
    };
}

supported! {
    driver: cuInit cuDriverGetVersion cuGetErrorName cuGetErrorString cuGetProcAddress cuGetProcAddress_v2;
    device: cuDeviceGet cuDeviceGetCount cuDeviceGetName cuDeviceGetUuid cuDeviceGetUuid_v2 cuDeviceGetAttribute
        cuDeviceTotalMem_v2 cuDeviceCanAccessPeer;
    context: cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxGetState cuCtxCreate_v2
        cuCtxCreate_v4 cuCtxDestroy_v2 cuCtxPushCurrent_v2 cuCtxPopCurrent_v2 cuCtxSetCurrent cuCtxGetCurrent
        cuCtxGetDevice cuCtxGetDevice_v2 cuCtxGetFlags cuCtxSynchronize cuCtxSynchronize_v2 cuCtxGetId
        cuCtxGetStreamPriorityRange cuCtxEnablePeerAccess cuDevicePrimaryCtxReset_v2 cuCtxAttach cuCtxDetach;
    stream: cuStreamCreate cuStreamCreateWithPriority cuStreamDestroy_v2 cuStreamQuery cuStreamSynchronize
        cuStreamGetPriority cuStreamGetFlags cuStreamGetCtx cuStreamGetCtx_v2 cuStreamGetDevice cuStreamWaitEvent;
    capture: cuStreamBeginCapture_v2 cuStreamEndCapture cuStreamIsCapturing cuStreamGetCaptureInfo_v2
        cuStreamGetCaptureInfo_v3 cuThreadExchangeStreamCaptureMode cuGraphDestroy cuGraphInstantiateWithFlags
        cuGraphLaunch cuGraphExecDestroy;
    event: cuEventCreate cuEventDestroy_v2 cuEventRecord cuEventRecordWithFlags cuEventQuery cuEventSynchronize
        cuEventElapsedTime cuEventElapsedTime_v2;
    memory: cuMemAlloc_v2 cuMemAllocPitch_v2 cuMemFree_v2 cuMemAllocAsync cuMemFreeAsync cuMemGetInfo_v2
        cuMemGetAddressRange_v2 cuMemAllocHost_v2 cuMemHostAlloc cuMemFreeHost cuMemHostRegister_v2
        cuMemHostUnregister cuMemHostGetDevicePointer_v2;
    pointer: cuPointerGetAttribute cuPointerGetAttributes;
    copy: cuMemcpy cuMemcpyAsync cuMemcpyHtoD_v2 cuMemcpyDtoH_v2 cuMemcpyDtoD_v2 cuMemcpyHtoDAsync_v2
        cuMemcpyDtoHAsync_v2 cuMemcpyDtoDAsync_v2 cuMemcpyPeer cuMemcpyPeerAsync;
    shape: cuMemcpy2D_v2 cuMemcpy2DUnaligned_v2 cuMemcpy2DAsync_v2 cuMemcpy3D_v2 cuMemcpy3DAsync_v2;
    batch: cuMemcpyBatchAsync cuMemcpyBatchAsync_v2;
    set: cuMemsetD8_v2 cuMemsetD8Async cuMemsetD16_v2 cuMemsetD16Async cuMemsetD32_v2 cuMemsetD32Async
        cuMemsetD2D8_v2 cuMemsetD2D8Async cuMemsetD2D16_v2 cuMemsetD2D16Async cuMemsetD2D32_v2 cuMemsetD2D32Async;
    memop: cuStreamWaitValue32_v2 cuStreamWaitValue64_v2 cuStreamWriteValue32_v2 cuStreamWriteValue64_v2
        cuStreamBatchMemOp_v2;
    external: cuImportExternalMemory cuExternalMemoryGetMappedBuffer cuDestroyExternalMemory cuImportExternalSemaphore
        cuSignalExternalSemaphoresAsync cuWaitExternalSemaphoresAsync cuDestroyExternalSemaphore;
    module: cuModuleLoad cuModuleLoadData cuModuleLoadDataEx cuModuleUnload cuModuleGetFunction cuModuleGetGlobal_v2
        cuFuncGetParamInfo cuLaunchKernel cuLaunchKernelEx;
}

/// The address of an exported symbol.
struct Address(*const c_void);

// SAFETY: an address of code, never dereferenced as data.
unsafe impl Sync for Address {}

macro_rules! exports {
    ({ $($older:tt)* } $($row:tt)*) => { exports! { @ $($older)* $($row)* } };
    (@ $([$noun:ident $symbol:ident = $plain:ident, $base:literal, $version:literal,
        $flavour:ident, $need:ident; ($($argument:ident: $type:ty),*)])*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $symbol($($argument: $type),*) -> CUresult {
                catch(|| {
                    has($version)?;
                    // SAFETY: the caller keeps the rules of the CUDA manual for the arguments of this function, and the
                    // function behind it relies on nothing else.
                    unsafe { supported::$plain(Flavour::$flavour, $($argument),*) }
                })
            }
        )*

        /// The names of the functions of the list, and their addresses.
        static ADDRESSES: &[(&str, Address)] = &[$((stringify!($symbol), Address($symbol as *const c_void)),)*];
    };
}
for_each_export! { exports }

macro_rules! older {
    ({ $([$noun:ident $symbol:ident = $plain:ident, $base:literal, $version:literal,
        $flavour:ident, $need:ident; $arguments:tt])* } $($row:tt)*) => {
        /// The older functions, by the name that `cuGetProcAddress` takes, with the version that introduced each.
        const OLDER: &[(&str, i32)] = &[$(($base, $version),)*];
    };
}
for_each_export! { older }

/// The version that introduced an older function of this name.
pub fn older(base: &str) -> Option<i32> {
    OLDER.iter().find(|(name, _)| *name == base).map(|(_, version)| *version)
}

/// The address of the symbol of this name, if the library exports it.
pub fn address_of(symbol: &str) -> Option<*mut c_void> {
    let found = ADDRESSES.iter().find(|(name, _)| *name == symbol)?;
    Some(found.1.0.cast_mut())
}

#[cfg(test)]
mod tests {
    use super::*;
    use abi::FUNCTIONS;

    /// The names between backquotes in the crate documentation's section of this heading.
    fn documented(heading: &str) -> Vec<&'static str> {
        let text = include_str!("lib.rs");
        let section = text.split(heading).nth(1).expect("the heading is there");
        let section = section.split("//! # ").next().expect("a split has a first part");
        section.split('`').skip(1).step_by(2).filter(|name| name.starts_with("cu")).collect()
    }

    #[test]
    fn the_documentation_lists_exactly_the_refused_calls() {
        let refused: Vec<&str> = FUNCTIONS
            .iter()
            .filter(|function| function.symbol == function.plain && !SUPPORTED.contains(&function.symbol))
            .map(|function| function.symbol)
            .collect();
        assert_eq!(documented("//! # Refused\n"), refused);
    }

    #[test]
    fn every_supported_function_is_on_the_list() {
        for name in SUPPORTED {
            assert!(older(name).is_some() || FUNCTIONS.iter().any(|function| function.plain == *name), "{name}");
            assert!(address_of(name).is_some());
        }
        assert!(address_of("cuMemAlloc").is_none());
    }
}
