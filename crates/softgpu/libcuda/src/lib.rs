//! The software GPU as a `libcuda.so.1`: C programs that were written for the CUDA driver API run on it unmodified,
//! whether they are linked with `-lcuda`, use `dlopen` and `dlsym`, or ask `cuGetProcAddress`.
//!
//! Put the directory of the library, with a link named `libcuda.so.1` to it, on `LD_LIBRARY_PATH`. The device runs on a
//! thread of its own in real time, so a program may poll memory. The environment variables of [`softgpu`] apply
//! (`OVERTAKE_SOFT_PRESET`, `OVERTAKE_SOFT_DEVICES`, `OVERTAKE_SOFT_FAULTS`, `OVERTAKE_SOFT_HANDLES`,
//! `CUDA_DEVICE_MAX_CONNECTIONS` and `CUDA_DEVICE_MAX_COPY_CONNECTIONS`). With
//! `OVERTAKE_SOFT_LOADING=lazy` the first launch of each kernel waits for the context and keeps all other threads out
//! meanwhile, as a driver may that loads kernels lazily.
//!
//! # How it is made
//!
//! [`abi::for_each_driver_function`] is the one list of symbols, and `exports` expands it, with two functions that
//! newer headers have left out (`cuCtxAttach`, `cuCtxDetach`). Each export is a shell
//! that converts C's arguments into a call of [`hal::Driver`] on the one [`softgpu::SoftGpu`] of the process, which
//! `cuInit` makes. A panic never crosses the ABI: it becomes `CUDA_ERROR_UNKNOWN`. Calls before `cuInit`, and all
//! calls in a forked child, are `CUDA_ERROR_NOT_INITIALIZED`. A null output is `CUDA_ERROR_INVALID_VALUE`. Outputs
//! are written on success only, except where the driver's manual says otherwise (names of unknown errors, absent
//! entry points, the index of a failed copy).
//!
//! Pointers: the crate is a boundary, so its functions are unsafe. Every safety comment rests on one promise: the
//! caller of an entry point keeps the rules of the CUDA manual for it.
//!
//! # Supported
//!
//! - Start, version, error names and texts, `cuGetProcAddress` in both ABIs with versions and the per-thread flag.
//! - Devices and their attributes, UUIDs, memory size, peer access.
//! - Primary contexts and their reset, own contexts and their uses (attach, detach), the stack of contexts, stream
//!   priorities. Scheduling flags change nothing.
//! - Streams with priorities, legacy and per-thread default streams, every `_ptsz` and `_ptds` variant; events.
//! - Capture: begin, end, status and number, modes of threads. Graphs can be destroyed, but not inspected or
//!   launched.
//! - Device memory, pitched or in stream order too; pinned memory, registration, device pointers of pinned memory;
//!   the attributes of an address (context, type, device and host pointer, buffer id, managed, ordinal, range,
//!   mapped, access, pool).
//! - Addresses that are reserved, and device memory that is mapped there piece by piece: `cuMemAddressReserve`,
//!   `cuMemCreate`, `cuMemMap`, `cuMemSetAccess`, `cuMemUnmap`, `cuMemRelease`, `cuMemAddressFree` and
//!   `cuMemGetAllocationGranularity`, by symbol only. Memory of the first device, each mapped once as a whole; its
//!   bytes end when it is unmapped.
//! - Copies: host, device, unified and peer in one dimension; host, device and unified in two and three dimensions;
//!   batches in both prototypes. The call waits for a batch whose sources may vanish. Sets of 8, 16 and 32 bits.
//! - Stream memory operations of 32 and 64 bits, also in batches.
//! - Memory and semaphores of other APIs by descriptor: those that `softgpu::ForeignMemory` and
//!   `softgpu::ForeignSemaphore` export.
//! - Modules from PTX that declares kernels known by name; launches with `kernelParams`. Of the options of
//!   `cuModuleLoadDataEx` only the length of the logs (0) is written back.
//!
//! Supported functions refuse these: copies from and to arrays, `extra` launch arguments, launch attributes, flushes
//! of remote writes, external event flags, events between processes, registration of device registers
//! (`CUDA_ERROR_NOT_SUPPORTED`); a write value without a memory barrier (`CUDA_ERROR_INVALID_VALUE`, as in drivers).
//!
//! # Refused
//!
//! These symbols exist and return `CUDA_ERROR_NOT_SUPPORTED`:
//!
//! - driver: `cuGetExportTable`
//! - device: `cuDeviceGetP2PAttribute`, `cuDeviceGetPCIBusId`, `cuDeviceGetByPCIBusId`,
//!   `cuDeviceGetDefaultMemPool`, `cuDeviceGetMemPool`, `cuDeviceSetMemPool`
//! - context: `cuDevicePrimaryCtxSetFlags_v2`, `cuCtxSetFlags`, `cuCtxGetApiVersion`,
//!   `cuCtxGetLimit`, `cuCtxSetLimit`, `cuCtxDisablePeerAccess`
//! - stream: `cuStreamGetId`, `cuStreamAddCallback`, `cuStreamAttachMemAsync`, `cuStreamBeginCaptureToGraph`
//! - memory: `cuMemAllocManaged`, `cuMemAllocFromPoolAsync`, `cuMemHostGetFlags`, `cuPointerSetAttribute`
//! - copy: `cuMemcpyDtoA_v2`, `cuMemcpyAtoD_v2`, `cuMemcpyHtoA_v2`, `cuMemcpyAtoH_v2`, `cuMemcpyAtoA_v2`,
//!   `cuMemcpyHtoAAsync_v2`, `cuMemcpyAtoHAsync_v2`, `cuMemcpy3DPeer`, `cuMemcpy3DPeerAsync`,
//!   `cuMemcpy3DBatchAsync`, `cuMemcpy3DBatchAsync_v2`, `cuMemPrefetchAsync`, `cuMemPrefetchAsync_v2`,
//!   `cuMemPrefetchBatchAsync`, `cuMemDiscardBatchAsync`, `cuMemDiscardAndPrefetchBatchAsync`,
//!   `cuMemBatchDecompressAsync`
//! - memop: `cuStreamWaitValue32`, `cuStreamWaitValue64`, `cuStreamWriteValue32`, `cuStreamWriteValue64`,
//!   `cuStreamBatchMemOp`
//! - module: `cuModuleLoadFatBinary`, `cuFuncGetAttribute`, `cuFuncSetAttribute`,
//!   `cuOccupancyMaxActiveBlocksPerMultiprocessor`, `cuLaunchCooperativeKernel`, `cuLaunchHostFunc`
//! - graph: `cuGraphCreate`, `cuGraphGetNodes`, `cuGraphNodeGetType`
//!
//! # Absent
//!
//! Other symbols outside the list, among them the 32-bit prototypes of CUDA 2, do not exist. `dlsym` finds nothing, and
//! `cuGetProcAddress` answers as for a version that is too old or a name that is unknown.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]
#![allow(clippy::too_many_arguments)] // the prototypes are NVIDIA's

mod answer;
mod batch;
mod capture;
mod context;
mod copy;
mod device;
mod driver;
mod event;
mod exports;
mod external;
mod loading;
mod mapped;
mod memop;
mod memory;
mod module;
mod pointer;
mod set;
mod shape;
mod soft;
mod stream;
