// Generated from cudaTypedefs.h of CUDA 13.0 by `cargo xtask codegen`. Do not edit.

use crate::types::*;

pub type PFN_cuGetErrorString_v6000 =
    ::core::option::Option<unsafe extern "C" fn(error: CUresult, pStr: *mut *const ::core::ffi::c_char) -> CUresult>;
pub type PFN_cuGetErrorName_v6000 =
    ::core::option::Option<unsafe extern "C" fn(error: CUresult, pStr: *mut *const ::core::ffi::c_char) -> CUresult>;
pub type PFN_cuInit_v2000 = ::core::option::Option<unsafe extern "C" fn(Flags: ::core::ffi::c_uint) -> CUresult>;
pub type PFN_cuDriverGetVersion_v2020 =
    ::core::option::Option<unsafe extern "C" fn(driverVersion: *mut ::core::ffi::c_int) -> CUresult>;
pub type PFN_cuDeviceGet_v2000 =
    ::core::option::Option<unsafe extern "C" fn(device: *mut CUdevice_v1, ordinal: ::core::ffi::c_int) -> CUresult>;
pub type PFN_cuDeviceGetCount_v2000 =
    ::core::option::Option<unsafe extern "C" fn(count: *mut ::core::ffi::c_int) -> CUresult>;
pub type PFN_cuDeviceGetName_v2000 = ::core::option::Option<
    unsafe extern "C" fn(name: *mut ::core::ffi::c_char, len: ::core::ffi::c_int, dev: CUdevice_v1) -> CUresult,
>;
pub type PFN_cuDeviceGetUuid_v9020 =
    ::core::option::Option<unsafe extern "C" fn(uuid: *mut CUuuid, dev: CUdevice_v1) -> CUresult>;
pub type PFN_cuDeviceGetUuid_v11040 =
    ::core::option::Option<unsafe extern "C" fn(uuid: *mut CUuuid, dev: CUdevice_v1) -> CUresult>;
pub type PFN_cuDeviceTotalMem_v3020 =
    ::core::option::Option<unsafe extern "C" fn(bytes: *mut usize, dev: CUdevice_v1) -> CUresult>;
pub type PFN_cuDeviceGetAttribute_v2000 = ::core::option::Option<
    unsafe extern "C" fn(pi: *mut ::core::ffi::c_int, attrib: CUdevice_attribute, dev: CUdevice_v1) -> CUresult,
>;
pub type PFN_cuDeviceSetMemPool_v11020 =
    ::core::option::Option<unsafe extern "C" fn(dev: CUdevice_v1, pool: CUmemoryPool) -> CUresult>;
pub type PFN_cuDeviceGetMemPool_v11020 =
    ::core::option::Option<unsafe extern "C" fn(pool: *mut CUmemoryPool, dev: CUdevice_v1) -> CUresult>;
pub type PFN_cuDeviceGetDefaultMemPool_v11020 =
    ::core::option::Option<unsafe extern "C" fn(pool_out: *mut CUmemoryPool, dev: CUdevice_v1) -> CUresult>;
pub type PFN_cuDevicePrimaryCtxRetain_v7000 =
    ::core::option::Option<unsafe extern "C" fn(pctx: *mut CUcontext, dev: CUdevice_v1) -> CUresult>;
pub type PFN_cuDevicePrimaryCtxRelease_v11000 =
    ::core::option::Option<unsafe extern "C" fn(dev: CUdevice_v1) -> CUresult>;
pub type PFN_cuDevicePrimaryCtxSetFlags_v11000 =
    ::core::option::Option<unsafe extern "C" fn(dev: CUdevice_v1, flags: ::core::ffi::c_uint) -> CUresult>;
pub type PFN_cuDevicePrimaryCtxGetState_v7000 = ::core::option::Option<
    unsafe extern "C" fn(
        dev: CUdevice_v1,
        flags: *mut ::core::ffi::c_uint,
        active: *mut ::core::ffi::c_int,
    ) -> CUresult,
>;
pub type PFN_cuDevicePrimaryCtxReset_v11000 =
    ::core::option::Option<unsafe extern "C" fn(dev: CUdevice_v1) -> CUresult>;
pub type PFN_cuCtxCreate_v3020 = ::core::option::Option<
    unsafe extern "C" fn(pctx: *mut CUcontext, flags: ::core::ffi::c_uint, dev: CUdevice_v1) -> CUresult,
>;
pub type PFN_cuCtxCreate_v12050 = ::core::option::Option<
    unsafe extern "C" fn(
        pctx: *mut CUcontext,
        ctxCreateParams: *mut CUctxCreateParams,
        flags: ::core::ffi::c_uint,
        dev: CUdevice,
    ) -> CUresult,
>;
pub type PFN_cuCtxGetId_v12000 =
    ::core::option::Option<unsafe extern "C" fn(ctx: CUcontext, ctxId: *mut ::core::ffi::c_ulonglong) -> CUresult>;
pub type PFN_cuCtxDestroy_v4000 = ::core::option::Option<unsafe extern "C" fn(ctx: CUcontext) -> CUresult>;
pub type PFN_cuCtxPushCurrent_v4000 = ::core::option::Option<unsafe extern "C" fn(ctx: CUcontext) -> CUresult>;
pub type PFN_cuCtxPopCurrent_v4000 = ::core::option::Option<unsafe extern "C" fn(pctx: *mut CUcontext) -> CUresult>;
pub type PFN_cuCtxSetCurrent_v4000 = ::core::option::Option<unsafe extern "C" fn(ctx: CUcontext) -> CUresult>;
pub type PFN_cuCtxGetCurrent_v4000 = ::core::option::Option<unsafe extern "C" fn(pctx: *mut CUcontext) -> CUresult>;
pub type PFN_cuCtxGetDevice_v2000 = ::core::option::Option<unsafe extern "C" fn(device: *mut CUdevice_v1) -> CUresult>;
pub type PFN_cuCtxGetDevice_v13000 =
    ::core::option::Option<unsafe extern "C" fn(device: *mut CUdevice, ctx: CUcontext) -> CUresult>;
pub type PFN_cuCtxGetFlags_v7000 =
    ::core::option::Option<unsafe extern "C" fn(flags: *mut ::core::ffi::c_uint) -> CUresult>;
pub type PFN_cuCtxSetFlags_v12010 =
    ::core::option::Option<unsafe extern "C" fn(flags: ::core::ffi::c_uint) -> CUresult>;
pub type PFN_cuCtxSynchronize_v2000 = ::core::option::Option<unsafe extern "C" fn() -> CUresult>;
pub type PFN_cuCtxSynchronize_v13000 = ::core::option::Option<unsafe extern "C" fn(ctx: CUcontext) -> CUresult>;
pub type PFN_cuCtxSetLimit_v3010 =
    ::core::option::Option<unsafe extern "C" fn(limit: CUlimit, value: usize) -> CUresult>;
pub type PFN_cuCtxGetLimit_v3010 =
    ::core::option::Option<unsafe extern "C" fn(pvalue: *mut usize, limit: CUlimit) -> CUresult>;
pub type PFN_cuCtxGetApiVersion_v3020 =
    ::core::option::Option<unsafe extern "C" fn(ctx: CUcontext, version: *mut ::core::ffi::c_uint) -> CUresult>;
pub type PFN_cuCtxGetStreamPriorityRange_v5050 = ::core::option::Option<
    unsafe extern "C" fn(leastPriority: *mut ::core::ffi::c_int, greatestPriority: *mut ::core::ffi::c_int) -> CUresult,
>;
pub type PFN_cuModuleLoad_v2000 =
    ::core::option::Option<unsafe extern "C" fn(module: *mut CUmodule, fname: *const ::core::ffi::c_char) -> CUresult>;
pub type PFN_cuModuleLoadData_v2000 =
    ::core::option::Option<unsafe extern "C" fn(module: *mut CUmodule, image: *const ::core::ffi::c_void) -> CUresult>;
pub type PFN_cuModuleLoadDataEx_v2010 = ::core::option::Option<
    unsafe extern "C" fn(
        module: *mut CUmodule,
        image: *const ::core::ffi::c_void,
        numOptions: ::core::ffi::c_uint,
        options: *mut CUjit_option,
        optionValues: *mut *mut ::core::ffi::c_void,
    ) -> CUresult,
>;
pub type PFN_cuModuleLoadFatBinary_v2000 = ::core::option::Option<
    unsafe extern "C" fn(module: *mut CUmodule, fatCubin: *const ::core::ffi::c_void) -> CUresult,
>;
pub type PFN_cuModuleUnload_v2000 = ::core::option::Option<unsafe extern "C" fn(hmod: CUmodule) -> CUresult>;
pub type PFN_cuModuleGetFunction_v2000 = ::core::option::Option<
    unsafe extern "C" fn(hfunc: *mut CUfunction, hmod: CUmodule, name: *const ::core::ffi::c_char) -> CUresult,
>;
pub type PFN_cuModuleGetGlobal_v3020 = ::core::option::Option<
    unsafe extern "C" fn(
        dptr: *mut CUdeviceptr_v2,
        bytes: *mut usize,
        hmod: CUmodule,
        name: *const ::core::ffi::c_char,
    ) -> CUresult,
>;
pub type PFN_cuMemGetInfo_v3020 =
    ::core::option::Option<unsafe extern "C" fn(free: *mut usize, total: *mut usize) -> CUresult>;
pub type PFN_cuMemAlloc_v3020 =
    ::core::option::Option<unsafe extern "C" fn(dptr: *mut CUdeviceptr_v2, bytesize: usize) -> CUresult>;
pub type PFN_cuMemAllocPitch_v3020 = ::core::option::Option<
    unsafe extern "C" fn(
        dptr: *mut CUdeviceptr_v2,
        pPitch: *mut usize,
        WidthInBytes: usize,
        Height: usize,
        ElementSizeBytes: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuMemFree_v3020 = ::core::option::Option<unsafe extern "C" fn(dptr: CUdeviceptr_v2) -> CUresult>;
pub type PFN_cuMemGetAddressRange_v3020 = ::core::option::Option<
    unsafe extern "C" fn(pbase: *mut CUdeviceptr_v2, psize: *mut usize, dptr: CUdeviceptr_v2) -> CUresult,
>;
pub type PFN_cuMemAllocHost_v3020 =
    ::core::option::Option<unsafe extern "C" fn(pp: *mut *mut ::core::ffi::c_void, bytesize: usize) -> CUresult>;
pub type PFN_cuMemFreeHost_v2000 =
    ::core::option::Option<unsafe extern "C" fn(p: *mut ::core::ffi::c_void) -> CUresult>;
pub type PFN_cuMemHostAlloc_v2020 = ::core::option::Option<
    unsafe extern "C" fn(pp: *mut *mut ::core::ffi::c_void, bytesize: usize, Flags: ::core::ffi::c_uint) -> CUresult,
>;
pub type PFN_cuMemHostGetDevicePointer_v3020 = ::core::option::Option<
    unsafe extern "C" fn(
        pdptr: *mut CUdeviceptr_v2,
        p: *mut ::core::ffi::c_void,
        Flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuMemHostGetFlags_v2030 = ::core::option::Option<
    unsafe extern "C" fn(pFlags: *mut ::core::ffi::c_uint, p: *mut ::core::ffi::c_void) -> CUresult,
>;
pub type PFN_cuMemAllocManaged_v6000 = ::core::option::Option<
    unsafe extern "C" fn(dptr: *mut CUdeviceptr_v2, bytesize: usize, flags: ::core::ffi::c_uint) -> CUresult,
>;
pub type PFN_cuDeviceGetByPCIBusId_v4010 = ::core::option::Option<
    unsafe extern "C" fn(dev: *mut CUdevice_v1, pciBusId: *const ::core::ffi::c_char) -> CUresult,
>;
pub type PFN_cuDeviceGetPCIBusId_v4010 = ::core::option::Option<
    unsafe extern "C" fn(pciBusId: *mut ::core::ffi::c_char, len: ::core::ffi::c_int, dev: CUdevice_v1) -> CUresult,
>;
pub type PFN_cuMemHostRegister_v6050 = ::core::option::Option<
    unsafe extern "C" fn(p: *mut ::core::ffi::c_void, bytesize: usize, Flags: ::core::ffi::c_uint) -> CUresult,
>;
pub type PFN_cuMemHostUnregister_v4000 =
    ::core::option::Option<unsafe extern "C" fn(p: *mut ::core::ffi::c_void) -> CUresult>;
pub type PFN_cuMemcpy_v7000_ptds = ::core::option::Option<
    unsafe extern "C" fn(dst: CUdeviceptr_v2, src: CUdeviceptr_v2, ByteCount: usize) -> CUresult,
>;
pub type PFN_cuMemcpyPeer_v7000_ptds = ::core::option::Option<
    unsafe extern "C" fn(
        dstDevice: CUdeviceptr_v2,
        dstContext: CUcontext,
        srcDevice: CUdeviceptr_v2,
        srcContext: CUcontext,
        ByteCount: usize,
    ) -> CUresult,
>;
pub type PFN_cuMemcpyHtoD_v7000_ptds = ::core::option::Option<
    unsafe extern "C" fn(dstDevice: CUdeviceptr_v2, srcHost: *const ::core::ffi::c_void, ByteCount: usize) -> CUresult,
>;
pub type PFN_cuMemcpyDtoH_v7000_ptds = ::core::option::Option<
    unsafe extern "C" fn(dstHost: *mut ::core::ffi::c_void, srcDevice: CUdeviceptr_v2, ByteCount: usize) -> CUresult,
>;
pub type PFN_cuMemcpyDtoD_v7000_ptds = ::core::option::Option<
    unsafe extern "C" fn(dstDevice: CUdeviceptr_v2, srcDevice: CUdeviceptr_v2, ByteCount: usize) -> CUresult,
>;
pub type PFN_cuMemcpyDtoA_v7000_ptds = ::core::option::Option<
    unsafe extern "C" fn(dstArray: CUarray, dstOffset: usize, srcDevice: CUdeviceptr_v2, ByteCount: usize) -> CUresult,
>;
pub type PFN_cuMemcpyAtoD_v7000_ptds = ::core::option::Option<
    unsafe extern "C" fn(dstDevice: CUdeviceptr_v2, srcArray: CUarray, srcOffset: usize, ByteCount: usize) -> CUresult,
>;
pub type PFN_cuMemcpyHtoA_v7000_ptds = ::core::option::Option<
    unsafe extern "C" fn(
        dstArray: CUarray,
        dstOffset: usize,
        srcHost: *const ::core::ffi::c_void,
        ByteCount: usize,
    ) -> CUresult,
>;
pub type PFN_cuMemcpyAtoH_v7000_ptds = ::core::option::Option<
    unsafe extern "C" fn(
        dstHost: *mut ::core::ffi::c_void,
        srcArray: CUarray,
        srcOffset: usize,
        ByteCount: usize,
    ) -> CUresult,
>;
pub type PFN_cuMemcpyAtoA_v7000_ptds = ::core::option::Option<
    unsafe extern "C" fn(
        dstArray: CUarray,
        dstOffset: usize,
        srcArray: CUarray,
        srcOffset: usize,
        ByteCount: usize,
    ) -> CUresult,
>;
pub type PFN_cuMemcpy2D_v7000_ptds =
    ::core::option::Option<unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY2D_v2) -> CUresult>;
pub type PFN_cuMemcpy2DUnaligned_v7000_ptds =
    ::core::option::Option<unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY2D_v2) -> CUresult>;
pub type PFN_cuMemcpy3D_v7000_ptds =
    ::core::option::Option<unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY3D_v2) -> CUresult>;
pub type PFN_cuMemcpy3DPeer_v7000_ptds =
    ::core::option::Option<unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY3D_PEER_v1) -> CUresult>;
pub type PFN_cuMemcpyAsync_v7000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(dst: CUdeviceptr_v2, src: CUdeviceptr_v2, ByteCount: usize, hStream: CUstream) -> CUresult,
>;
pub type PFN_cuMemcpyPeerAsync_v7000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        dstDevice: CUdeviceptr_v2,
        dstContext: CUcontext,
        srcDevice: CUdeviceptr_v2,
        srcContext: CUcontext,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemcpyHtoDAsync_v7000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        dstDevice: CUdeviceptr_v2,
        srcHost: *const ::core::ffi::c_void,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemcpyDtoHAsync_v7000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        dstHost: *mut ::core::ffi::c_void,
        srcDevice: CUdeviceptr_v2,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemcpyDtoDAsync_v7000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        dstDevice: CUdeviceptr_v2,
        srcDevice: CUdeviceptr_v2,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemcpyHtoAAsync_v7000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        dstArray: CUarray,
        dstOffset: usize,
        srcHost: *const ::core::ffi::c_void,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemcpyAtoHAsync_v7000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        dstHost: *mut ::core::ffi::c_void,
        srcArray: CUarray,
        srcOffset: usize,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemcpy2DAsync_v7000_ptsz =
    ::core::option::Option<unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY2D_v2, hStream: CUstream) -> CUresult>;
pub type PFN_cuMemcpy3DAsync_v7000_ptsz =
    ::core::option::Option<unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY3D_v2, hStream: CUstream) -> CUresult>;
pub type PFN_cuMemcpy3DPeerAsync_v7000_ptsz =
    ::core::option::Option<unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY3D_PEER_v1, hStream: CUstream) -> CUresult>;
pub type PFN_cuMemcpyBatchAsync_v12080_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        dsts: *mut CUdeviceptr_v2,
        srcs: *mut CUdeviceptr_v2,
        sizes: *mut usize,
        count: usize,
        attrs: *mut CUmemcpyAttributes_v1,
        attrIdxs: *mut usize,
        numAttrs: usize,
        failIdx: *mut usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemcpy3DBatchAsync_v12080_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        numParams: usize,
        opList: *mut CUDA_MEMCPY3D_BATCH_OP_v1,
        failIdx: *mut usize,
        flags: ::core::ffi::c_ulonglong,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemcpyBatchAsync_v13000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        dsts: *mut CUdeviceptr_v2,
        srcs: *mut CUdeviceptr_v2,
        sizes: *mut usize,
        count: usize,
        attrs: *mut CUmemcpyAttributes_v1,
        attrIdxs: *mut usize,
        numAttrs: usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemcpy3DBatchAsync_v13000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        numParams: usize,
        opList: *mut CUDA_MEMCPY3D_BATCH_OP_v1,
        flags: ::core::ffi::c_ulonglong,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemsetD8_v7000_ptds = ::core::option::Option<
    unsafe extern "C" fn(dstDevice: CUdeviceptr_v2, uc: ::core::ffi::c_uchar, N: usize) -> CUresult,
>;
pub type PFN_cuMemsetD16_v7000_ptds = ::core::option::Option<
    unsafe extern "C" fn(dstDevice: CUdeviceptr_v2, us: ::core::ffi::c_ushort, N: usize) -> CUresult,
>;
pub type PFN_cuMemsetD32_v7000_ptds = ::core::option::Option<
    unsafe extern "C" fn(dstDevice: CUdeviceptr_v2, ui: ::core::ffi::c_uint, N: usize) -> CUresult,
>;
pub type PFN_cuMemsetD2D8_v7000_ptds = ::core::option::Option<
    unsafe extern "C" fn(
        dstDevice: CUdeviceptr_v2,
        dstPitch: usize,
        uc: ::core::ffi::c_uchar,
        Width: usize,
        Height: usize,
    ) -> CUresult,
>;
pub type PFN_cuMemsetD2D16_v7000_ptds = ::core::option::Option<
    unsafe extern "C" fn(
        dstDevice: CUdeviceptr_v2,
        dstPitch: usize,
        us: ::core::ffi::c_ushort,
        Width: usize,
        Height: usize,
    ) -> CUresult,
>;
pub type PFN_cuMemsetD2D32_v7000_ptds = ::core::option::Option<
    unsafe extern "C" fn(
        dstDevice: CUdeviceptr_v2,
        dstPitch: usize,
        ui: ::core::ffi::c_uint,
        Width: usize,
        Height: usize,
    ) -> CUresult,
>;
pub type PFN_cuMemsetD8Async_v7000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(dstDevice: CUdeviceptr_v2, uc: ::core::ffi::c_uchar, N: usize, hStream: CUstream) -> CUresult,
>;
pub type PFN_cuMemsetD16Async_v7000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(dstDevice: CUdeviceptr_v2, us: ::core::ffi::c_ushort, N: usize, hStream: CUstream) -> CUresult,
>;
pub type PFN_cuMemsetD32Async_v7000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(dstDevice: CUdeviceptr_v2, ui: ::core::ffi::c_uint, N: usize, hStream: CUstream) -> CUresult,
>;
pub type PFN_cuMemsetD2D8Async_v7000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        dstDevice: CUdeviceptr_v2,
        dstPitch: usize,
        uc: ::core::ffi::c_uchar,
        Width: usize,
        Height: usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemsetD2D16Async_v7000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        dstDevice: CUdeviceptr_v2,
        dstPitch: usize,
        us: ::core::ffi::c_ushort,
        Width: usize,
        Height: usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemsetD2D32Async_v7000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        dstDevice: CUdeviceptr_v2,
        dstPitch: usize,
        ui: ::core::ffi::c_uint,
        Width: usize,
        Height: usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemFreeAsync_v11020_ptsz =
    ::core::option::Option<unsafe extern "C" fn(dptr: CUdeviceptr_v2, hStream: CUstream) -> CUresult>;
pub type PFN_cuMemAllocAsync_v11020_ptsz = ::core::option::Option<
    unsafe extern "C" fn(dptr: *mut CUdeviceptr_v2, bytesize: usize, hStream: CUstream) -> CUresult,
>;
pub type PFN_cuMemAllocFromPoolAsync_v11020_ptsz = ::core::option::Option<
    unsafe extern "C" fn(dptr: *mut CUdeviceptr_v2, bytesize: usize, pool: CUmemoryPool, hStream: CUstream) -> CUresult,
>;
pub type PFN_cuPointerGetAttribute_v4000 = ::core::option::Option<
    unsafe extern "C" fn(
        data: *mut ::core::ffi::c_void,
        attribute: CUpointer_attribute,
        ptr: CUdeviceptr_v2,
    ) -> CUresult,
>;
pub type PFN_cuMemPrefetchAsync_v8000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(devPtr: CUdeviceptr_v2, count: usize, dstDevice: CUdevice_v1, hStream: CUstream) -> CUresult,
>;
pub type PFN_cuMemPrefetchAsync_v12020_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        devPtr: CUdeviceptr_v2,
        count: usize,
        location: CUmemLocation_v1,
        flags: ::core::ffi::c_uint,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemPrefetchBatchAsync_v13000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        dptrs: *mut CUdeviceptr_v2,
        sizes: *mut usize,
        count: usize,
        prefetchLocs: *mut CUmemLocation_v1,
        prefetchLocIdxs: *mut usize,
        numPrefetchLocs: usize,
        flags: ::core::ffi::c_ulonglong,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemDiscardBatchAsync_v13000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        dptrs: *mut CUdeviceptr_v2,
        sizes: *mut usize,
        count: usize,
        flags: ::core::ffi::c_ulonglong,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemDiscardAndPrefetchBatchAsync_v13000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        dptrs: *mut CUdeviceptr_v2,
        sizes: *mut usize,
        count: usize,
        prefetchLocs: *mut CUmemLocation_v1,
        prefetchLocIdxs: *mut usize,
        numPrefetchLocs: usize,
        flags: ::core::ffi::c_ulonglong,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuPointerSetAttribute_v6000 = ::core::option::Option<
    unsafe extern "C" fn(
        value: *const ::core::ffi::c_void,
        attribute: CUpointer_attribute,
        ptr: CUdeviceptr_v2,
    ) -> CUresult,
>;
pub type PFN_cuPointerGetAttributes_v7000 = ::core::option::Option<
    unsafe extern "C" fn(
        numAttributes: ::core::ffi::c_uint,
        attributes: *mut CUpointer_attribute,
        data: *mut *mut ::core::ffi::c_void,
        ptr: CUdeviceptr_v2,
    ) -> CUresult,
>;
pub type PFN_cuStreamCreate_v2000 =
    ::core::option::Option<unsafe extern "C" fn(phStream: *mut CUstream, Flags: ::core::ffi::c_uint) -> CUresult>;
pub type PFN_cuStreamCreateWithPriority_v5050 = ::core::option::Option<
    unsafe extern "C" fn(phStream: *mut CUstream, flags: ::core::ffi::c_uint, priority: ::core::ffi::c_int) -> CUresult,
>;
pub type PFN_cuStreamGetId_v12000 = ::core::option::Option<
    unsafe extern "C" fn(hStream: CUstream, streamId: *mut ::core::ffi::c_ulonglong) -> CUresult,
>;
pub type PFN_cuStreamGetId_v12000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(hStream: CUstream, streamId: *mut ::core::ffi::c_ulonglong) -> CUresult,
>;
pub type PFN_cuStreamGetPriority_v7000_ptsz =
    ::core::option::Option<unsafe extern "C" fn(hStream: CUstream, priority: *mut ::core::ffi::c_int) -> CUresult>;
pub type PFN_cuStreamGetFlags_v7000_ptsz =
    ::core::option::Option<unsafe extern "C" fn(hStream: CUstream, flags: *mut ::core::ffi::c_uint) -> CUresult>;
pub type PFN_cuStreamGetCtx_v9020_ptsz =
    ::core::option::Option<unsafe extern "C" fn(hStream: CUstream, pctx: *mut CUcontext) -> CUresult>;
pub type PFN_cuStreamWaitEvent_v7000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(hStream: CUstream, hEvent: CUevent, Flags: ::core::ffi::c_uint) -> CUresult,
>;
pub type PFN_cuStreamAddCallback_v7000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        hStream: CUstream,
        callback: CUstreamCallback,
        userData: *mut ::core::ffi::c_void,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamBeginCapture_v10010_ptsz =
    ::core::option::Option<unsafe extern "C" fn(hStream: CUstream, mode: CUstreamCaptureMode) -> CUresult>;
pub type PFN_cuStreamBeginCaptureToGraph_v12030_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        hStream: CUstream,
        hGraph: CUgraph,
        dependencies: *const CUgraphNode,
        dependencyData: *const CUgraphEdgeData,
        numDependencies: usize,
        mode: CUstreamCaptureMode,
    ) -> CUresult,
>;
pub type PFN_cuThreadExchangeStreamCaptureMode_v10010 =
    ::core::option::Option<unsafe extern "C" fn(mode: *mut CUstreamCaptureMode) -> CUresult>;
pub type PFN_cuStreamEndCapture_v10000_ptsz =
    ::core::option::Option<unsafe extern "C" fn(hStream: CUstream, phGraph: *mut CUgraph) -> CUresult>;
pub type PFN_cuStreamIsCapturing_v10000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(hStream: CUstream, captureStatus: *mut CUstreamCaptureStatus) -> CUresult,
>;
pub type PFN_cuStreamGetCaptureInfo_v11030_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        hStream: CUstream,
        captureStatus_out: *mut CUstreamCaptureStatus,
        id_out: *mut cuuint64_t,
        graph_out: *mut CUgraph,
        dependencies_out: *mut *const CUgraphNode,
        numDependencies_out: *mut usize,
    ) -> CUresult,
>;
pub type PFN_cuStreamGetCaptureInfo_v12030_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        hStream: CUstream,
        captureStatus_out: *mut CUstreamCaptureStatus,
        id_out: *mut cuuint64_t,
        graph_out: *mut CUgraph,
        dependencies_out: *mut *const CUgraphNode,
        edgeData_out: *mut *const CUgraphEdgeData,
        numDependencies_out: *mut usize,
    ) -> CUresult,
>;
pub type PFN_cuStreamAttachMemAsync_v7000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        hStream: CUstream,
        dptr: CUdeviceptr_v2,
        length: usize,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamQuery_v7000_ptsz = ::core::option::Option<unsafe extern "C" fn(hStream: CUstream) -> CUresult>;
pub type PFN_cuStreamSynchronize_v7000_ptsz =
    ::core::option::Option<unsafe extern "C" fn(hStream: CUstream) -> CUresult>;
pub type PFN_cuStreamDestroy_v4000 = ::core::option::Option<unsafe extern "C" fn(hStream: CUstream) -> CUresult>;
pub type PFN_cuEventCreate_v2000 =
    ::core::option::Option<unsafe extern "C" fn(phEvent: *mut CUevent, Flags: ::core::ffi::c_uint) -> CUresult>;
pub type PFN_cuEventRecord_v7000_ptsz =
    ::core::option::Option<unsafe extern "C" fn(hEvent: CUevent, hStream: CUstream) -> CUresult>;
pub type PFN_cuEventRecordWithFlags_v11010_ptsz = ::core::option::Option<
    unsafe extern "C" fn(hEvent: CUevent, hStream: CUstream, flags: ::core::ffi::c_uint) -> CUresult,
>;
pub type PFN_cuEventQuery_v2000 = ::core::option::Option<unsafe extern "C" fn(hEvent: CUevent) -> CUresult>;
pub type PFN_cuEventSynchronize_v2000 = ::core::option::Option<unsafe extern "C" fn(hEvent: CUevent) -> CUresult>;
pub type PFN_cuEventDestroy_v4000 = ::core::option::Option<unsafe extern "C" fn(hEvent: CUevent) -> CUresult>;
pub type PFN_cuEventElapsedTime_v2000 =
    ::core::option::Option<unsafe extern "C" fn(pMilliseconds: *mut f32, hStart: CUevent, hEnd: CUevent) -> CUresult>;
pub type PFN_cuEventElapsedTime_v12080 =
    ::core::option::Option<unsafe extern "C" fn(pMilliseconds: *mut f32, hStart: CUevent, hEnd: CUevent) -> CUresult>;
pub type PFN_cuImportExternalMemory_v10000 = ::core::option::Option<
    unsafe extern "C" fn(
        extMem_out: *mut CUexternalMemory,
        memHandleDesc: *const CUDA_EXTERNAL_MEMORY_HANDLE_DESC_v1,
    ) -> CUresult,
>;
pub type PFN_cuExternalMemoryGetMappedBuffer_v10000 = ::core::option::Option<
    unsafe extern "C" fn(
        devPtr: *mut CUdeviceptr_v2,
        extMem: CUexternalMemory,
        bufferDesc: *const CUDA_EXTERNAL_MEMORY_BUFFER_DESC_v1,
    ) -> CUresult,
>;
pub type PFN_cuDestroyExternalMemory_v10000 =
    ::core::option::Option<unsafe extern "C" fn(extMem: CUexternalMemory) -> CUresult>;
pub type PFN_cuImportExternalSemaphore_v10000 = ::core::option::Option<
    unsafe extern "C" fn(
        extSem_out: *mut CUexternalSemaphore,
        semHandleDesc: *const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_v1,
    ) -> CUresult,
>;
pub type PFN_cuSignalExternalSemaphoresAsync_v10000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        extSemArray: *const CUexternalSemaphore,
        paramsArray: *const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_v1,
        numExtSems: ::core::ffi::c_uint,
        stream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuWaitExternalSemaphoresAsync_v10000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        extSemArray: *const CUexternalSemaphore,
        paramsArray: *const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_v1,
        numExtSems: ::core::ffi::c_uint,
        stream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuDestroyExternalSemaphore_v10000 =
    ::core::option::Option<unsafe extern "C" fn(extSem: CUexternalSemaphore) -> CUresult>;
pub type PFN_cuStreamWaitValue32_v8000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        stream: CUstream,
        addr: CUdeviceptr_v2,
        value: cuuint32_t,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamWaitValue64_v9000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        stream: CUstream,
        addr: CUdeviceptr_v2,
        value: cuuint64_t,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamWriteValue32_v8000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        stream: CUstream,
        addr: CUdeviceptr_v2,
        value: cuuint32_t,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamWriteValue64_v9000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        stream: CUstream,
        addr: CUdeviceptr_v2,
        value: cuuint64_t,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamBatchMemOp_v8000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        stream: CUstream,
        count: ::core::ffi::c_uint,
        paramArray: *mut CUstreamBatchMemOpParams_v1,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamWaitValue32_v11070_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        stream: CUstream,
        addr: CUdeviceptr_v2,
        value: cuuint32_t,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamWaitValue64_v11070_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        stream: CUstream,
        addr: CUdeviceptr_v2,
        value: cuuint64_t,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamWriteValue32_v11070_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        stream: CUstream,
        addr: CUdeviceptr_v2,
        value: cuuint32_t,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamWriteValue64_v11070_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        stream: CUstream,
        addr: CUdeviceptr_v2,
        value: cuuint64_t,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamBatchMemOp_v11070_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        stream: CUstream,
        count: ::core::ffi::c_uint,
        paramArray: *mut CUstreamBatchMemOpParams,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuFuncGetAttribute_v2020 = ::core::option::Option<
    unsafe extern "C" fn(pi: *mut ::core::ffi::c_int, attrib: CUfunction_attribute, hfunc: CUfunction) -> CUresult,
>;
pub type PFN_cuFuncSetAttribute_v9000 = ::core::option::Option<
    unsafe extern "C" fn(hfunc: CUfunction, attrib: CUfunction_attribute, value: ::core::ffi::c_int) -> CUresult,
>;
pub type PFN_cuFuncGetParamInfo_v12040 = ::core::option::Option<
    unsafe extern "C" fn(
        func: CUfunction,
        paramIndex: usize,
        paramOffset: *mut usize,
        paramSize: *mut usize,
    ) -> CUresult,
>;
pub type PFN_cuLaunchKernel_v7000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        f: CUfunction,
        gridDimX: ::core::ffi::c_uint,
        gridDimY: ::core::ffi::c_uint,
        gridDimZ: ::core::ffi::c_uint,
        blockDimX: ::core::ffi::c_uint,
        blockDimY: ::core::ffi::c_uint,
        blockDimZ: ::core::ffi::c_uint,
        sharedMemBytes: ::core::ffi::c_uint,
        hStream: CUstream,
        kernelParams: *mut *mut ::core::ffi::c_void,
        extra: *mut *mut ::core::ffi::c_void,
    ) -> CUresult,
>;
pub type PFN_cuLaunchKernelEx_v11060_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        config: *const CUlaunchConfig,
        f: CUfunction,
        kernelParams: *mut *mut ::core::ffi::c_void,
        extra: *mut *mut ::core::ffi::c_void,
    ) -> CUresult,
>;
pub type PFN_cuLaunchCooperativeKernel_v9000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        f: CUfunction,
        gridDimX: ::core::ffi::c_uint,
        gridDimY: ::core::ffi::c_uint,
        gridDimZ: ::core::ffi::c_uint,
        blockDimX: ::core::ffi::c_uint,
        blockDimY: ::core::ffi::c_uint,
        blockDimZ: ::core::ffi::c_uint,
        sharedMemBytes: ::core::ffi::c_uint,
        hStream: CUstream,
        kernelParams: *mut *mut ::core::ffi::c_void,
    ) -> CUresult,
>;
pub type PFN_cuLaunchHostFunc_v10000_ptsz = ::core::option::Option<
    unsafe extern "C" fn(hStream: CUstream, fn_: CUhostFn, userData: *mut ::core::ffi::c_void) -> CUresult,
>;
pub type PFN_cuGraphCreate_v10000 =
    ::core::option::Option<unsafe extern "C" fn(phGraph: *mut CUgraph, flags: ::core::ffi::c_uint) -> CUresult>;
pub type PFN_cuGraphNodeGetType_v10000 =
    ::core::option::Option<unsafe extern "C" fn(hNode: CUgraphNode, type_: *mut CUgraphNodeType) -> CUresult>;
pub type PFN_cuGraphGetNodes_v10000 = ::core::option::Option<
    unsafe extern "C" fn(hGraph: CUgraph, nodes: *mut CUgraphNode, numNodes: *mut usize) -> CUresult,
>;
pub type PFN_cuGraphInstantiateWithFlags_v11040 = ::core::option::Option<
    unsafe extern "C" fn(phGraphExec: *mut CUgraphExec, hGraph: CUgraph, flags: ::core::ffi::c_ulonglong) -> CUresult,
>;
pub type PFN_cuGraphLaunch_v10000_ptsz =
    ::core::option::Option<unsafe extern "C" fn(hGraphExec: CUgraphExec, hStream: CUstream) -> CUresult>;
pub type PFN_cuGraphExecDestroy_v10000 =
    ::core::option::Option<unsafe extern "C" fn(hGraphExec: CUgraphExec) -> CUresult>;
pub type PFN_cuGraphDestroy_v10000 = ::core::option::Option<unsafe extern "C" fn(hGraph: CUgraph) -> CUresult>;
pub type PFN_cuOccupancyMaxActiveBlocksPerMultiprocessor_v6050 = ::core::option::Option<
    unsafe extern "C" fn(
        numBlocks: *mut ::core::ffi::c_int,
        func: CUfunction,
        blockSize: ::core::ffi::c_int,
        dynamicSMemSize: usize,
    ) -> CUresult,
>;
pub type PFN_cuDeviceCanAccessPeer_v4000 = ::core::option::Option<
    unsafe extern "C" fn(canAccessPeer: *mut ::core::ffi::c_int, dev: CUdevice_v1, peerDev: CUdevice_v1) -> CUresult,
>;
pub type PFN_cuCtxEnablePeerAccess_v4000 =
    ::core::option::Option<unsafe extern "C" fn(peerContext: CUcontext, Flags: ::core::ffi::c_uint) -> CUresult>;
pub type PFN_cuCtxDisablePeerAccess_v4000 =
    ::core::option::Option<unsafe extern "C" fn(peerContext: CUcontext) -> CUresult>;
pub type PFN_cuDeviceGetP2PAttribute_v8000 = ::core::option::Option<
    unsafe extern "C" fn(
        value: *mut ::core::ffi::c_int,
        attrib: CUdevice_P2PAttribute,
        srcDevice: CUdevice_v1,
        dstDevice: CUdevice_v1,
    ) -> CUresult,
>;
pub type PFN_cuGetExportTable_v3000 = ::core::option::Option<
    unsafe extern "C" fn(ppExportTable: *mut *const ::core::ffi::c_void, pExportTableId: *const CUuuid) -> CUresult,
>;
pub type PFN_cuGetProcAddress_v11030 = ::core::option::Option<
    unsafe extern "C" fn(
        symbol: *const ::core::ffi::c_char,
        pfn: *mut *mut ::core::ffi::c_void,
        driverVersion: ::core::ffi::c_int,
        flags: cuuint64_t,
    ) -> CUresult,
>;
pub type PFN_cuGetProcAddress_v12000 = ::core::option::Option<
    unsafe extern "C" fn(
        symbol: *const ::core::ffi::c_char,
        pfn: *mut *mut ::core::ffi::c_void,
        driverVersion: ::core::ffi::c_int,
        flags: cuuint64_t,
        symbolFound: *mut CUdriverProcAddressQueryResult,
    ) -> CUresult,
>;
pub type PFN_cuMemcpyHtoD_v3020 = ::core::option::Option<
    unsafe extern "C" fn(dstDevice: CUdeviceptr_v2, srcHost: *const ::core::ffi::c_void, ByteCount: usize) -> CUresult,
>;
pub type PFN_cuMemcpyDtoH_v3020 = ::core::option::Option<
    unsafe extern "C" fn(dstHost: *mut ::core::ffi::c_void, srcDevice: CUdeviceptr_v2, ByteCount: usize) -> CUresult,
>;
pub type PFN_cuMemcpyDtoD_v3020 = ::core::option::Option<
    unsafe extern "C" fn(dstDevice: CUdeviceptr_v2, srcDevice: CUdeviceptr_v2, ByteCount: usize) -> CUresult,
>;
pub type PFN_cuMemcpyDtoA_v3020 = ::core::option::Option<
    unsafe extern "C" fn(dstArray: CUarray, dstOffset: usize, srcDevice: CUdeviceptr_v2, ByteCount: usize) -> CUresult,
>;
pub type PFN_cuMemcpyAtoD_v3020 = ::core::option::Option<
    unsafe extern "C" fn(dstDevice: CUdeviceptr_v2, srcArray: CUarray, srcOffset: usize, ByteCount: usize) -> CUresult,
>;
pub type PFN_cuMemcpyHtoA_v3020 = ::core::option::Option<
    unsafe extern "C" fn(
        dstArray: CUarray,
        dstOffset: usize,
        srcHost: *const ::core::ffi::c_void,
        ByteCount: usize,
    ) -> CUresult,
>;
pub type PFN_cuMemcpyAtoH_v3020 = ::core::option::Option<
    unsafe extern "C" fn(
        dstHost: *mut ::core::ffi::c_void,
        srcArray: CUarray,
        srcOffset: usize,
        ByteCount: usize,
    ) -> CUresult,
>;
pub type PFN_cuMemcpyAtoA_v3020 = ::core::option::Option<
    unsafe extern "C" fn(
        dstArray: CUarray,
        dstOffset: usize,
        srcArray: CUarray,
        srcOffset: usize,
        ByteCount: usize,
    ) -> CUresult,
>;
pub type PFN_cuMemcpyHtoAAsync_v3020 = ::core::option::Option<
    unsafe extern "C" fn(
        dstArray: CUarray,
        dstOffset: usize,
        srcHost: *const ::core::ffi::c_void,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemcpyAtoHAsync_v3020 = ::core::option::Option<
    unsafe extern "C" fn(
        dstHost: *mut ::core::ffi::c_void,
        srcArray: CUarray,
        srcOffset: usize,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemcpy2D_v3020 =
    ::core::option::Option<unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY2D_v2) -> CUresult>;
pub type PFN_cuMemcpy2DUnaligned_v3020 =
    ::core::option::Option<unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY2D_v2) -> CUresult>;
pub type PFN_cuMemcpy3D_v3020 =
    ::core::option::Option<unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY3D_v2) -> CUresult>;
pub type PFN_cuMemcpyHtoDAsync_v3020 = ::core::option::Option<
    unsafe extern "C" fn(
        dstDevice: CUdeviceptr_v2,
        srcHost: *const ::core::ffi::c_void,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemcpyDtoHAsync_v3020 = ::core::option::Option<
    unsafe extern "C" fn(
        dstHost: *mut ::core::ffi::c_void,
        srcDevice: CUdeviceptr_v2,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemcpyDtoDAsync_v3020 = ::core::option::Option<
    unsafe extern "C" fn(
        dstDevice: CUdeviceptr_v2,
        srcDevice: CUdeviceptr_v2,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemcpy2DAsync_v3020 =
    ::core::option::Option<unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY2D_v2, hStream: CUstream) -> CUresult>;
pub type PFN_cuMemcpy3DAsync_v3020 =
    ::core::option::Option<unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY3D_v2, hStream: CUstream) -> CUresult>;
pub type PFN_cuMemsetD8_v3020 = ::core::option::Option<
    unsafe extern "C" fn(dstDevice: CUdeviceptr_v2, uc: ::core::ffi::c_uchar, N: usize) -> CUresult,
>;
pub type PFN_cuMemsetD16_v3020 = ::core::option::Option<
    unsafe extern "C" fn(dstDevice: CUdeviceptr_v2, us: ::core::ffi::c_ushort, N: usize) -> CUresult,
>;
pub type PFN_cuMemsetD32_v3020 = ::core::option::Option<
    unsafe extern "C" fn(dstDevice: CUdeviceptr_v2, ui: ::core::ffi::c_uint, N: usize) -> CUresult,
>;
pub type PFN_cuMemsetD2D8_v3020 = ::core::option::Option<
    unsafe extern "C" fn(
        dstDevice: CUdeviceptr_v2,
        dstPitch: usize,
        uc: ::core::ffi::c_uchar,
        Width: usize,
        Height: usize,
    ) -> CUresult,
>;
pub type PFN_cuMemsetD2D16_v3020 = ::core::option::Option<
    unsafe extern "C" fn(
        dstDevice: CUdeviceptr_v2,
        dstPitch: usize,
        us: ::core::ffi::c_ushort,
        Width: usize,
        Height: usize,
    ) -> CUresult,
>;
pub type PFN_cuMemsetD2D32_v3020 = ::core::option::Option<
    unsafe extern "C" fn(
        dstDevice: CUdeviceptr_v2,
        dstPitch: usize,
        ui: ::core::ffi::c_uint,
        Width: usize,
        Height: usize,
    ) -> CUresult,
>;
pub type PFN_cuMemcpy_v4000 = ::core::option::Option<
    unsafe extern "C" fn(dst: CUdeviceptr_v2, src: CUdeviceptr_v2, ByteCount: usize) -> CUresult,
>;
pub type PFN_cuMemcpyAsync_v4000 = ::core::option::Option<
    unsafe extern "C" fn(dst: CUdeviceptr_v2, src: CUdeviceptr_v2, ByteCount: usize, hStream: CUstream) -> CUresult,
>;
pub type PFN_cuMemcpyPeer_v4000 = ::core::option::Option<
    unsafe extern "C" fn(
        dstDevice: CUdeviceptr_v2,
        dstContext: CUcontext,
        srcDevice: CUdeviceptr_v2,
        srcContext: CUcontext,
        ByteCount: usize,
    ) -> CUresult,
>;
pub type PFN_cuMemcpyPeerAsync_v4000 = ::core::option::Option<
    unsafe extern "C" fn(
        dstDevice: CUdeviceptr_v2,
        dstContext: CUcontext,
        srcDevice: CUdeviceptr_v2,
        srcContext: CUcontext,
        ByteCount: usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemcpy3DPeer_v4000 =
    ::core::option::Option<unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY3D_PEER_v1) -> CUresult>;
pub type PFN_cuMemcpy3DPeerAsync_v4000 =
    ::core::option::Option<unsafe extern "C" fn(pCopy: *const CUDA_MEMCPY3D_PEER_v1, hStream: CUstream) -> CUresult>;
pub type PFN_cuMemcpyBatchAsync_v12080 = ::core::option::Option<
    unsafe extern "C" fn(
        dsts: *mut CUdeviceptr_v2,
        srcs: *mut CUdeviceptr_v2,
        sizes: *mut usize,
        count: usize,
        attrs: *mut CUmemcpyAttributes_v1,
        attrIdxs: *mut usize,
        numAttrs: usize,
        failIdx: *mut usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemcpy3DBatchAsync_v12080 = ::core::option::Option<
    unsafe extern "C" fn(
        numParams: usize,
        opList: *mut CUDA_MEMCPY3D_BATCH_OP_v1,
        failIdx: *mut usize,
        flags: ::core::ffi::c_ulonglong,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemcpyBatchAsync_v13000 = ::core::option::Option<
    unsafe extern "C" fn(
        dsts: *mut CUdeviceptr_v2,
        srcs: *mut CUdeviceptr_v2,
        sizes: *mut usize,
        count: usize,
        attrs: *mut CUmemcpyAttributes_v1,
        attrIdxs: *mut usize,
        numAttrs: usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemcpy3DBatchAsync_v13000 = ::core::option::Option<
    unsafe extern "C" fn(
        numParams: usize,
        opList: *mut CUDA_MEMCPY3D_BATCH_OP_v1,
        flags: ::core::ffi::c_ulonglong,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemsetD8Async_v3020 = ::core::option::Option<
    unsafe extern "C" fn(dstDevice: CUdeviceptr_v2, uc: ::core::ffi::c_uchar, N: usize, hStream: CUstream) -> CUresult,
>;
pub type PFN_cuMemsetD16Async_v3020 = ::core::option::Option<
    unsafe extern "C" fn(dstDevice: CUdeviceptr_v2, us: ::core::ffi::c_ushort, N: usize, hStream: CUstream) -> CUresult,
>;
pub type PFN_cuMemsetD32Async_v3020 = ::core::option::Option<
    unsafe extern "C" fn(dstDevice: CUdeviceptr_v2, ui: ::core::ffi::c_uint, N: usize, hStream: CUstream) -> CUresult,
>;
pub type PFN_cuMemsetD2D8Async_v3020 = ::core::option::Option<
    unsafe extern "C" fn(
        dstDevice: CUdeviceptr_v2,
        dstPitch: usize,
        uc: ::core::ffi::c_uchar,
        Width: usize,
        Height: usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemsetD2D16Async_v3020 = ::core::option::Option<
    unsafe extern "C" fn(
        dstDevice: CUdeviceptr_v2,
        dstPitch: usize,
        us: ::core::ffi::c_ushort,
        Width: usize,
        Height: usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemsetD2D32Async_v3020 = ::core::option::Option<
    unsafe extern "C" fn(
        dstDevice: CUdeviceptr_v2,
        dstPitch: usize,
        ui: ::core::ffi::c_uint,
        Width: usize,
        Height: usize,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuStreamGetPriority_v5050 =
    ::core::option::Option<unsafe extern "C" fn(hStream: CUstream, priority: *mut ::core::ffi::c_int) -> CUresult>;
pub type PFN_cuStreamGetFlags_v5050 =
    ::core::option::Option<unsafe extern "C" fn(hStream: CUstream, flags: *mut ::core::ffi::c_uint) -> CUresult>;
pub type PFN_cuStreamGetCtx_v9020 =
    ::core::option::Option<unsafe extern "C" fn(hStream: CUstream, pctx: *mut CUcontext) -> CUresult>;
pub type PFN_cuStreamGetDevice_v12080 =
    ::core::option::Option<unsafe extern "C" fn(hStream: CUstream, device: *mut CUdevice) -> CUresult>;
pub type PFN_cuStreamGetDevice_v12080_ptsz =
    ::core::option::Option<unsafe extern "C" fn(hStream: CUstream, device: *mut CUdevice) -> CUresult>;
pub type PFN_cuStreamWaitEvent_v3020 = ::core::option::Option<
    unsafe extern "C" fn(hStream: CUstream, hEvent: CUevent, Flags: ::core::ffi::c_uint) -> CUresult,
>;
pub type PFN_cuStreamAddCallback_v5000 = ::core::option::Option<
    unsafe extern "C" fn(
        hStream: CUstream,
        callback: CUstreamCallback,
        userData: *mut ::core::ffi::c_void,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamAttachMemAsync_v6000 = ::core::option::Option<
    unsafe extern "C" fn(
        hStream: CUstream,
        dptr: CUdeviceptr_v2,
        length: usize,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamQuery_v2000 = ::core::option::Option<unsafe extern "C" fn(hStream: CUstream) -> CUresult>;
pub type PFN_cuStreamSynchronize_v2000 = ::core::option::Option<unsafe extern "C" fn(hStream: CUstream) -> CUresult>;
pub type PFN_cuEventRecord_v2000 =
    ::core::option::Option<unsafe extern "C" fn(hEvent: CUevent, hStream: CUstream) -> CUresult>;
pub type PFN_cuEventRecordWithFlags_v11010 = ::core::option::Option<
    unsafe extern "C" fn(hEvent: CUevent, hStream: CUstream, flags: ::core::ffi::c_uint) -> CUresult,
>;
pub type PFN_cuLaunchKernel_v4000 = ::core::option::Option<
    unsafe extern "C" fn(
        f: CUfunction,
        gridDimX: ::core::ffi::c_uint,
        gridDimY: ::core::ffi::c_uint,
        gridDimZ: ::core::ffi::c_uint,
        blockDimX: ::core::ffi::c_uint,
        blockDimY: ::core::ffi::c_uint,
        blockDimZ: ::core::ffi::c_uint,
        sharedMemBytes: ::core::ffi::c_uint,
        hStream: CUstream,
        kernelParams: *mut *mut ::core::ffi::c_void,
        extra: *mut *mut ::core::ffi::c_void,
    ) -> CUresult,
>;
pub type PFN_cuLaunchKernelEx_v11060 = ::core::option::Option<
    unsafe extern "C" fn(
        config: *const CUlaunchConfig,
        f: CUfunction,
        kernelParams: *mut *mut ::core::ffi::c_void,
        extra: *mut *mut ::core::ffi::c_void,
    ) -> CUresult,
>;
pub type PFN_cuLaunchHostFunc_v10000 = ::core::option::Option<
    unsafe extern "C" fn(hStream: CUstream, fn_: CUhostFn, userData: *mut ::core::ffi::c_void) -> CUresult,
>;
pub type PFN_cuStreamWriteValue32_v8000 = ::core::option::Option<
    unsafe extern "C" fn(
        stream: CUstream,
        addr: CUdeviceptr_v2,
        value: cuuint32_t,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamWaitValue32_v8000 = ::core::option::Option<
    unsafe extern "C" fn(
        stream: CUstream,
        addr: CUdeviceptr_v2,
        value: cuuint32_t,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamWriteValue64_v9000 = ::core::option::Option<
    unsafe extern "C" fn(
        stream: CUstream,
        addr: CUdeviceptr_v2,
        value: cuuint64_t,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamWaitValue64_v9000 = ::core::option::Option<
    unsafe extern "C" fn(
        stream: CUstream,
        addr: CUdeviceptr_v2,
        value: cuuint64_t,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamBatchMemOp_v8000 = ::core::option::Option<
    unsafe extern "C" fn(
        stream: CUstream,
        count: ::core::ffi::c_uint,
        paramArray: *mut CUstreamBatchMemOpParams,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamWriteValue32_v11070 = ::core::option::Option<
    unsafe extern "C" fn(
        stream: CUstream,
        addr: CUdeviceptr_v2,
        value: cuuint32_t,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamWaitValue32_v11070 = ::core::option::Option<
    unsafe extern "C" fn(
        stream: CUstream,
        addr: CUdeviceptr_v2,
        value: cuuint32_t,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamWriteValue64_v11070 = ::core::option::Option<
    unsafe extern "C" fn(
        stream: CUstream,
        addr: CUdeviceptr_v2,
        value: cuuint64_t,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamWaitValue64_v11070 = ::core::option::Option<
    unsafe extern "C" fn(
        stream: CUstream,
        addr: CUdeviceptr_v2,
        value: cuuint64_t,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuStreamBatchMemOp_v11070 = ::core::option::Option<
    unsafe extern "C" fn(
        stream: CUstream,
        count: ::core::ffi::c_uint,
        paramArray: *mut CUstreamBatchMemOpParams,
        flags: ::core::ffi::c_uint,
    ) -> CUresult,
>;
pub type PFN_cuMemPrefetchAsync_v8000 = ::core::option::Option<
    unsafe extern "C" fn(devPtr: CUdeviceptr_v2, count: usize, dstDevice: CUdevice_v1, hStream: CUstream) -> CUresult,
>;
pub type PFN_cuMemPrefetchAsync_v12020 = ::core::option::Option<
    unsafe extern "C" fn(
        devPtr: CUdeviceptr_v2,
        count: usize,
        location: CUmemLocation_v1,
        flags: ::core::ffi::c_uint,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemPrefetchBatchAsync_v13000 = ::core::option::Option<
    unsafe extern "C" fn(
        dptrs: *mut CUdeviceptr_v2,
        sizes: *mut usize,
        count: usize,
        prefetchLocs: *mut CUmemLocation_v1,
        prefetchLocIdxs: *mut usize,
        numPrefetchLocs: usize,
        flags: ::core::ffi::c_ulonglong,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemDiscardBatchAsync_v13000 = ::core::option::Option<
    unsafe extern "C" fn(
        dptrs: *mut CUdeviceptr_v2,
        sizes: *mut usize,
        count: usize,
        flags: ::core::ffi::c_ulonglong,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemDiscardAndPrefetchBatchAsync_v13000 = ::core::option::Option<
    unsafe extern "C" fn(
        dptrs: *mut CUdeviceptr_v2,
        sizes: *mut usize,
        count: usize,
        prefetchLocs: *mut CUmemLocation_v1,
        prefetchLocIdxs: *mut usize,
        numPrefetchLocs: usize,
        flags: ::core::ffi::c_ulonglong,
        hStream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuLaunchCooperativeKernel_v9000 = ::core::option::Option<
    unsafe extern "C" fn(
        f: CUfunction,
        gridDimX: ::core::ffi::c_uint,
        gridDimY: ::core::ffi::c_uint,
        gridDimZ: ::core::ffi::c_uint,
        blockDimX: ::core::ffi::c_uint,
        blockDimY: ::core::ffi::c_uint,
        blockDimZ: ::core::ffi::c_uint,
        sharedMemBytes: ::core::ffi::c_uint,
        hStream: CUstream,
        kernelParams: *mut *mut ::core::ffi::c_void,
    ) -> CUresult,
>;
pub type PFN_cuSignalExternalSemaphoresAsync_v10000 = ::core::option::Option<
    unsafe extern "C" fn(
        extSemArray: *const CUexternalSemaphore,
        paramsArray: *const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_v1,
        numExtSems: ::core::ffi::c_uint,
        stream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuWaitExternalSemaphoresAsync_v10000 = ::core::option::Option<
    unsafe extern "C" fn(
        extSemArray: *const CUexternalSemaphore,
        paramsArray: *const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_v1,
        numExtSems: ::core::ffi::c_uint,
        stream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuStreamBeginCapture_v10010 =
    ::core::option::Option<unsafe extern "C" fn(hStream: CUstream, mode: CUstreamCaptureMode) -> CUresult>;
pub type PFN_cuStreamBeginCaptureToGraph_v12030 = ::core::option::Option<
    unsafe extern "C" fn(
        hStream: CUstream,
        hGraph: CUgraph,
        dependencies: *const CUgraphNode,
        dependencyData: *const CUgraphEdgeData,
        numDependencies: usize,
        mode: CUstreamCaptureMode,
    ) -> CUresult,
>;
pub type PFN_cuStreamEndCapture_v10000 =
    ::core::option::Option<unsafe extern "C" fn(hStream: CUstream, phGraph: *mut CUgraph) -> CUresult>;
pub type PFN_cuStreamIsCapturing_v10000 = ::core::option::Option<
    unsafe extern "C" fn(hStream: CUstream, captureStatus: *mut CUstreamCaptureStatus) -> CUresult,
>;
pub type PFN_cuStreamGetCaptureInfo_v11030 = ::core::option::Option<
    unsafe extern "C" fn(
        hStream: CUstream,
        captureStatus_out: *mut CUstreamCaptureStatus,
        id_out: *mut cuuint64_t,
        graph_out: *mut CUgraph,
        dependencies_out: *mut *const CUgraphNode,
        numDependencies_out: *mut usize,
    ) -> CUresult,
>;
pub type PFN_cuStreamGetCaptureInfo_v12030 = ::core::option::Option<
    unsafe extern "C" fn(
        hStream: CUstream,
        captureStatus_out: *mut CUstreamCaptureStatus,
        id_out: *mut cuuint64_t,
        graph_out: *mut CUgraph,
        dependencies_out: *mut *const CUgraphNode,
        edgeData_out: *mut *const CUgraphEdgeData,
        numDependencies_out: *mut usize,
    ) -> CUresult,
>;
pub type PFN_cuGraphLaunch_v10000 =
    ::core::option::Option<unsafe extern "C" fn(hGraph: CUgraphExec, hStream: CUstream) -> CUresult>;
pub type PFN_cuMemFreeAsync_v11020 =
    ::core::option::Option<unsafe extern "C" fn(dptr: CUdeviceptr_v2, hStream: CUstream) -> CUresult>;
pub type PFN_cuMemAllocAsync_v11020 = ::core::option::Option<
    unsafe extern "C" fn(dptr: *mut CUdeviceptr_v2, bytesize: usize, hStream: CUstream) -> CUresult,
>;
pub type PFN_cuMemAllocFromPoolAsync_v11020 = ::core::option::Option<
    unsafe extern "C" fn(dptr: *mut CUdeviceptr_v2, bytesize: usize, pool: CUmemoryPool, hStream: CUstream) -> CUresult,
>;
pub type PFN_cuStreamGetCtx_v12050 = ::core::option::Option<
    unsafe extern "C" fn(hStream: CUstream, pctx: *mut CUcontext, pGreenCtx: *mut CUgreenCtx) -> CUresult,
>;
pub type PFN_cuStreamGetCtx_v12050_ptsz = ::core::option::Option<
    unsafe extern "C" fn(hStream: CUstream, pctx: *mut CUcontext, pGreenCtx: *mut CUgreenCtx) -> CUresult,
>;
pub type PFN_cuMemBatchDecompressAsync_v12060 = ::core::option::Option<
    unsafe extern "C" fn(
        paramsArray: *mut CUmemDecompressParams,
        count: usize,
        flags: ::core::ffi::c_uint,
        errorIndex: *mut usize,
        stream: CUstream,
    ) -> CUresult,
>;
pub type PFN_cuMemBatchDecompressAsync_v12060_ptsz = ::core::option::Option<
    unsafe extern "C" fn(
        paramsArray: *mut CUmemDecompressParams,
        count: usize,
        flags: ::core::ffi::c_uint,
        errorIndex: *mut usize,
        stream: CUstream,
    ) -> CUresult,
>;
// The prototype of each symbol of the list: the one for its name, version and flavour.
pub mod of {
    pub type cuInit = super::PFN_cuInit_v2000;
    pub type cuDriverGetVersion = super::PFN_cuDriverGetVersion_v2020;
    pub type cuGetErrorName = super::PFN_cuGetErrorName_v6000;
    pub type cuGetErrorString = super::PFN_cuGetErrorString_v6000;
    pub type cuGetProcAddress = super::PFN_cuGetProcAddress_v11030;
    pub type cuGetProcAddress_v2 = super::PFN_cuGetProcAddress_v12000;
    pub type cuGetExportTable = super::PFN_cuGetExportTable_v3000;
    pub type cuDeviceGet = super::PFN_cuDeviceGet_v2000;
    pub type cuDeviceGetCount = super::PFN_cuDeviceGetCount_v2000;
    pub type cuDeviceGetName = super::PFN_cuDeviceGetName_v2000;
    pub type cuDeviceGetUuid = super::PFN_cuDeviceGetUuid_v9020;
    pub type cuDeviceGetUuid_v2 = super::PFN_cuDeviceGetUuid_v11040;
    pub type cuDeviceGetAttribute = super::PFN_cuDeviceGetAttribute_v2000;
    pub type cuDeviceTotalMem_v2 = super::PFN_cuDeviceTotalMem_v3020;
    pub type cuDeviceCanAccessPeer = super::PFN_cuDeviceCanAccessPeer_v4000;
    pub type cuDeviceGetP2PAttribute = super::PFN_cuDeviceGetP2PAttribute_v8000;
    pub type cuDeviceGetPCIBusId = super::PFN_cuDeviceGetPCIBusId_v4010;
    pub type cuDeviceGetByPCIBusId = super::PFN_cuDeviceGetByPCIBusId_v4010;
    pub type cuDeviceGetDefaultMemPool = super::PFN_cuDeviceGetDefaultMemPool_v11020;
    pub type cuDeviceGetMemPool = super::PFN_cuDeviceGetMemPool_v11020;
    pub type cuDeviceSetMemPool = super::PFN_cuDeviceSetMemPool_v11020;
    pub type cuDevicePrimaryCtxRetain = super::PFN_cuDevicePrimaryCtxRetain_v7000;
    pub type cuDevicePrimaryCtxRelease_v2 = super::PFN_cuDevicePrimaryCtxRelease_v11000;
    pub type cuDevicePrimaryCtxSetFlags_v2 = super::PFN_cuDevicePrimaryCtxSetFlags_v11000;
    pub type cuDevicePrimaryCtxGetState = super::PFN_cuDevicePrimaryCtxGetState_v7000;
    pub type cuDevicePrimaryCtxReset_v2 = super::PFN_cuDevicePrimaryCtxReset_v11000;
    pub type cuCtxCreate_v2 = super::PFN_cuCtxCreate_v3020;
    pub type cuCtxCreate_v4 = super::PFN_cuCtxCreate_v12050;
    pub type cuCtxDestroy_v2 = super::PFN_cuCtxDestroy_v4000;
    pub type cuCtxPushCurrent_v2 = super::PFN_cuCtxPushCurrent_v4000;
    pub type cuCtxPopCurrent_v2 = super::PFN_cuCtxPopCurrent_v4000;
    pub type cuCtxSetCurrent = super::PFN_cuCtxSetCurrent_v4000;
    pub type cuCtxGetCurrent = super::PFN_cuCtxGetCurrent_v4000;
    pub type cuCtxGetDevice = super::PFN_cuCtxGetDevice_v2000;
    pub type cuCtxGetDevice_v2 = super::PFN_cuCtxGetDevice_v13000;
    pub type cuCtxGetFlags = super::PFN_cuCtxGetFlags_v7000;
    pub type cuCtxSetFlags = super::PFN_cuCtxSetFlags_v12010;
    pub type cuCtxGetId = super::PFN_cuCtxGetId_v12000;
    pub type cuCtxGetApiVersion = super::PFN_cuCtxGetApiVersion_v3020;
    pub type cuCtxSynchronize = super::PFN_cuCtxSynchronize_v2000;
    pub type cuCtxSynchronize_v2 = super::PFN_cuCtxSynchronize_v13000;
    pub type cuCtxGetLimit = super::PFN_cuCtxGetLimit_v3010;
    pub type cuCtxSetLimit = super::PFN_cuCtxSetLimit_v3010;
    pub type cuCtxGetStreamPriorityRange = super::PFN_cuCtxGetStreamPriorityRange_v5050;
    pub type cuCtxEnablePeerAccess = super::PFN_cuCtxEnablePeerAccess_v4000;
    pub type cuCtxDisablePeerAccess = super::PFN_cuCtxDisablePeerAccess_v4000;
    pub type cuStreamCreate = super::PFN_cuStreamCreate_v2000;
    pub type cuStreamCreateWithPriority = super::PFN_cuStreamCreateWithPriority_v5050;
    pub type cuStreamDestroy_v2 = super::PFN_cuStreamDestroy_v4000;
    pub type cuStreamQuery = super::PFN_cuStreamQuery_v2000;
    pub type cuStreamQuery_ptsz = super::PFN_cuStreamQuery_v7000_ptsz;
    pub type cuStreamSynchronize = super::PFN_cuStreamSynchronize_v2000;
    pub type cuStreamSynchronize_ptsz = super::PFN_cuStreamSynchronize_v7000_ptsz;
    pub type cuStreamGetPriority = super::PFN_cuStreamGetPriority_v5050;
    pub type cuStreamGetPriority_ptsz = super::PFN_cuStreamGetPriority_v7000_ptsz;
    pub type cuStreamGetFlags = super::PFN_cuStreamGetFlags_v5050;
    pub type cuStreamGetFlags_ptsz = super::PFN_cuStreamGetFlags_v7000_ptsz;
    pub type cuStreamGetId = super::PFN_cuStreamGetId_v12000;
    pub type cuStreamGetId_ptsz = super::PFN_cuStreamGetId_v12000_ptsz;
    pub type cuStreamGetCtx = super::PFN_cuStreamGetCtx_v9020;
    pub type cuStreamGetCtx_ptsz = super::PFN_cuStreamGetCtx_v9020_ptsz;
    pub type cuStreamGetCtx_v2 = super::PFN_cuStreamGetCtx_v12050;
    pub type cuStreamGetCtx_v2_ptsz = super::PFN_cuStreamGetCtx_v12050_ptsz;
    pub type cuStreamGetDevice = super::PFN_cuStreamGetDevice_v12080;
    pub type cuStreamGetDevice_ptsz = super::PFN_cuStreamGetDevice_v12080_ptsz;
    pub type cuStreamWaitEvent = super::PFN_cuStreamWaitEvent_v3020;
    pub type cuStreamWaitEvent_ptsz = super::PFN_cuStreamWaitEvent_v7000_ptsz;
    pub type cuStreamAddCallback = super::PFN_cuStreamAddCallback_v5000;
    pub type cuStreamAddCallback_ptsz = super::PFN_cuStreamAddCallback_v7000_ptsz;
    pub type cuStreamAttachMemAsync = super::PFN_cuStreamAttachMemAsync_v6000;
    pub type cuStreamAttachMemAsync_ptsz = super::PFN_cuStreamAttachMemAsync_v7000_ptsz;
    pub type cuStreamBeginCapture_v2 = super::PFN_cuStreamBeginCapture_v10010;
    pub type cuStreamBeginCapture_v2_ptsz = super::PFN_cuStreamBeginCapture_v10010_ptsz;
    pub type cuStreamBeginCaptureToGraph = super::PFN_cuStreamBeginCaptureToGraph_v12030;
    pub type cuStreamBeginCaptureToGraph_ptsz = super::PFN_cuStreamBeginCaptureToGraph_v12030_ptsz;
    pub type cuStreamEndCapture = super::PFN_cuStreamEndCapture_v10000;
    pub type cuStreamEndCapture_ptsz = super::PFN_cuStreamEndCapture_v10000_ptsz;
    pub type cuStreamIsCapturing = super::PFN_cuStreamIsCapturing_v10000;
    pub type cuStreamIsCapturing_ptsz = super::PFN_cuStreamIsCapturing_v10000_ptsz;
    pub type cuStreamGetCaptureInfo_v2 = super::PFN_cuStreamGetCaptureInfo_v11030;
    pub type cuStreamGetCaptureInfo_v2_ptsz = super::PFN_cuStreamGetCaptureInfo_v11030_ptsz;
    pub type cuStreamGetCaptureInfo_v3 = super::PFN_cuStreamGetCaptureInfo_v12030;
    pub type cuStreamGetCaptureInfo_v3_ptsz = super::PFN_cuStreamGetCaptureInfo_v12030_ptsz;
    pub type cuThreadExchangeStreamCaptureMode = super::PFN_cuThreadExchangeStreamCaptureMode_v10010;
    pub type cuEventCreate = super::PFN_cuEventCreate_v2000;
    pub type cuEventDestroy_v2 = super::PFN_cuEventDestroy_v4000;
    pub type cuEventRecord = super::PFN_cuEventRecord_v2000;
    pub type cuEventRecord_ptsz = super::PFN_cuEventRecord_v7000_ptsz;
    pub type cuEventRecordWithFlags = super::PFN_cuEventRecordWithFlags_v11010;
    pub type cuEventRecordWithFlags_ptsz = super::PFN_cuEventRecordWithFlags_v11010_ptsz;
    pub type cuEventQuery = super::PFN_cuEventQuery_v2000;
    pub type cuEventSynchronize = super::PFN_cuEventSynchronize_v2000;
    pub type cuEventElapsedTime = super::PFN_cuEventElapsedTime_v2000;
    pub type cuEventElapsedTime_v2 = super::PFN_cuEventElapsedTime_v12080;
    pub type cuMemAlloc_v2 = super::PFN_cuMemAlloc_v3020;
    pub type cuMemAllocPitch_v2 = super::PFN_cuMemAllocPitch_v3020;
    pub type cuMemAllocManaged = super::PFN_cuMemAllocManaged_v6000;
    pub type cuMemFree_v2 = super::PFN_cuMemFree_v3020;
    pub type cuMemGetInfo_v2 = super::PFN_cuMemGetInfo_v3020;
    pub type cuMemGetAddressRange_v2 = super::PFN_cuMemGetAddressRange_v3020;
    pub type cuMemAllocAsync = super::PFN_cuMemAllocAsync_v11020;
    pub type cuMemAllocAsync_ptsz = super::PFN_cuMemAllocAsync_v11020_ptsz;
    pub type cuMemAllocFromPoolAsync = super::PFN_cuMemAllocFromPoolAsync_v11020;
    pub type cuMemAllocFromPoolAsync_ptsz = super::PFN_cuMemAllocFromPoolAsync_v11020_ptsz;
    pub type cuMemFreeAsync = super::PFN_cuMemFreeAsync_v11020;
    pub type cuMemFreeAsync_ptsz = super::PFN_cuMemFreeAsync_v11020_ptsz;
    pub type cuImportExternalMemory = super::PFN_cuImportExternalMemory_v10000;
    pub type cuExternalMemoryGetMappedBuffer = super::PFN_cuExternalMemoryGetMappedBuffer_v10000;
    pub type cuDestroyExternalMemory = super::PFN_cuDestroyExternalMemory_v10000;
    pub type cuMemAllocHost_v2 = super::PFN_cuMemAllocHost_v3020;
    pub type cuMemHostAlloc = super::PFN_cuMemHostAlloc_v2020;
    pub type cuMemFreeHost = super::PFN_cuMemFreeHost_v2000;
    pub type cuMemHostRegister_v2 = super::PFN_cuMemHostRegister_v6050;
    pub type cuMemHostUnregister = super::PFN_cuMemHostUnregister_v4000;
    pub type cuMemHostGetDevicePointer_v2 = super::PFN_cuMemHostGetDevicePointer_v3020;
    pub type cuMemHostGetFlags = super::PFN_cuMemHostGetFlags_v2030;
    pub type cuPointerGetAttribute = super::PFN_cuPointerGetAttribute_v4000;
    pub type cuPointerGetAttributes = super::PFN_cuPointerGetAttributes_v7000;
    pub type cuPointerSetAttribute = super::PFN_cuPointerSetAttribute_v6000;
    pub type cuMemcpy = super::PFN_cuMemcpy_v4000;
    pub type cuMemcpy_ptds = super::PFN_cuMemcpy_v7000_ptds;
    pub type cuMemcpyAsync = super::PFN_cuMemcpyAsync_v4000;
    pub type cuMemcpyAsync_ptsz = super::PFN_cuMemcpyAsync_v7000_ptsz;
    pub type cuMemcpyHtoD_v2 = super::PFN_cuMemcpyHtoD_v3020;
    pub type cuMemcpyHtoD_v2_ptds = super::PFN_cuMemcpyHtoD_v7000_ptds;
    pub type cuMemcpyDtoH_v2 = super::PFN_cuMemcpyDtoH_v3020;
    pub type cuMemcpyDtoH_v2_ptds = super::PFN_cuMemcpyDtoH_v7000_ptds;
    pub type cuMemcpyDtoD_v2 = super::PFN_cuMemcpyDtoD_v3020;
    pub type cuMemcpyDtoD_v2_ptds = super::PFN_cuMemcpyDtoD_v7000_ptds;
    pub type cuMemcpyDtoA_v2 = super::PFN_cuMemcpyDtoA_v3020;
    pub type cuMemcpyDtoA_v2_ptds = super::PFN_cuMemcpyDtoA_v7000_ptds;
    pub type cuMemcpyAtoD_v2 = super::PFN_cuMemcpyAtoD_v3020;
    pub type cuMemcpyAtoD_v2_ptds = super::PFN_cuMemcpyAtoD_v7000_ptds;
    pub type cuMemcpyHtoA_v2 = super::PFN_cuMemcpyHtoA_v3020;
    pub type cuMemcpyHtoA_v2_ptds = super::PFN_cuMemcpyHtoA_v7000_ptds;
    pub type cuMemcpyAtoH_v2 = super::PFN_cuMemcpyAtoH_v3020;
    pub type cuMemcpyAtoH_v2_ptds = super::PFN_cuMemcpyAtoH_v7000_ptds;
    pub type cuMemcpyAtoA_v2 = super::PFN_cuMemcpyAtoA_v3020;
    pub type cuMemcpyAtoA_v2_ptds = super::PFN_cuMemcpyAtoA_v7000_ptds;
    pub type cuMemcpyHtoDAsync_v2 = super::PFN_cuMemcpyHtoDAsync_v3020;
    pub type cuMemcpyHtoDAsync_v2_ptsz = super::PFN_cuMemcpyHtoDAsync_v7000_ptsz;
    pub type cuMemcpyDtoHAsync_v2 = super::PFN_cuMemcpyDtoHAsync_v3020;
    pub type cuMemcpyDtoHAsync_v2_ptsz = super::PFN_cuMemcpyDtoHAsync_v7000_ptsz;
    pub type cuMemcpyDtoDAsync_v2 = super::PFN_cuMemcpyDtoDAsync_v3020;
    pub type cuMemcpyDtoDAsync_v2_ptsz = super::PFN_cuMemcpyDtoDAsync_v7000_ptsz;
    pub type cuMemcpyHtoAAsync_v2 = super::PFN_cuMemcpyHtoAAsync_v3020;
    pub type cuMemcpyHtoAAsync_v2_ptsz = super::PFN_cuMemcpyHtoAAsync_v7000_ptsz;
    pub type cuMemcpyAtoHAsync_v2 = super::PFN_cuMemcpyAtoHAsync_v3020;
    pub type cuMemcpyAtoHAsync_v2_ptsz = super::PFN_cuMemcpyAtoHAsync_v7000_ptsz;
    pub type cuMemcpy2D_v2 = super::PFN_cuMemcpy2D_v3020;
    pub type cuMemcpy2D_v2_ptds = super::PFN_cuMemcpy2D_v7000_ptds;
    pub type cuMemcpy2DUnaligned_v2 = super::PFN_cuMemcpy2DUnaligned_v3020;
    pub type cuMemcpy2DUnaligned_v2_ptds = super::PFN_cuMemcpy2DUnaligned_v7000_ptds;
    pub type cuMemcpy2DAsync_v2 = super::PFN_cuMemcpy2DAsync_v3020;
    pub type cuMemcpy2DAsync_v2_ptsz = super::PFN_cuMemcpy2DAsync_v7000_ptsz;
    pub type cuMemcpy3D_v2 = super::PFN_cuMemcpy3D_v3020;
    pub type cuMemcpy3D_v2_ptds = super::PFN_cuMemcpy3D_v7000_ptds;
    pub type cuMemcpy3DAsync_v2 = super::PFN_cuMemcpy3DAsync_v3020;
    pub type cuMemcpy3DAsync_v2_ptsz = super::PFN_cuMemcpy3DAsync_v7000_ptsz;
    pub type cuMemcpyPeer = super::PFN_cuMemcpyPeer_v4000;
    pub type cuMemcpyPeer_ptds = super::PFN_cuMemcpyPeer_v7000_ptds;
    pub type cuMemcpyPeerAsync = super::PFN_cuMemcpyPeerAsync_v4000;
    pub type cuMemcpyPeerAsync_ptsz = super::PFN_cuMemcpyPeerAsync_v7000_ptsz;
    pub type cuMemcpy3DPeer = super::PFN_cuMemcpy3DPeer_v4000;
    pub type cuMemcpy3DPeer_ptds = super::PFN_cuMemcpy3DPeer_v7000_ptds;
    pub type cuMemcpy3DPeerAsync = super::PFN_cuMemcpy3DPeerAsync_v4000;
    pub type cuMemcpy3DPeerAsync_ptsz = super::PFN_cuMemcpy3DPeerAsync_v7000_ptsz;
    pub type cuMemcpyBatchAsync = super::PFN_cuMemcpyBatchAsync_v12080;
    pub type cuMemcpyBatchAsync_ptsz = super::PFN_cuMemcpyBatchAsync_v12080_ptsz;
    pub type cuMemcpyBatchAsync_v2 = super::PFN_cuMemcpyBatchAsync_v13000;
    pub type cuMemcpyBatchAsync_v2_ptsz = super::PFN_cuMemcpyBatchAsync_v13000_ptsz;
    pub type cuMemcpy3DBatchAsync = super::PFN_cuMemcpy3DBatchAsync_v12080;
    pub type cuMemcpy3DBatchAsync_ptsz = super::PFN_cuMemcpy3DBatchAsync_v12080_ptsz;
    pub type cuMemcpy3DBatchAsync_v2 = super::PFN_cuMemcpy3DBatchAsync_v13000;
    pub type cuMemcpy3DBatchAsync_v2_ptsz = super::PFN_cuMemcpy3DBatchAsync_v13000_ptsz;
    pub type cuMemPrefetchAsync = super::PFN_cuMemPrefetchAsync_v8000;
    pub type cuMemPrefetchAsync_ptsz = super::PFN_cuMemPrefetchAsync_v8000_ptsz;
    pub type cuMemPrefetchAsync_v2 = super::PFN_cuMemPrefetchAsync_v12020;
    pub type cuMemPrefetchAsync_v2_ptsz = super::PFN_cuMemPrefetchAsync_v12020_ptsz;
    pub type cuMemPrefetchBatchAsync = super::PFN_cuMemPrefetchBatchAsync_v13000;
    pub type cuMemPrefetchBatchAsync_ptsz = super::PFN_cuMemPrefetchBatchAsync_v13000_ptsz;
    pub type cuMemDiscardBatchAsync = super::PFN_cuMemDiscardBatchAsync_v13000;
    pub type cuMemDiscardBatchAsync_ptsz = super::PFN_cuMemDiscardBatchAsync_v13000_ptsz;
    pub type cuMemDiscardAndPrefetchBatchAsync = super::PFN_cuMemDiscardAndPrefetchBatchAsync_v13000;
    pub type cuMemDiscardAndPrefetchBatchAsync_ptsz = super::PFN_cuMemDiscardAndPrefetchBatchAsync_v13000_ptsz;
    pub type cuMemBatchDecompressAsync = super::PFN_cuMemBatchDecompressAsync_v12060;
    pub type cuMemBatchDecompressAsync_ptsz = super::PFN_cuMemBatchDecompressAsync_v12060_ptsz;
    pub type cuMemsetD8_v2 = super::PFN_cuMemsetD8_v3020;
    pub type cuMemsetD8_v2_ptds = super::PFN_cuMemsetD8_v7000_ptds;
    pub type cuMemsetD8Async = super::PFN_cuMemsetD8Async_v3020;
    pub type cuMemsetD8Async_ptsz = super::PFN_cuMemsetD8Async_v7000_ptsz;
    pub type cuMemsetD2D8_v2 = super::PFN_cuMemsetD2D8_v3020;
    pub type cuMemsetD2D8_v2_ptds = super::PFN_cuMemsetD2D8_v7000_ptds;
    pub type cuMemsetD2D8Async = super::PFN_cuMemsetD2D8Async_v3020;
    pub type cuMemsetD2D8Async_ptsz = super::PFN_cuMemsetD2D8Async_v7000_ptsz;
    pub type cuMemsetD16_v2 = super::PFN_cuMemsetD16_v3020;
    pub type cuMemsetD16_v2_ptds = super::PFN_cuMemsetD16_v7000_ptds;
    pub type cuMemsetD16Async = super::PFN_cuMemsetD16Async_v3020;
    pub type cuMemsetD16Async_ptsz = super::PFN_cuMemsetD16Async_v7000_ptsz;
    pub type cuMemsetD2D16_v2 = super::PFN_cuMemsetD2D16_v3020;
    pub type cuMemsetD2D16_v2_ptds = super::PFN_cuMemsetD2D16_v7000_ptds;
    pub type cuMemsetD2D16Async = super::PFN_cuMemsetD2D16Async_v3020;
    pub type cuMemsetD2D16Async_ptsz = super::PFN_cuMemsetD2D16Async_v7000_ptsz;
    pub type cuMemsetD32_v2 = super::PFN_cuMemsetD32_v3020;
    pub type cuMemsetD32_v2_ptds = super::PFN_cuMemsetD32_v7000_ptds;
    pub type cuMemsetD32Async = super::PFN_cuMemsetD32Async_v3020;
    pub type cuMemsetD32Async_ptsz = super::PFN_cuMemsetD32Async_v7000_ptsz;
    pub type cuMemsetD2D32_v2 = super::PFN_cuMemsetD2D32_v3020;
    pub type cuMemsetD2D32_v2_ptds = super::PFN_cuMemsetD2D32_v7000_ptds;
    pub type cuMemsetD2D32Async = super::PFN_cuMemsetD2D32Async_v3020;
    pub type cuMemsetD2D32Async_ptsz = super::PFN_cuMemsetD2D32Async_v7000_ptsz;
    pub type cuStreamWaitValue32 = super::PFN_cuStreamWaitValue32_v8000;
    pub type cuStreamWaitValue32_ptsz = super::PFN_cuStreamWaitValue32_v8000_ptsz;
    pub type cuStreamWaitValue32_v2 = super::PFN_cuStreamWaitValue32_v11070;
    pub type cuStreamWaitValue32_v2_ptsz = super::PFN_cuStreamWaitValue32_v11070_ptsz;
    pub type cuStreamWaitValue64 = super::PFN_cuStreamWaitValue64_v9000;
    pub type cuStreamWaitValue64_ptsz = super::PFN_cuStreamWaitValue64_v9000_ptsz;
    pub type cuStreamWaitValue64_v2 = super::PFN_cuStreamWaitValue64_v11070;
    pub type cuStreamWaitValue64_v2_ptsz = super::PFN_cuStreamWaitValue64_v11070_ptsz;
    pub type cuStreamWriteValue32 = super::PFN_cuStreamWriteValue32_v8000;
    pub type cuStreamWriteValue32_ptsz = super::PFN_cuStreamWriteValue32_v8000_ptsz;
    pub type cuStreamWriteValue32_v2 = super::PFN_cuStreamWriteValue32_v11070;
    pub type cuStreamWriteValue32_v2_ptsz = super::PFN_cuStreamWriteValue32_v11070_ptsz;
    pub type cuStreamWriteValue64 = super::PFN_cuStreamWriteValue64_v9000;
    pub type cuStreamWriteValue64_ptsz = super::PFN_cuStreamWriteValue64_v9000_ptsz;
    pub type cuStreamWriteValue64_v2 = super::PFN_cuStreamWriteValue64_v11070;
    pub type cuStreamWriteValue64_v2_ptsz = super::PFN_cuStreamWriteValue64_v11070_ptsz;
    pub type cuStreamBatchMemOp = super::PFN_cuStreamBatchMemOp_v8000;
    pub type cuStreamBatchMemOp_ptsz = super::PFN_cuStreamBatchMemOp_v8000_ptsz;
    pub type cuStreamBatchMemOp_v2 = super::PFN_cuStreamBatchMemOp_v11070;
    pub type cuStreamBatchMemOp_v2_ptsz = super::PFN_cuStreamBatchMemOp_v11070_ptsz;
    pub type cuImportExternalSemaphore = super::PFN_cuImportExternalSemaphore_v10000;
    pub type cuSignalExternalSemaphoresAsync = super::PFN_cuSignalExternalSemaphoresAsync_v10000;
    pub type cuSignalExternalSemaphoresAsync_ptsz = super::PFN_cuSignalExternalSemaphoresAsync_v10000_ptsz;
    pub type cuWaitExternalSemaphoresAsync = super::PFN_cuWaitExternalSemaphoresAsync_v10000;
    pub type cuWaitExternalSemaphoresAsync_ptsz = super::PFN_cuWaitExternalSemaphoresAsync_v10000_ptsz;
    pub type cuDestroyExternalSemaphore = super::PFN_cuDestroyExternalSemaphore_v10000;
    pub type cuModuleLoad = super::PFN_cuModuleLoad_v2000;
    pub type cuModuleLoadData = super::PFN_cuModuleLoadData_v2000;
    pub type cuModuleLoadDataEx = super::PFN_cuModuleLoadDataEx_v2010;
    pub type cuModuleLoadFatBinary = super::PFN_cuModuleLoadFatBinary_v2000;
    pub type cuModuleUnload = super::PFN_cuModuleUnload_v2000;
    pub type cuModuleGetFunction = super::PFN_cuModuleGetFunction_v2000;
    pub type cuModuleGetGlobal_v2 = super::PFN_cuModuleGetGlobal_v3020;
    pub type cuFuncGetParamInfo = super::PFN_cuFuncGetParamInfo_v12040;
    pub type cuFuncGetAttribute = super::PFN_cuFuncGetAttribute_v2020;
    pub type cuFuncSetAttribute = super::PFN_cuFuncSetAttribute_v9000;
    pub type cuOccupancyMaxActiveBlocksPerMultiprocessor = super::PFN_cuOccupancyMaxActiveBlocksPerMultiprocessor_v6050;
    pub type cuLaunchKernel = super::PFN_cuLaunchKernel_v4000;
    pub type cuLaunchKernel_ptsz = super::PFN_cuLaunchKernel_v7000_ptsz;
    pub type cuLaunchKernelEx = super::PFN_cuLaunchKernelEx_v11060;
    pub type cuLaunchKernelEx_ptsz = super::PFN_cuLaunchKernelEx_v11060_ptsz;
    pub type cuLaunchCooperativeKernel = super::PFN_cuLaunchCooperativeKernel_v9000;
    pub type cuLaunchCooperativeKernel_ptsz = super::PFN_cuLaunchCooperativeKernel_v9000_ptsz;
    pub type cuLaunchHostFunc = super::PFN_cuLaunchHostFunc_v10000;
    pub type cuLaunchHostFunc_ptsz = super::PFN_cuLaunchHostFunc_v10000_ptsz;
    pub type cuGraphCreate = super::PFN_cuGraphCreate_v10000;
    pub type cuGraphDestroy = super::PFN_cuGraphDestroy_v10000;
    pub type cuGraphGetNodes = super::PFN_cuGraphGetNodes_v10000;
    pub type cuGraphNodeGetType = super::PFN_cuGraphNodeGetType_v10000;
    pub type cuGraphInstantiateWithFlags = super::PFN_cuGraphInstantiateWithFlags_v11040;
    pub type cuGraphLaunch = super::PFN_cuGraphLaunch_v10000;
    pub type cuGraphLaunch_ptsz = super::PFN_cuGraphLaunch_v10000_ptsz;
    pub type cuGraphExecDestroy = super::PFN_cuGraphExecDestroy_v10000;
}
