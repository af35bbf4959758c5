//! The one list of driver functions.
//!
//! [`for_each_driver_function!`](crate::for_each_driver_function) hands every row to a macro that the caller names.
//! The loader's table, the exports of the soft GPU, hooks and call tracing all expand this list, so that a function
//! is added in one place. The tests compare every row with the prototype and the version in NVIDIA's header.
//!
//! # A row
//!
//! ```text
//! [copy cuMemcpyHtoDAsync_v2_ptsz = cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync", 7000, Ptsz, optional;
//!     (dst_device: CUdeviceptr, src_host: *const c_void, byte_count: usize, h_stream: CUstream)]
//! ```
//!
//! | part | here | meaning |
//! |---|---|---|
//! | noun | `copy` | its section: `driver device context stream event memory copy set memop module graph` |
//! | symbol | `cuMemcpyHtoDAsync_v2_ptsz` | the name that `libcuda.so.1` exports |
//! | plain | `cuMemcpyHtoDAsync_v2` | the same function for the legacy default stream; equals the symbol when `Plain` |
//! | base | `"cuMemcpyHtoDAsync"` | the name that `cuGetProcAddress` takes |
//! | version | `7000` | the CUDA version that introduced this prototype, which `cuGetProcAddress` takes as well |
//! | flavour | `Ptsz` | `Plain`; where handle 0 is the per-thread stream, `Ptsz` (asynchronous) or `Ptds` |
//! | need | `optional` | `required`: a driver without it cannot be used; `optional`: calling it may find it absent |
//! | arguments | `(…)` | names and types; every function returns [`CUresult`](crate::types::CUresult) |
//!
//! The types are written without a path: bring them in with `use abi::types::*`. The list leaves out the 32-bit
//! prototypes of CUDA 2 and 3, which no client of this century asks for.
//!
//! # Expanding it
//!
//! The macro that receives the rows is named first. Any tokens after a comma are handed to it in braces, before the
//! rows.
//!
//! ```
//! # use overtake_abi as abi; // the name that the workspace gives this crate
//! use abi::types::*;
//!
//! macro_rules! table {
//!     ({ $struct:ident } $([$noun:ident $symbol:ident = $plain:ident, $base:literal, $version:literal,
//!        $flavour:ident, $need:ident; ($($argument:ident: $type:ty),*)])*) => {
//!         #[allow(non_snake_case)]
//!         #[derive(Default)]
//!         struct $struct { $($symbol: Option<unsafe extern "C" fn($($argument: $type),*) -> CUresult>,)* }
//!     };
//! }
//! abi::for_each_driver_function! { table, Functions }
//!
//! assert!(Functions::default().cuMemcpyHtoDAsync_v2.is_none());
//! ```

/// Hands the list of driver functions to the macro named first. The module documentation of [`crate::table`] describes
/// the rows and shows how to expand them.
#[macro_export]
macro_rules! for_each_driver_function {
    ($($callback:ident)::+ $(, $($through:tt)*)?) => {
        $($callback)::+! {
            { $($($through)*)? }

            // --- driver ---
            [driver cuInit = cuInit, "cuInit", 2000, Plain, required; (flags: c_uint)]
            [driver cuDriverGetVersion = cuDriverGetVersion, "cuDriverGetVersion", 2020, Plain, required;
                (driver_version: *mut c_int)]
            [driver cuGetErrorName = cuGetErrorName, "cuGetErrorName", 6000, Plain, optional;
                (error: CUresult, p_str: *mut *const c_char)]
            [driver cuGetErrorString = cuGetErrorString, "cuGetErrorString", 6000, Plain, optional;
                (error: CUresult, p_str: *mut *const c_char)]
            [driver cuGetProcAddress = cuGetProcAddress, "cuGetProcAddress", 11030, Plain, optional;
                (symbol: *const c_char, pfn: *mut *mut c_void, cuda_version: c_int, flags: cuuint64_t)]
            [driver cuGetProcAddress_v2 = cuGetProcAddress_v2, "cuGetProcAddress", 12000, Plain, optional;
                (symbol: *const c_char, pfn: *mut *mut c_void, cuda_version: c_int, flags: cuuint64_t,
                 symbol_status: *mut CUdriverProcAddressQueryResult)]
            [driver cuGetExportTable = cuGetExportTable, "cuGetExportTable", 3000, Plain, optional;
                (pp_export_table: *mut *const c_void, p_export_table_id: *const CUuuid)]

            // --- device ---
            [device cuDeviceGet = cuDeviceGet, "cuDeviceGet", 2000, Plain, required;
                (device: *mut CUdevice, ordinal: c_int)]
            [device cuDeviceGetCount = cuDeviceGetCount, "cuDeviceGetCount", 2000, Plain, required;
                (count: *mut c_int)]
            [device cuDeviceGetName = cuDeviceGetName, "cuDeviceGetName", 2000, Plain, required;
                (name: *mut c_char, len: c_int, dev: CUdevice)]
            [device cuDeviceGetUuid = cuDeviceGetUuid, "cuDeviceGetUuid", 9020, Plain, optional;
                (uuid: *mut CUuuid, dev: CUdevice)]
            [device cuDeviceGetUuid_v2 = cuDeviceGetUuid_v2, "cuDeviceGetUuid", 11040, Plain, optional;
                (uuid: *mut CUuuid, dev: CUdevice)]
            [device cuDeviceGetAttribute = cuDeviceGetAttribute, "cuDeviceGetAttribute", 2000, Plain, required;
                (pi: *mut c_int, attrib: CUdevice_attribute, dev: CUdevice)]
            [device cuDeviceTotalMem_v2 = cuDeviceTotalMem_v2, "cuDeviceTotalMem", 3020, Plain, required;
                (bytes: *mut usize, dev: CUdevice)]
            [device cuDeviceCanAccessPeer = cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer", 4000, Plain, required;
                (can_access_peer: *mut c_int, dev: CUdevice, peer_dev: CUdevice)]
            [device cuDeviceGetP2PAttribute = cuDeviceGetP2PAttribute, "cuDeviceGetP2PAttribute", 8000, Plain, optional;
                (value: *mut c_int, attrib: CUdevice_P2PAttribute, src_device: CUdevice, dst_device: CUdevice)]
            [device cuDeviceGetPCIBusId = cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", 4010, Plain, optional;
                (pci_bus_id: *mut c_char, len: c_int, dev: CUdevice)]
            [device cuDeviceGetByPCIBusId = cuDeviceGetByPCIBusId, "cuDeviceGetByPCIBusId", 4010, Plain, optional;
                (dev: *mut CUdevice, pci_bus_id: *const c_char)]
            [device cuDeviceGetDefaultMemPool = cuDeviceGetDefaultMemPool,
                "cuDeviceGetDefaultMemPool", 11020, Plain, optional; (pool_out: *mut CUmemoryPool, dev: CUdevice)]
            [device cuDeviceGetMemPool = cuDeviceGetMemPool, "cuDeviceGetMemPool", 11020, Plain, optional;
                (pool: *mut CUmemoryPool, dev: CUdevice)]
            [device cuDeviceSetMemPool = cuDeviceSetMemPool, "cuDeviceSetMemPool", 11020, Plain, optional;
                (dev: CUdevice, pool: CUmemoryPool)]

            // --- context ---
            [context cuDevicePrimaryCtxRetain = cuDevicePrimaryCtxRetain,
                "cuDevicePrimaryCtxRetain", 7000, Plain, required; (pctx: *mut CUcontext, dev: CUdevice)]
            [context cuDevicePrimaryCtxRelease_v2 = cuDevicePrimaryCtxRelease_v2,
                "cuDevicePrimaryCtxRelease", 11000, Plain, required; (dev: CUdevice)]
            [context cuDevicePrimaryCtxSetFlags_v2 = cuDevicePrimaryCtxSetFlags_v2,
                "cuDevicePrimaryCtxSetFlags", 11000, Plain, optional; (dev: CUdevice, flags: c_uint)]
            [context cuDevicePrimaryCtxGetState = cuDevicePrimaryCtxGetState,
                "cuDevicePrimaryCtxGetState", 7000, Plain, optional;
                (dev: CUdevice, flags: *mut c_uint, active: *mut c_int)]
            [context cuDevicePrimaryCtxReset_v2 = cuDevicePrimaryCtxReset_v2,
                "cuDevicePrimaryCtxReset", 11000, Plain, optional; (dev: CUdevice)]
            [context cuCtxCreate_v2 = cuCtxCreate_v2, "cuCtxCreate", 3020, Plain, required;
                (pctx: *mut CUcontext, flags: c_uint, dev: CUdevice)]
            [context cuCtxCreate_v4 = cuCtxCreate_v4, "cuCtxCreate", 12050, Plain, optional;
                (pctx: *mut CUcontext, ctx_create_params: *mut CUctxCreateParams, flags: c_uint, dev: CUdevice)]
            [context cuCtxDestroy_v2 = cuCtxDestroy_v2, "cuCtxDestroy", 4000, Plain, required; (ctx: CUcontext)]
            [context cuCtxPushCurrent_v2 = cuCtxPushCurrent_v2, "cuCtxPushCurrent", 4000, Plain, optional;
                (ctx: CUcontext)]
            [context cuCtxPopCurrent_v2 = cuCtxPopCurrent_v2, "cuCtxPopCurrent", 4000, Plain, optional;
                (pctx: *mut CUcontext)]
            [context cuCtxSetCurrent = cuCtxSetCurrent, "cuCtxSetCurrent", 4000, Plain, required; (ctx: CUcontext)]
            [context cuCtxGetCurrent = cuCtxGetCurrent, "cuCtxGetCurrent", 4000, Plain, required;
                (pctx: *mut CUcontext)]
            [context cuCtxGetDevice = cuCtxGetDevice, "cuCtxGetDevice", 2000, Plain, required;
                (device: *mut CUdevice)]
            [context cuCtxGetDevice_v2 = cuCtxGetDevice_v2, "cuCtxGetDevice", 13000, Plain, optional;
                (device: *mut CUdevice, ctx: CUcontext)]
            [context cuCtxGetFlags = cuCtxGetFlags, "cuCtxGetFlags", 7000, Plain, optional; (flags: *mut c_uint)]
            [context cuCtxSetFlags = cuCtxSetFlags, "cuCtxSetFlags", 12010, Plain, optional; (flags: c_uint)]
            [context cuCtxGetId = cuCtxGetId, "cuCtxGetId", 12000, Plain, optional;
                (ctx: CUcontext, ctx_id: *mut c_ulonglong)]
            [context cuCtxGetApiVersion = cuCtxGetApiVersion, "cuCtxGetApiVersion", 3020, Plain, optional;
                (ctx: CUcontext, version: *mut c_uint)]
            [context cuCtxSynchronize = cuCtxSynchronize, "cuCtxSynchronize", 2000, Plain, required; ()]
            [context cuCtxSynchronize_v2 = cuCtxSynchronize_v2, "cuCtxSynchronize", 13000, Plain, optional;
                (ctx: CUcontext)]
            [context cuCtxGetLimit = cuCtxGetLimit, "cuCtxGetLimit", 3010, Plain, optional;
                (pvalue: *mut usize, limit: CUlimit)]
            [context cuCtxSetLimit = cuCtxSetLimit, "cuCtxSetLimit", 3010, Plain, optional;
                (limit: CUlimit, value: usize)]
            [context cuCtxGetStreamPriorityRange = cuCtxGetStreamPriorityRange,
                "cuCtxGetStreamPriorityRange", 5050, Plain, required;
                (least_priority: *mut c_int, greatest_priority: *mut c_int)]
            [context cuCtxEnablePeerAccess = cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess", 4000, Plain, optional;
                (peer_context: CUcontext, flags: c_uint)]
            [context cuCtxDisablePeerAccess = cuCtxDisablePeerAccess, "cuCtxDisablePeerAccess", 4000, Plain, optional;
                (peer_context: CUcontext)]

            // --- stream ---
            [stream cuStreamCreate = cuStreamCreate, "cuStreamCreate", 2000, Plain, optional;
                (ph_stream: *mut CUstream, flags: c_uint)]
            [stream cuStreamCreateWithPriority = cuStreamCreateWithPriority,
                "cuStreamCreateWithPriority", 5050, Plain, required;
                (ph_stream: *mut CUstream, flags: c_uint, priority: c_int)]
            [stream cuStreamDestroy_v2 = cuStreamDestroy_v2, "cuStreamDestroy", 4000, Plain, required;
                (h_stream: CUstream)]
            [stream cuStreamQuery = cuStreamQuery, "cuStreamQuery", 2000, Plain, required; (h_stream: CUstream)]
            [stream cuStreamQuery_ptsz = cuStreamQuery, "cuStreamQuery", 7000, Ptsz, optional; (h_stream: CUstream)]
            [stream cuStreamSynchronize = cuStreamSynchronize, "cuStreamSynchronize", 2000, Plain, required;
                (h_stream: CUstream)]
            [stream cuStreamSynchronize_ptsz = cuStreamSynchronize, "cuStreamSynchronize", 7000, Ptsz, optional;
                (h_stream: CUstream)]
            [stream cuStreamGetPriority = cuStreamGetPriority, "cuStreamGetPriority", 5050, Plain, optional;
                (h_stream: CUstream, priority: *mut c_int)]
            [stream cuStreamGetPriority_ptsz = cuStreamGetPriority, "cuStreamGetPriority", 7000, Ptsz, optional;
                (h_stream: CUstream, priority: *mut c_int)]
            [stream cuStreamGetFlags = cuStreamGetFlags, "cuStreamGetFlags", 5050, Plain, optional;
                (h_stream: CUstream, flags: *mut c_uint)]
            [stream cuStreamGetFlags_ptsz = cuStreamGetFlags, "cuStreamGetFlags", 7000, Ptsz, optional;
                (h_stream: CUstream, flags: *mut c_uint)]
            [stream cuStreamGetId = cuStreamGetId, "cuStreamGetId", 12000, Plain, optional;
                (h_stream: CUstream, stream_id: *mut c_ulonglong)]
            [stream cuStreamGetId_ptsz = cuStreamGetId, "cuStreamGetId", 12000, Ptsz, optional;
                (h_stream: CUstream, stream_id: *mut c_ulonglong)]
            [stream cuStreamGetCtx = cuStreamGetCtx, "cuStreamGetCtx", 9020, Plain, optional;
                (h_stream: CUstream, pctx: *mut CUcontext)]
            [stream cuStreamGetCtx_ptsz = cuStreamGetCtx, "cuStreamGetCtx", 9020, Ptsz, optional;
                (h_stream: CUstream, pctx: *mut CUcontext)]
            [stream cuStreamGetCtx_v2 = cuStreamGetCtx_v2, "cuStreamGetCtx", 12050, Plain, optional;
                (h_stream: CUstream, p_ctx: *mut CUcontext, p_green_ctx: *mut CUgreenCtx)]
            [stream cuStreamGetCtx_v2_ptsz = cuStreamGetCtx_v2, "cuStreamGetCtx", 12050, Ptsz, optional;
                (h_stream: CUstream, p_ctx: *mut CUcontext, p_green_ctx: *mut CUgreenCtx)]
            [stream cuStreamGetDevice = cuStreamGetDevice, "cuStreamGetDevice", 12080, Plain, optional;
                (h_stream: CUstream, device: *mut CUdevice)]
            [stream cuStreamGetDevice_ptsz = cuStreamGetDevice, "cuStreamGetDevice", 12080, Ptsz, optional;
                (h_stream: CUstream, device: *mut CUdevice)]
            [stream cuStreamWaitEvent = cuStreamWaitEvent, "cuStreamWaitEvent", 3020, Plain, required;
                (h_stream: CUstream, h_event: CUevent, flags: c_uint)]
            [stream cuStreamWaitEvent_ptsz = cuStreamWaitEvent, "cuStreamWaitEvent", 7000, Ptsz, optional;
                (h_stream: CUstream, h_event: CUevent, flags: c_uint)]
            [stream cuStreamAddCallback = cuStreamAddCallback, "cuStreamAddCallback", 5000, Plain, optional;
                (h_stream: CUstream, callback: CUstreamCallback, user_data: *mut c_void, flags: c_uint)]
            [stream cuStreamAddCallback_ptsz = cuStreamAddCallback, "cuStreamAddCallback", 7000, Ptsz, optional;
                (h_stream: CUstream, callback: CUstreamCallback, user_data: *mut c_void, flags: c_uint)]
            [stream cuStreamAttachMemAsync = cuStreamAttachMemAsync, "cuStreamAttachMemAsync", 6000, Plain, optional;
                (h_stream: CUstream, dptr: CUdeviceptr, length: usize, flags: c_uint)]
            [stream cuStreamAttachMemAsync_ptsz = cuStreamAttachMemAsync,
                "cuStreamAttachMemAsync", 7000, Ptsz, optional;
                (h_stream: CUstream, dptr: CUdeviceptr, length: usize, flags: c_uint)]
            [stream cuStreamBeginCapture_v2 = cuStreamBeginCapture_v2, "cuStreamBeginCapture", 10010, Plain, optional;
                (h_stream: CUstream, mode: CUstreamCaptureMode)]
            [stream cuStreamBeginCapture_v2_ptsz = cuStreamBeginCapture_v2,
                "cuStreamBeginCapture", 10010, Ptsz, optional; (h_stream: CUstream, mode: CUstreamCaptureMode)]
            [stream cuStreamBeginCaptureToGraph = cuStreamBeginCaptureToGraph,
                "cuStreamBeginCaptureToGraph", 12030, Plain, optional;
                (h_stream: CUstream, h_graph: CUgraph, dependencies: *const CUgraphNode,
                 dependency_data: *const CUgraphEdgeData, num_dependencies: usize, mode: CUstreamCaptureMode)]
            [stream cuStreamBeginCaptureToGraph_ptsz = cuStreamBeginCaptureToGraph,
                "cuStreamBeginCaptureToGraph", 12030, Ptsz, optional;
                (h_stream: CUstream, h_graph: CUgraph, dependencies: *const CUgraphNode,
                 dependency_data: *const CUgraphEdgeData, num_dependencies: usize, mode: CUstreamCaptureMode)]
            [stream cuStreamEndCapture = cuStreamEndCapture, "cuStreamEndCapture", 10000, Plain, optional;
                (h_stream: CUstream, ph_graph: *mut CUgraph)]
            [stream cuStreamEndCapture_ptsz = cuStreamEndCapture, "cuStreamEndCapture", 10000, Ptsz, optional;
                (h_stream: CUstream, ph_graph: *mut CUgraph)]
            [stream cuStreamIsCapturing = cuStreamIsCapturing, "cuStreamIsCapturing", 10000, Plain, optional;
                (h_stream: CUstream, capture_status: *mut CUstreamCaptureStatus)]
            [stream cuStreamIsCapturing_ptsz = cuStreamIsCapturing, "cuStreamIsCapturing", 10000, Ptsz, optional;
                (h_stream: CUstream, capture_status: *mut CUstreamCaptureStatus)]
            [stream cuStreamGetCaptureInfo_v2 = cuStreamGetCaptureInfo_v2,
                "cuStreamGetCaptureInfo", 11030, Plain, optional;
                (h_stream: CUstream, capture_status_out: *mut CUstreamCaptureStatus, id_out: *mut cuuint64_t,
                 graph_out: *mut CUgraph, dependencies_out: *mut *const CUgraphNode, num_dependencies_out: *mut usize)]
            [stream cuStreamGetCaptureInfo_v2_ptsz = cuStreamGetCaptureInfo_v2,
                "cuStreamGetCaptureInfo", 11030, Ptsz, optional;
                (h_stream: CUstream, capture_status_out: *mut CUstreamCaptureStatus, id_out: *mut cuuint64_t,
                 graph_out: *mut CUgraph, dependencies_out: *mut *const CUgraphNode, num_dependencies_out: *mut usize)]
            [stream cuStreamGetCaptureInfo_v3 = cuStreamGetCaptureInfo_v3,
                "cuStreamGetCaptureInfo", 12030, Plain, optional;
                (h_stream: CUstream, capture_status_out: *mut CUstreamCaptureStatus, id_out: *mut cuuint64_t,
                 graph_out: *mut CUgraph, dependencies_out: *mut *const CUgraphNode,
                 edge_data_out: *mut *const CUgraphEdgeData, num_dependencies_out: *mut usize)]
            [stream cuStreamGetCaptureInfo_v3_ptsz = cuStreamGetCaptureInfo_v3,
                "cuStreamGetCaptureInfo", 12030, Ptsz, optional;
                (h_stream: CUstream, capture_status_out: *mut CUstreamCaptureStatus, id_out: *mut cuuint64_t,
                 graph_out: *mut CUgraph, dependencies_out: *mut *const CUgraphNode,
                 edge_data_out: *mut *const CUgraphEdgeData, num_dependencies_out: *mut usize)]
            [stream cuThreadExchangeStreamCaptureMode = cuThreadExchangeStreamCaptureMode,
                "cuThreadExchangeStreamCaptureMode", 10010, Plain, optional; (mode: *mut CUstreamCaptureMode)]

            // --- event ---
            [event cuEventCreate = cuEventCreate, "cuEventCreate", 2000, Plain, required;
                (ph_event: *mut CUevent, flags: c_uint)]
            [event cuEventDestroy_v2 = cuEventDestroy_v2, "cuEventDestroy", 4000, Plain, required; (h_event: CUevent)]
            [event cuEventRecord = cuEventRecord, "cuEventRecord", 2000, Plain, required;
                (h_event: CUevent, h_stream: CUstream)]
            [event cuEventRecord_ptsz = cuEventRecord, "cuEventRecord", 7000, Ptsz, optional;
                (h_event: CUevent, h_stream: CUstream)]
            [event cuEventRecordWithFlags = cuEventRecordWithFlags, "cuEventRecordWithFlags", 11010, Plain, optional;
                (h_event: CUevent, h_stream: CUstream, flags: c_uint)]
            [event cuEventRecordWithFlags_ptsz = cuEventRecordWithFlags,
                "cuEventRecordWithFlags", 11010, Ptsz, optional;
                (h_event: CUevent, h_stream: CUstream, flags: c_uint)]
            [event cuEventQuery = cuEventQuery, "cuEventQuery", 2000, Plain, required; (h_event: CUevent)]
            [event cuEventSynchronize = cuEventSynchronize, "cuEventSynchronize", 2000, Plain, required;
                (h_event: CUevent)]
            [event cuEventElapsedTime = cuEventElapsedTime, "cuEventElapsedTime", 2000, Plain, optional;
                (p_milliseconds: *mut f32, h_start: CUevent, h_end: CUevent)]
            [event cuEventElapsedTime_v2 = cuEventElapsedTime_v2, "cuEventElapsedTime", 12080, Plain, optional;
                (p_milliseconds: *mut f32, h_start: CUevent, h_end: CUevent)]

            // --- memory ---
            [memory cuMemAlloc_v2 = cuMemAlloc_v2, "cuMemAlloc", 3020, Plain, required;
                (dptr: *mut CUdeviceptr, bytesize: usize)]
            [memory cuMemAllocPitch_v2 = cuMemAllocPitch_v2, "cuMemAllocPitch", 3020, Plain, optional;
                (dptr: *mut CUdeviceptr, p_pitch: *mut usize, width_in_bytes: usize, height: usize,
                 element_size_bytes: c_uint)]
            [memory cuMemAllocManaged = cuMemAllocManaged, "cuMemAllocManaged", 6000, Plain, optional;
                (dptr: *mut CUdeviceptr, bytesize: usize, flags: c_uint)]
            [memory cuMemFree_v2 = cuMemFree_v2, "cuMemFree", 3020, Plain, required; (dptr: CUdeviceptr)]
            [memory cuMemGetInfo_v2 = cuMemGetInfo_v2, "cuMemGetInfo", 3020, Plain, optional;
                (free: *mut usize, total: *mut usize)]
            [memory cuMemGetAddressRange_v2 = cuMemGetAddressRange_v2, "cuMemGetAddressRange", 3020, Plain, optional;
                (pbase: *mut CUdeviceptr, psize: *mut usize, dptr: CUdeviceptr)]
            [memory cuMemAllocAsync = cuMemAllocAsync, "cuMemAllocAsync", 11020, Plain, optional;
                (dptr: *mut CUdeviceptr, bytesize: usize, h_stream: CUstream)]
            [memory cuMemAllocAsync_ptsz = cuMemAllocAsync, "cuMemAllocAsync", 11020, Ptsz, optional;
                (dptr: *mut CUdeviceptr, bytesize: usize, h_stream: CUstream)]
            [memory cuMemAllocFromPoolAsync = cuMemAllocFromPoolAsync,
                "cuMemAllocFromPoolAsync", 11020, Plain, optional;
                (dptr: *mut CUdeviceptr, bytesize: usize, pool: CUmemoryPool, h_stream: CUstream)]
            [memory cuMemAllocFromPoolAsync_ptsz = cuMemAllocFromPoolAsync,
                "cuMemAllocFromPoolAsync", 11020, Ptsz, optional;
                (dptr: *mut CUdeviceptr, bytesize: usize, pool: CUmemoryPool, h_stream: CUstream)]
            [memory cuMemFreeAsync = cuMemFreeAsync, "cuMemFreeAsync", 11020, Plain, optional;
                (dptr: CUdeviceptr, h_stream: CUstream)]
            [memory cuMemFreeAsync_ptsz = cuMemFreeAsync, "cuMemFreeAsync", 11020, Ptsz, optional;
                (dptr: CUdeviceptr, h_stream: CUstream)]
            [memory cuImportExternalMemory = cuImportExternalMemory, "cuImportExternalMemory", 10000, Plain, optional;
                (ext_mem_out: *mut CUexternalMemory, mem_handle_desc: *const CUDA_EXTERNAL_MEMORY_HANDLE_DESC)]
            [memory cuExternalMemoryGetMappedBuffer = cuExternalMemoryGetMappedBuffer,
                "cuExternalMemoryGetMappedBuffer", 10000, Plain, optional;
                (dev_ptr: *mut CUdeviceptr, ext_mem: CUexternalMemory,
                 buffer_desc: *const CUDA_EXTERNAL_MEMORY_BUFFER_DESC)]
            [memory cuDestroyExternalMemory = cuDestroyExternalMemory,
                "cuDestroyExternalMemory", 10000, Plain, optional; (ext_mem: CUexternalMemory)]
            [memory cuMemAllocHost_v2 = cuMemAllocHost_v2, "cuMemAllocHost", 3020, Plain, optional;
                (pp: *mut *mut c_void, bytesize: usize)]
            [memory cuMemHostAlloc = cuMemHostAlloc, "cuMemHostAlloc", 2020, Plain, required;
                (pp: *mut *mut c_void, bytesize: usize, flags: c_uint)]
            [memory cuMemFreeHost = cuMemFreeHost, "cuMemFreeHost", 2000, Plain, required; (p: *mut c_void)]
            [memory cuMemHostRegister_v2 = cuMemHostRegister_v2, "cuMemHostRegister", 6050, Plain, optional;
                (p: *mut c_void, bytesize: usize, flags: c_uint)]
            [memory cuMemHostUnregister = cuMemHostUnregister, "cuMemHostUnregister", 4000, Plain, optional;
                (p: *mut c_void)]
            [memory cuMemHostGetDevicePointer_v2 = cuMemHostGetDevicePointer_v2,
                "cuMemHostGetDevicePointer", 3020, Plain, optional;
                (pdptr: *mut CUdeviceptr, p: *mut c_void, flags: c_uint)]
            [memory cuMemHostGetFlags = cuMemHostGetFlags, "cuMemHostGetFlags", 2030, Plain, optional;
                (p_flags: *mut c_uint, p: *mut c_void)]
            [memory cuPointerGetAttribute = cuPointerGetAttribute, "cuPointerGetAttribute", 4000, Plain, optional;
                (data: *mut c_void, attribute: CUpointer_attribute, ptr: CUdeviceptr)]
            [memory cuPointerGetAttributes = cuPointerGetAttributes, "cuPointerGetAttributes", 7000, Plain, required;
                (num_attributes: c_uint, attributes: *mut CUpointer_attribute, data: *mut *mut c_void,
                 ptr: CUdeviceptr)]
            [memory cuPointerSetAttribute = cuPointerSetAttribute, "cuPointerSetAttribute", 6000, Plain, optional;
                (value: *const c_void, attribute: CUpointer_attribute, ptr: CUdeviceptr)]

            // --- copy ---
            [copy cuMemcpy = cuMemcpy, "cuMemcpy", 4000, Plain, optional;
                (dst: CUdeviceptr, src: CUdeviceptr, byte_count: usize)]
            [copy cuMemcpy_ptds = cuMemcpy, "cuMemcpy", 7000, Ptds, optional;
                (dst: CUdeviceptr, src: CUdeviceptr, byte_count: usize)]
            [copy cuMemcpyAsync = cuMemcpyAsync, "cuMemcpyAsync", 4000, Plain, required;
                (dst: CUdeviceptr, src: CUdeviceptr, byte_count: usize, h_stream: CUstream)]
            [copy cuMemcpyAsync_ptsz = cuMemcpyAsync, "cuMemcpyAsync", 7000, Ptsz, optional;
                (dst: CUdeviceptr, src: CUdeviceptr, byte_count: usize, h_stream: CUstream)]
            [copy cuMemcpyHtoD_v2 = cuMemcpyHtoD_v2, "cuMemcpyHtoD", 3020, Plain, required;
                (dst_device: CUdeviceptr, src_host: *const c_void, byte_count: usize)]
            [copy cuMemcpyHtoD_v2_ptds = cuMemcpyHtoD_v2, "cuMemcpyHtoD", 7000, Ptds, optional;
                (dst_device: CUdeviceptr, src_host: *const c_void, byte_count: usize)]
            [copy cuMemcpyDtoH_v2 = cuMemcpyDtoH_v2, "cuMemcpyDtoH", 3020, Plain, required;
                (dst_host: *mut c_void, src_device: CUdeviceptr, byte_count: usize)]
            [copy cuMemcpyDtoH_v2_ptds = cuMemcpyDtoH_v2, "cuMemcpyDtoH", 7000, Ptds, optional;
                (dst_host: *mut c_void, src_device: CUdeviceptr, byte_count: usize)]
            [copy cuMemcpyDtoD_v2 = cuMemcpyDtoD_v2, "cuMemcpyDtoD", 3020, Plain, optional;
                (dst_device: CUdeviceptr, src_device: CUdeviceptr, byte_count: usize)]
            [copy cuMemcpyDtoD_v2_ptds = cuMemcpyDtoD_v2, "cuMemcpyDtoD", 7000, Ptds, optional;
                (dst_device: CUdeviceptr, src_device: CUdeviceptr, byte_count: usize)]
            [copy cuMemcpyDtoA_v2 = cuMemcpyDtoA_v2, "cuMemcpyDtoA", 3020, Plain, optional;
                (dst_array: CUarray, dst_offset: usize, src_device: CUdeviceptr, byte_count: usize)]
            [copy cuMemcpyDtoA_v2_ptds = cuMemcpyDtoA_v2, "cuMemcpyDtoA", 7000, Ptds, optional;
                (dst_array: CUarray, dst_offset: usize, src_device: CUdeviceptr, byte_count: usize)]
            [copy cuMemcpyAtoD_v2 = cuMemcpyAtoD_v2, "cuMemcpyAtoD", 3020, Plain, optional;
                (dst_device: CUdeviceptr, src_array: CUarray, src_offset: usize, byte_count: usize)]
            [copy cuMemcpyAtoD_v2_ptds = cuMemcpyAtoD_v2, "cuMemcpyAtoD", 7000, Ptds, optional;
                (dst_device: CUdeviceptr, src_array: CUarray, src_offset: usize, byte_count: usize)]
            [copy cuMemcpyHtoA_v2 = cuMemcpyHtoA_v2, "cuMemcpyHtoA", 3020, Plain, optional;
                (dst_array: CUarray, dst_offset: usize, src_host: *const c_void, byte_count: usize)]
            [copy cuMemcpyHtoA_v2_ptds = cuMemcpyHtoA_v2, "cuMemcpyHtoA", 7000, Ptds, optional;
                (dst_array: CUarray, dst_offset: usize, src_host: *const c_void, byte_count: usize)]
            [copy cuMemcpyAtoH_v2 = cuMemcpyAtoH_v2, "cuMemcpyAtoH", 3020, Plain, optional;
                (dst_host: *mut c_void, src_array: CUarray, src_offset: usize, byte_count: usize)]
            [copy cuMemcpyAtoH_v2_ptds = cuMemcpyAtoH_v2, "cuMemcpyAtoH", 7000, Ptds, optional;
                (dst_host: *mut c_void, src_array: CUarray, src_offset: usize, byte_count: usize)]
            [copy cuMemcpyAtoA_v2 = cuMemcpyAtoA_v2, "cuMemcpyAtoA", 3020, Plain, optional;
                (dst_array: CUarray, dst_offset: usize, src_array: CUarray, src_offset: usize, byte_count: usize)]
            [copy cuMemcpyAtoA_v2_ptds = cuMemcpyAtoA_v2, "cuMemcpyAtoA", 7000, Ptds, optional;
                (dst_array: CUarray, dst_offset: usize, src_array: CUarray, src_offset: usize, byte_count: usize)]
            [copy cuMemcpyHtoDAsync_v2 = cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync", 3020, Plain, required;
                (dst_device: CUdeviceptr, src_host: *const c_void, byte_count: usize, h_stream: CUstream)]
            [copy cuMemcpyHtoDAsync_v2_ptsz = cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync", 7000, Ptsz, optional;
                (dst_device: CUdeviceptr, src_host: *const c_void, byte_count: usize, h_stream: CUstream)]
            [copy cuMemcpyDtoHAsync_v2 = cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync", 3020, Plain, required;
                (dst_host: *mut c_void, src_device: CUdeviceptr, byte_count: usize, h_stream: CUstream)]
            [copy cuMemcpyDtoHAsync_v2_ptsz = cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync", 7000, Ptsz, optional;
                (dst_host: *mut c_void, src_device: CUdeviceptr, byte_count: usize, h_stream: CUstream)]
            [copy cuMemcpyDtoDAsync_v2 = cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync", 3020, Plain, required;
                (dst_device: CUdeviceptr, src_device: CUdeviceptr, byte_count: usize, h_stream: CUstream)]
            [copy cuMemcpyDtoDAsync_v2_ptsz = cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync", 7000, Ptsz, optional;
                (dst_device: CUdeviceptr, src_device: CUdeviceptr, byte_count: usize, h_stream: CUstream)]
            [copy cuMemcpyHtoAAsync_v2 = cuMemcpyHtoAAsync_v2, "cuMemcpyHtoAAsync", 3020, Plain, optional;
                (dst_array: CUarray, dst_offset: usize, src_host: *const c_void, byte_count: usize,
                 h_stream: CUstream)]
            [copy cuMemcpyHtoAAsync_v2_ptsz = cuMemcpyHtoAAsync_v2, "cuMemcpyHtoAAsync", 7000, Ptsz, optional;
                (dst_array: CUarray, dst_offset: usize, src_host: *const c_void, byte_count: usize,
                 h_stream: CUstream)]
            [copy cuMemcpyAtoHAsync_v2 = cuMemcpyAtoHAsync_v2, "cuMemcpyAtoHAsync", 3020, Plain, optional;
                (dst_host: *mut c_void, src_array: CUarray, src_offset: usize, byte_count: usize, h_stream: CUstream)]
            [copy cuMemcpyAtoHAsync_v2_ptsz = cuMemcpyAtoHAsync_v2, "cuMemcpyAtoHAsync", 7000, Ptsz, optional;
                (dst_host: *mut c_void, src_array: CUarray, src_offset: usize, byte_count: usize, h_stream: CUstream)]
            [copy cuMemcpy2D_v2 = cuMemcpy2D_v2, "cuMemcpy2D", 3020, Plain, optional; (p_copy: *const CUDA_MEMCPY2D)]
            [copy cuMemcpy2D_v2_ptds = cuMemcpy2D_v2, "cuMemcpy2D", 7000, Ptds, optional;
                (p_copy: *const CUDA_MEMCPY2D)]
            [copy cuMemcpy2DUnaligned_v2 = cuMemcpy2DUnaligned_v2, "cuMemcpy2DUnaligned", 3020, Plain, optional;
                (p_copy: *const CUDA_MEMCPY2D)]
            [copy cuMemcpy2DUnaligned_v2_ptds = cuMemcpy2DUnaligned_v2, "cuMemcpy2DUnaligned", 7000, Ptds, optional;
                (p_copy: *const CUDA_MEMCPY2D)]
            [copy cuMemcpy2DAsync_v2 = cuMemcpy2DAsync_v2, "cuMemcpy2DAsync", 3020, Plain, optional;
                (p_copy: *const CUDA_MEMCPY2D, h_stream: CUstream)]
            [copy cuMemcpy2DAsync_v2_ptsz = cuMemcpy2DAsync_v2, "cuMemcpy2DAsync", 7000, Ptsz, optional;
                (p_copy: *const CUDA_MEMCPY2D, h_stream: CUstream)]
            [copy cuMemcpy3D_v2 = cuMemcpy3D_v2, "cuMemcpy3D", 3020, Plain, optional; (p_copy: *const CUDA_MEMCPY3D)]
            [copy cuMemcpy3D_v2_ptds = cuMemcpy3D_v2, "cuMemcpy3D", 7000, Ptds, optional;
                (p_copy: *const CUDA_MEMCPY3D)]
            [copy cuMemcpy3DAsync_v2 = cuMemcpy3DAsync_v2, "cuMemcpy3DAsync", 3020, Plain, optional;
                (p_copy: *const CUDA_MEMCPY3D, h_stream: CUstream)]
            [copy cuMemcpy3DAsync_v2_ptsz = cuMemcpy3DAsync_v2, "cuMemcpy3DAsync", 7000, Ptsz, optional;
                (p_copy: *const CUDA_MEMCPY3D, h_stream: CUstream)]
            [copy cuMemcpyPeer = cuMemcpyPeer, "cuMemcpyPeer", 4000, Plain, optional;
                (dst_device: CUdeviceptr, dst_context: CUcontext, src_device: CUdeviceptr, src_context: CUcontext,
                 byte_count: usize)]
            [copy cuMemcpyPeer_ptds = cuMemcpyPeer, "cuMemcpyPeer", 7000, Ptds, optional;
                (dst_device: CUdeviceptr, dst_context: CUcontext, src_device: CUdeviceptr, src_context: CUcontext,
                 byte_count: usize)]
            [copy cuMemcpyPeerAsync = cuMemcpyPeerAsync, "cuMemcpyPeerAsync", 4000, Plain, optional;
                (dst_device: CUdeviceptr, dst_context: CUcontext, src_device: CUdeviceptr, src_context: CUcontext,
                 byte_count: usize, h_stream: CUstream)]
            [copy cuMemcpyPeerAsync_ptsz = cuMemcpyPeerAsync, "cuMemcpyPeerAsync", 7000, Ptsz, optional;
                (dst_device: CUdeviceptr, dst_context: CUcontext, src_device: CUdeviceptr, src_context: CUcontext,
                 byte_count: usize, h_stream: CUstream)]
            [copy cuMemcpy3DPeer = cuMemcpy3DPeer, "cuMemcpy3DPeer", 4000, Plain, optional;
                (p_copy: *const CUDA_MEMCPY3D_PEER)]
            [copy cuMemcpy3DPeer_ptds = cuMemcpy3DPeer, "cuMemcpy3DPeer", 7000, Ptds, optional;
                (p_copy: *const CUDA_MEMCPY3D_PEER)]
            [copy cuMemcpy3DPeerAsync = cuMemcpy3DPeerAsync, "cuMemcpy3DPeerAsync", 4000, Plain, optional;
                (p_copy: *const CUDA_MEMCPY3D_PEER, h_stream: CUstream)]
            [copy cuMemcpy3DPeerAsync_ptsz = cuMemcpy3DPeerAsync, "cuMemcpy3DPeerAsync", 7000, Ptsz, optional;
                (p_copy: *const CUDA_MEMCPY3D_PEER, h_stream: CUstream)]
            [copy cuMemcpyBatchAsync = cuMemcpyBatchAsync, "cuMemcpyBatchAsync", 12080, Plain, optional;
                (dsts: *mut CUdeviceptr, srcs: *mut CUdeviceptr, sizes: *mut usize, count: usize,
                 attrs: *mut CUmemcpyAttributes, attrs_idxs: *mut usize, num_attrs: usize, fail_idx: *mut usize,
                 h_stream: CUstream)]
            [copy cuMemcpyBatchAsync_ptsz = cuMemcpyBatchAsync, "cuMemcpyBatchAsync", 12080, Ptsz, optional;
                (dsts: *mut CUdeviceptr, srcs: *mut CUdeviceptr, sizes: *mut usize, count: usize,
                 attrs: *mut CUmemcpyAttributes, attrs_idxs: *mut usize, num_attrs: usize, fail_idx: *mut usize,
                 h_stream: CUstream)]
            [copy cuMemcpyBatchAsync_v2 = cuMemcpyBatchAsync_v2, "cuMemcpyBatchAsync", 13000, Plain, optional;
                (dsts: *mut CUdeviceptr, srcs: *mut CUdeviceptr, sizes: *mut usize, count: usize,
                 attrs: *mut CUmemcpyAttributes, attrs_idxs: *mut usize, num_attrs: usize, h_stream: CUstream)]
            [copy cuMemcpyBatchAsync_v2_ptsz = cuMemcpyBatchAsync_v2, "cuMemcpyBatchAsync", 13000, Ptsz, optional;
                (dsts: *mut CUdeviceptr, srcs: *mut CUdeviceptr, sizes: *mut usize, count: usize,
                 attrs: *mut CUmemcpyAttributes, attrs_idxs: *mut usize, num_attrs: usize, h_stream: CUstream)]
            [copy cuMemcpy3DBatchAsync = cuMemcpy3DBatchAsync, "cuMemcpy3DBatchAsync", 12080, Plain, optional;
                (num_ops: usize, op_list: *mut CUDA_MEMCPY3D_BATCH_OP, fail_idx: *mut usize, flags: c_ulonglong,
                 h_stream: CUstream)]
            [copy cuMemcpy3DBatchAsync_ptsz = cuMemcpy3DBatchAsync, "cuMemcpy3DBatchAsync", 12080, Ptsz, optional;
                (num_ops: usize, op_list: *mut CUDA_MEMCPY3D_BATCH_OP, fail_idx: *mut usize, flags: c_ulonglong,
                 h_stream: CUstream)]
            [copy cuMemcpy3DBatchAsync_v2 = cuMemcpy3DBatchAsync_v2, "cuMemcpy3DBatchAsync", 13000, Plain, optional;
                (num_ops: usize, op_list: *mut CUDA_MEMCPY3D_BATCH_OP, flags: c_ulonglong, h_stream: CUstream)]
            [copy cuMemcpy3DBatchAsync_v2_ptsz = cuMemcpy3DBatchAsync_v2, "cuMemcpy3DBatchAsync", 13000, Ptsz, optional;
                (num_ops: usize, op_list: *mut CUDA_MEMCPY3D_BATCH_OP, flags: c_ulonglong, h_stream: CUstream)]
            [copy cuMemPrefetchAsync = cuMemPrefetchAsync, "cuMemPrefetchAsync", 8000, Plain, optional;
                (dev_ptr: CUdeviceptr, count: usize, dst_device: CUdevice, h_stream: CUstream)]
            [copy cuMemPrefetchAsync_ptsz = cuMemPrefetchAsync, "cuMemPrefetchAsync", 8000, Ptsz, optional;
                (dev_ptr: CUdeviceptr, count: usize, dst_device: CUdevice, h_stream: CUstream)]
            [copy cuMemPrefetchAsync_v2 = cuMemPrefetchAsync_v2, "cuMemPrefetchAsync", 12020, Plain, optional;
                (dev_ptr: CUdeviceptr, count: usize, location: CUmemLocation, flags: c_uint, h_stream: CUstream)]
            [copy cuMemPrefetchAsync_v2_ptsz = cuMemPrefetchAsync_v2, "cuMemPrefetchAsync", 12020, Ptsz, optional;
                (dev_ptr: CUdeviceptr, count: usize, location: CUmemLocation, flags: c_uint, h_stream: CUstream)]
            [copy cuMemPrefetchBatchAsync = cuMemPrefetchBatchAsync, "cuMemPrefetchBatchAsync", 13000, Plain, optional;
                (dptrs: *mut CUdeviceptr, sizes: *mut usize, count: usize, prefetch_locs: *mut CUmemLocation,
                 prefetch_loc_idxs: *mut usize, num_prefetch_locs: usize, flags: c_ulonglong, h_stream: CUstream)]
            [copy cuMemPrefetchBatchAsync_ptsz = cuMemPrefetchBatchAsync,
                "cuMemPrefetchBatchAsync", 13000, Ptsz, optional;
                (dptrs: *mut CUdeviceptr, sizes: *mut usize, count: usize, prefetch_locs: *mut CUmemLocation,
                 prefetch_loc_idxs: *mut usize, num_prefetch_locs: usize, flags: c_ulonglong, h_stream: CUstream)]
            [copy cuMemDiscardBatchAsync = cuMemDiscardBatchAsync, "cuMemDiscardBatchAsync", 13000, Plain, optional;
                (dptrs: *mut CUdeviceptr, sizes: *mut usize, count: usize, flags: c_ulonglong, h_stream: CUstream)]
            [copy cuMemDiscardBatchAsync_ptsz = cuMemDiscardBatchAsync, "cuMemDiscardBatchAsync", 13000, Ptsz, optional;
                (dptrs: *mut CUdeviceptr, sizes: *mut usize, count: usize, flags: c_ulonglong, h_stream: CUstream)]
            [copy cuMemDiscardAndPrefetchBatchAsync = cuMemDiscardAndPrefetchBatchAsync,
                "cuMemDiscardAndPrefetchBatchAsync", 13000, Plain, optional;
                (dptrs: *mut CUdeviceptr, sizes: *mut usize, count: usize, prefetch_locs: *mut CUmemLocation,
                 prefetch_loc_idxs: *mut usize, num_prefetch_locs: usize, flags: c_ulonglong, h_stream: CUstream)]
            [copy cuMemDiscardAndPrefetchBatchAsync_ptsz = cuMemDiscardAndPrefetchBatchAsync,
                "cuMemDiscardAndPrefetchBatchAsync", 13000, Ptsz, optional;
                (dptrs: *mut CUdeviceptr, sizes: *mut usize, count: usize, prefetch_locs: *mut CUmemLocation,
                 prefetch_loc_idxs: *mut usize, num_prefetch_locs: usize, flags: c_ulonglong, h_stream: CUstream)]
            [copy cuMemBatchDecompressAsync = cuMemBatchDecompressAsync,
                "cuMemBatchDecompressAsync", 12060, Plain, optional;
                (params_array: *mut CUmemDecompressParams, count: usize, flags: c_uint, error_index: *mut usize,
                 stream: CUstream)]
            [copy cuMemBatchDecompressAsync_ptsz = cuMemBatchDecompressAsync,
                "cuMemBatchDecompressAsync", 12060, Ptsz, optional;
                (params_array: *mut CUmemDecompressParams, count: usize, flags: c_uint, error_index: *mut usize,
                 stream: CUstream)]

            // --- set ---
            [set cuMemsetD8_v2 = cuMemsetD8_v2, "cuMemsetD8", 3020, Plain, optional;
                (dst_device: CUdeviceptr, uc: c_uchar, n: usize)]
            [set cuMemsetD8_v2_ptds = cuMemsetD8_v2, "cuMemsetD8", 7000, Ptds, optional;
                (dst_device: CUdeviceptr, uc: c_uchar, n: usize)]
            [set cuMemsetD8Async = cuMemsetD8Async, "cuMemsetD8Async", 3020, Plain, optional;
                (dst_device: CUdeviceptr, uc: c_uchar, n: usize, h_stream: CUstream)]
            [set cuMemsetD8Async_ptsz = cuMemsetD8Async, "cuMemsetD8Async", 7000, Ptsz, optional;
                (dst_device: CUdeviceptr, uc: c_uchar, n: usize, h_stream: CUstream)]
            [set cuMemsetD2D8_v2 = cuMemsetD2D8_v2, "cuMemsetD2D8", 3020, Plain, optional;
                (dst_device: CUdeviceptr, dst_pitch: usize, uc: c_uchar, width: usize, height: usize)]
            [set cuMemsetD2D8_v2_ptds = cuMemsetD2D8_v2, "cuMemsetD2D8", 7000, Ptds, optional;
                (dst_device: CUdeviceptr, dst_pitch: usize, uc: c_uchar, width: usize, height: usize)]
            [set cuMemsetD2D8Async = cuMemsetD2D8Async, "cuMemsetD2D8Async", 3020, Plain, optional;
                (dst_device: CUdeviceptr, dst_pitch: usize, uc: c_uchar, width: usize, height: usize,
                 h_stream: CUstream)]
            [set cuMemsetD2D8Async_ptsz = cuMemsetD2D8Async, "cuMemsetD2D8Async", 7000, Ptsz, optional;
                (dst_device: CUdeviceptr, dst_pitch: usize, uc: c_uchar, width: usize, height: usize,
                 h_stream: CUstream)]
            [set cuMemsetD16_v2 = cuMemsetD16_v2, "cuMemsetD16", 3020, Plain, optional;
                (dst_device: CUdeviceptr, us: c_ushort, n: usize)]
            [set cuMemsetD16_v2_ptds = cuMemsetD16_v2, "cuMemsetD16", 7000, Ptds, optional;
                (dst_device: CUdeviceptr, us: c_ushort, n: usize)]
            [set cuMemsetD16Async = cuMemsetD16Async, "cuMemsetD16Async", 3020, Plain, optional;
                (dst_device: CUdeviceptr, us: c_ushort, n: usize, h_stream: CUstream)]
            [set cuMemsetD16Async_ptsz = cuMemsetD16Async, "cuMemsetD16Async", 7000, Ptsz, optional;
                (dst_device: CUdeviceptr, us: c_ushort, n: usize, h_stream: CUstream)]
            [set cuMemsetD2D16_v2 = cuMemsetD2D16_v2, "cuMemsetD2D16", 3020, Plain, optional;
                (dst_device: CUdeviceptr, dst_pitch: usize, us: c_ushort, width: usize, height: usize)]
            [set cuMemsetD2D16_v2_ptds = cuMemsetD2D16_v2, "cuMemsetD2D16", 7000, Ptds, optional;
                (dst_device: CUdeviceptr, dst_pitch: usize, us: c_ushort, width: usize, height: usize)]
            [set cuMemsetD2D16Async = cuMemsetD2D16Async, "cuMemsetD2D16Async", 3020, Plain, optional;
                (dst_device: CUdeviceptr, dst_pitch: usize, us: c_ushort, width: usize, height: usize,
                 h_stream: CUstream)]
            [set cuMemsetD2D16Async_ptsz = cuMemsetD2D16Async, "cuMemsetD2D16Async", 7000, Ptsz, optional;
                (dst_device: CUdeviceptr, dst_pitch: usize, us: c_ushort, width: usize, height: usize,
                 h_stream: CUstream)]
            [set cuMemsetD32_v2 = cuMemsetD32_v2, "cuMemsetD32", 3020, Plain, optional;
                (dst_device: CUdeviceptr, ui: c_uint, n: usize)]
            [set cuMemsetD32_v2_ptds = cuMemsetD32_v2, "cuMemsetD32", 7000, Ptds, optional;
                (dst_device: CUdeviceptr, ui: c_uint, n: usize)]
            [set cuMemsetD32Async = cuMemsetD32Async, "cuMemsetD32Async", 3020, Plain, optional;
                (dst_device: CUdeviceptr, ui: c_uint, n: usize, h_stream: CUstream)]
            [set cuMemsetD32Async_ptsz = cuMemsetD32Async, "cuMemsetD32Async", 7000, Ptsz, optional;
                (dst_device: CUdeviceptr, ui: c_uint, n: usize, h_stream: CUstream)]
            [set cuMemsetD2D32_v2 = cuMemsetD2D32_v2, "cuMemsetD2D32", 3020, Plain, optional;
                (dst_device: CUdeviceptr, dst_pitch: usize, ui: c_uint, width: usize, height: usize)]
            [set cuMemsetD2D32_v2_ptds = cuMemsetD2D32_v2, "cuMemsetD2D32", 7000, Ptds, optional;
                (dst_device: CUdeviceptr, dst_pitch: usize, ui: c_uint, width: usize, height: usize)]
            [set cuMemsetD2D32Async = cuMemsetD2D32Async, "cuMemsetD2D32Async", 3020, Plain, optional;
                (dst_device: CUdeviceptr, dst_pitch: usize, ui: c_uint, width: usize, height: usize,
                 h_stream: CUstream)]
            [set cuMemsetD2D32Async_ptsz = cuMemsetD2D32Async, "cuMemsetD2D32Async", 7000, Ptsz, optional;
                (dst_device: CUdeviceptr, dst_pitch: usize, ui: c_uint, width: usize, height: usize,
                 h_stream: CUstream)]

            // --- memop ---
            [memop cuStreamWaitValue32 = cuStreamWaitValue32, "cuStreamWaitValue32", 8000, Plain, optional;
                (stream: CUstream, addr: CUdeviceptr, value: cuuint32_t, flags: c_uint)]
            [memop cuStreamWaitValue32_ptsz = cuStreamWaitValue32, "cuStreamWaitValue32", 8000, Ptsz, optional;
                (stream: CUstream, addr: CUdeviceptr, value: cuuint32_t, flags: c_uint)]
            [memop cuStreamWaitValue32_v2 = cuStreamWaitValue32_v2, "cuStreamWaitValue32", 11070, Plain, optional;
                (stream: CUstream, addr: CUdeviceptr, value: cuuint32_t, flags: c_uint)]
            [memop cuStreamWaitValue32_v2_ptsz = cuStreamWaitValue32_v2, "cuStreamWaitValue32", 11070, Ptsz, optional;
                (stream: CUstream, addr: CUdeviceptr, value: cuuint32_t, flags: c_uint)]
            [memop cuStreamWaitValue64 = cuStreamWaitValue64, "cuStreamWaitValue64", 9000, Plain, optional;
                (stream: CUstream, addr: CUdeviceptr, value: cuuint64_t, flags: c_uint)]
            [memop cuStreamWaitValue64_ptsz = cuStreamWaitValue64, "cuStreamWaitValue64", 9000, Ptsz, optional;
                (stream: CUstream, addr: CUdeviceptr, value: cuuint64_t, flags: c_uint)]
            [memop cuStreamWaitValue64_v2 = cuStreamWaitValue64_v2, "cuStreamWaitValue64", 11070, Plain, optional;
                (stream: CUstream, addr: CUdeviceptr, value: cuuint64_t, flags: c_uint)]
            [memop cuStreamWaitValue64_v2_ptsz = cuStreamWaitValue64_v2, "cuStreamWaitValue64", 11070, Ptsz, optional;
                (stream: CUstream, addr: CUdeviceptr, value: cuuint64_t, flags: c_uint)]
            [memop cuStreamWriteValue32 = cuStreamWriteValue32, "cuStreamWriteValue32", 8000, Plain, optional;
                (stream: CUstream, addr: CUdeviceptr, value: cuuint32_t, flags: c_uint)]
            [memop cuStreamWriteValue32_ptsz = cuStreamWriteValue32, "cuStreamWriteValue32", 8000, Ptsz, optional;
                (stream: CUstream, addr: CUdeviceptr, value: cuuint32_t, flags: c_uint)]
            [memop cuStreamWriteValue32_v2 = cuStreamWriteValue32_v2, "cuStreamWriteValue32", 11070, Plain, optional;
                (stream: CUstream, addr: CUdeviceptr, value: cuuint32_t, flags: c_uint)]
            [memop cuStreamWriteValue32_v2_ptsz = cuStreamWriteValue32_v2,
                "cuStreamWriteValue32", 11070, Ptsz, optional;
                (stream: CUstream, addr: CUdeviceptr, value: cuuint32_t, flags: c_uint)]
            [memop cuStreamWriteValue64 = cuStreamWriteValue64, "cuStreamWriteValue64", 9000, Plain, optional;
                (stream: CUstream, addr: CUdeviceptr, value: cuuint64_t, flags: c_uint)]
            [memop cuStreamWriteValue64_ptsz = cuStreamWriteValue64, "cuStreamWriteValue64", 9000, Ptsz, optional;
                (stream: CUstream, addr: CUdeviceptr, value: cuuint64_t, flags: c_uint)]
            [memop cuStreamWriteValue64_v2 = cuStreamWriteValue64_v2, "cuStreamWriteValue64", 11070, Plain, optional;
                (stream: CUstream, addr: CUdeviceptr, value: cuuint64_t, flags: c_uint)]
            [memop cuStreamWriteValue64_v2_ptsz = cuStreamWriteValue64_v2,
                "cuStreamWriteValue64", 11070, Ptsz, optional;
                (stream: CUstream, addr: CUdeviceptr, value: cuuint64_t, flags: c_uint)]
            [memop cuStreamBatchMemOp = cuStreamBatchMemOp, "cuStreamBatchMemOp", 8000, Plain, optional;
                (stream: CUstream, count: c_uint, param_array: *mut CUstreamBatchMemOpParams, flags: c_uint)]
            [memop cuStreamBatchMemOp_ptsz = cuStreamBatchMemOp, "cuStreamBatchMemOp", 8000, Ptsz, optional;
                (stream: CUstream, count: c_uint, param_array: *mut CUstreamBatchMemOpParams, flags: c_uint)]
            [memop cuStreamBatchMemOp_v2 = cuStreamBatchMemOp_v2, "cuStreamBatchMemOp", 11070, Plain, optional;
                (stream: CUstream, count: c_uint, param_array: *mut CUstreamBatchMemOpParams, flags: c_uint)]
            [memop cuStreamBatchMemOp_v2_ptsz = cuStreamBatchMemOp_v2, "cuStreamBatchMemOp", 11070, Ptsz, optional;
                (stream: CUstream, count: c_uint, param_array: *mut CUstreamBatchMemOpParams, flags: c_uint)]
            [memop cuImportExternalSemaphore = cuImportExternalSemaphore,
                "cuImportExternalSemaphore", 10000, Plain, optional;
                (ext_sem_out: *mut CUexternalSemaphore, sem_handle_desc: *const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC)]
            [memop cuSignalExternalSemaphoresAsync = cuSignalExternalSemaphoresAsync,
                "cuSignalExternalSemaphoresAsync", 10000, Plain, optional;
                (ext_sem_array: *const CUexternalSemaphore, params_array: *const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS,
                 num_ext_sems: c_uint, stream: CUstream)]
            [memop cuSignalExternalSemaphoresAsync_ptsz = cuSignalExternalSemaphoresAsync,
                "cuSignalExternalSemaphoresAsync", 10000, Ptsz, optional;
                (ext_sem_array: *const CUexternalSemaphore, params_array: *const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS,
                 num_ext_sems: c_uint, stream: CUstream)]
            [memop cuWaitExternalSemaphoresAsync = cuWaitExternalSemaphoresAsync,
                "cuWaitExternalSemaphoresAsync", 10000, Plain, optional;
                (ext_sem_array: *const CUexternalSemaphore, params_array: *const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS,
                 num_ext_sems: c_uint, stream: CUstream)]
            [memop cuWaitExternalSemaphoresAsync_ptsz = cuWaitExternalSemaphoresAsync,
                "cuWaitExternalSemaphoresAsync", 10000, Ptsz, optional;
                (ext_sem_array: *const CUexternalSemaphore, params_array: *const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS,
                 num_ext_sems: c_uint, stream: CUstream)]
            [memop cuDestroyExternalSemaphore = cuDestroyExternalSemaphore,
                "cuDestroyExternalSemaphore", 10000, Plain, optional; (ext_sem: CUexternalSemaphore)]

            // --- module ---
            [module cuModuleLoad = cuModuleLoad, "cuModuleLoad", 2000, Plain, optional;
                (module: *mut CUmodule, fname: *const c_char)]
            [module cuModuleLoadData = cuModuleLoadData, "cuModuleLoadData", 2000, Plain, optional;
                (module: *mut CUmodule, image: *const c_void)]
            [module cuModuleLoadDataEx = cuModuleLoadDataEx, "cuModuleLoadDataEx", 2010, Plain, optional;
                (module: *mut CUmodule, image: *const c_void, num_options: c_uint, options: *mut CUjit_option,
                 option_values: *mut *mut c_void)]
            [module cuModuleLoadFatBinary = cuModuleLoadFatBinary, "cuModuleLoadFatBinary", 2000, Plain, optional;
                (module: *mut CUmodule, fat_cubin: *const c_void)]
            [module cuModuleUnload = cuModuleUnload, "cuModuleUnload", 2000, Plain, optional; (hmod: CUmodule)]
            [module cuModuleGetFunction = cuModuleGetFunction, "cuModuleGetFunction", 2000, Plain, optional;
                (hfunc: *mut CUfunction, hmod: CUmodule, name: *const c_char)]
            [module cuModuleGetGlobal_v2 = cuModuleGetGlobal_v2, "cuModuleGetGlobal", 3020, Plain, optional;
                (dptr: *mut CUdeviceptr, bytes: *mut usize, hmod: CUmodule, name: *const c_char)]
            [module cuFuncGetParamInfo = cuFuncGetParamInfo, "cuFuncGetParamInfo", 12040, Plain, optional;
                (func: CUfunction, param_index: usize, param_offset: *mut usize, param_size: *mut usize)]
            [module cuFuncGetAttribute = cuFuncGetAttribute, "cuFuncGetAttribute", 2020, Plain, optional;
                (pi: *mut c_int, attrib: CUfunction_attribute, hfunc: CUfunction)]
            [module cuFuncSetAttribute = cuFuncSetAttribute, "cuFuncSetAttribute", 9000, Plain, optional;
                (hfunc: CUfunction, attrib: CUfunction_attribute, value: c_int)]
            [module cuOccupancyMaxActiveBlocksPerMultiprocessor = cuOccupancyMaxActiveBlocksPerMultiprocessor,
                "cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050, Plain, optional;
                (num_blocks: *mut c_int, func: CUfunction, block_size: c_int, dynamic_s_mem_size: usize)]
            [module cuLaunchKernel = cuLaunchKernel, "cuLaunchKernel", 4000, Plain, optional;
                (f: CUfunction, grid_dim_x: c_uint, grid_dim_y: c_uint, grid_dim_z: c_uint, block_dim_x: c_uint,
                 block_dim_y: c_uint, block_dim_z: c_uint, shared_mem_bytes: c_uint, h_stream: CUstream,
                 kernel_params: *mut *mut c_void, extra: *mut *mut c_void)]
            [module cuLaunchKernel_ptsz = cuLaunchKernel, "cuLaunchKernel", 7000, Ptsz, optional;
                (f: CUfunction, grid_dim_x: c_uint, grid_dim_y: c_uint, grid_dim_z: c_uint, block_dim_x: c_uint,
                 block_dim_y: c_uint, block_dim_z: c_uint, shared_mem_bytes: c_uint, h_stream: CUstream,
                 kernel_params: *mut *mut c_void, extra: *mut *mut c_void)]
            [module cuLaunchKernelEx = cuLaunchKernelEx, "cuLaunchKernelEx", 11060, Plain, optional;
                (config: *const CUlaunchConfig, f: CUfunction, kernel_params: *mut *mut c_void,
                 extra: *mut *mut c_void)]
            [module cuLaunchKernelEx_ptsz = cuLaunchKernelEx, "cuLaunchKernelEx", 11060, Ptsz, optional;
                (config: *const CUlaunchConfig, f: CUfunction, kernel_params: *mut *mut c_void,
                 extra: *mut *mut c_void)]
            [module cuLaunchCooperativeKernel = cuLaunchCooperativeKernel,
                "cuLaunchCooperativeKernel", 9000, Plain, optional;
                (f: CUfunction, grid_dim_x: c_uint, grid_dim_y: c_uint, grid_dim_z: c_uint, block_dim_x: c_uint,
                 block_dim_y: c_uint, block_dim_z: c_uint, shared_mem_bytes: c_uint, h_stream: CUstream,
                 kernel_params: *mut *mut c_void)]
            [module cuLaunchCooperativeKernel_ptsz = cuLaunchCooperativeKernel,
                "cuLaunchCooperativeKernel", 9000, Ptsz, optional;
                (f: CUfunction, grid_dim_x: c_uint, grid_dim_y: c_uint, grid_dim_z: c_uint, block_dim_x: c_uint,
                 block_dim_y: c_uint, block_dim_z: c_uint, shared_mem_bytes: c_uint, h_stream: CUstream,
                 kernel_params: *mut *mut c_void)]
            [module cuLaunchHostFunc = cuLaunchHostFunc, "cuLaunchHostFunc", 10000, Plain, optional;
                (h_stream: CUstream, function: CUhostFn, user_data: *mut c_void)]
            [module cuLaunchHostFunc_ptsz = cuLaunchHostFunc, "cuLaunchHostFunc", 10000, Ptsz, optional;
                (h_stream: CUstream, function: CUhostFn, user_data: *mut c_void)]

            // --- graph ---
            [graph cuGraphCreate = cuGraphCreate, "cuGraphCreate", 10000, Plain, optional;
                (ph_graph: *mut CUgraph, flags: c_uint)]
            [graph cuGraphDestroy = cuGraphDestroy, "cuGraphDestroy", 10000, Plain, optional; (h_graph: CUgraph)]
            [graph cuGraphGetNodes = cuGraphGetNodes, "cuGraphGetNodes", 10000, Plain, optional;
                (h_graph: CUgraph, nodes: *mut CUgraphNode, num_nodes: *mut usize)]
            [graph cuGraphNodeGetType = cuGraphNodeGetType, "cuGraphNodeGetType", 10000, Plain, optional;
                (h_node: CUgraphNode, kind: *mut CUgraphNodeType)]
            [graph cuGraphInstantiateWithFlags = cuGraphInstantiateWithFlags,
                "cuGraphInstantiateWithFlags", 11040, Plain, optional;
                (ph_graph_exec: *mut CUgraphExec, h_graph: CUgraph, flags: c_ulonglong)]
            [graph cuGraphLaunch = cuGraphLaunch, "cuGraphLaunch", 10000, Plain, optional;
                (h_graph: CUgraphExec, h_stream: CUstream)]
            [graph cuGraphLaunch_ptsz = cuGraphLaunch, "cuGraphLaunch", 10000, Ptsz, optional;
                (h_graph_exec: CUgraphExec, h_stream: CUstream)]
            [graph cuGraphExecDestroy = cuGraphExecDestroy, "cuGraphExecDestroy", 10000, Plain, optional;
                (h_graph_exec: CUgraphExec)]
        }
    };
}

#[cfg(test)]
#[allow(nonstandard_style)]
mod tests {
    use crate::prototypes::of;
    use crate::types::*;

    macro_rules! compare {
        ({} $([$noun:ident $symbol:ident = $plain:ident, $base:literal, $version:literal,
            $flavour:ident, $need:ident; ($($argument:ident: $type:ty),*)])*) => {
            // Compiles only where the row's prototype is the header's for its name, version and flavour.
            $(const _: fn(of::$symbol) -> Option<unsafe extern "C" fn($($type),*) -> CUresult> = |header| header;)*
        };
    }
    crate::for_each_driver_function! { compare }
}
