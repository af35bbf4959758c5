/* The part of the CUDA driver API that these programs use: names, numbers and prototypes, declared by us.
 *
 * Programs spell the calls as the manual does (`cuMemAlloc`); as with CUDA's own header the names map to the symbols
 * that the library exports (`cuMemAlloc_v2`), and CUDA_API_PER_THREAD_DEFAULT_STREAM picks the per-thread flavour. */
#ifndef CUDA_MINI_H
#define CUDA_MINI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUarray_st *CUarray;
typedef void (*CUhostFn)(void *);

typedef struct {
    char bytes[16];
} CUuuid;

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_INVALID_PTX = 218,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_ILLEGAL_STATE = 401,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
    CUDA_ERROR_UNKNOWN = 999
};

#define CU_STREAM_LEGACY ((CUstream)(uintptr_t)1)
#define CU_STREAM_PER_THREAD ((CUstream)(uintptr_t)2)

enum { CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1 };
enum { CU_EVENT_DEFAULT = 0, CU_EVENT_BLOCKING_SYNC = 1, CU_EVENT_DISABLE_TIMING = 2 };
enum { CU_MEMHOSTALLOC_PORTABLE = 1, CU_MEMHOSTALLOC_DEVICEMAP = 2, CU_MEMHOSTALLOC_WRITECOMBINED = 4 };
enum { CU_MEMHOSTREGISTER_PORTABLE = 1, CU_MEMHOSTREGISTER_DEVICEMAP = 2 };
enum { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2, CU_MEMORYTYPE_ARRAY = 3, CU_MEMORYTYPE_UNIFIED = 4 };
enum {
    CU_STREAM_WAIT_VALUE_GEQ = 0,
    CU_STREAM_WAIT_VALUE_EQ = 1,
    CU_STREAM_WAIT_VALUE_AND = 2,
    CU_STREAM_WAIT_VALUE_NOR = 3
};
enum { CU_STREAM_WRITE_VALUE_DEFAULT = 0, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER = 1 };
enum {
    CU_STREAM_MEM_OP_WAIT_VALUE_32 = 1,
    CU_STREAM_MEM_OP_WRITE_VALUE_32 = 2,
    CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES = 3,
    CU_STREAM_MEM_OP_WAIT_VALUE_64 = 4,
    CU_STREAM_MEM_OP_WRITE_VALUE_64 = 5
};
enum { CU_STREAM_CAPTURE_MODE_GLOBAL = 0, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1, CU_STREAM_CAPTURE_MODE_RELAXED = 2 };
enum {
    CU_STREAM_CAPTURE_STATUS_NONE = 0,
    CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
    CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2
};
enum {
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
    CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41
};
enum {
    CU_POINTER_ATTRIBUTE_CONTEXT = 1,
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
    CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
    CU_POINTER_ATTRIBUTE_BUFFER_ID = 7,
    CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
    CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12
};
enum { CU_GET_PROC_ADDRESS_DEFAULT = 0, CU_GET_PROC_ADDRESS_LEGACY_STREAM = 1, CU_GET_PROC_ADDRESS_PER_THREAD = 2 };
enum {
    CU_GET_PROC_ADDRESS_SUCCESS = 0,
    CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
    CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2
};
enum { CU_MEMCPY_SRC_ACCESS_ORDER_STREAM = 1, CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL = 2 };

typedef struct {
    size_t srcXInBytes, srcY;
    unsigned int srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    size_t srcPitch;
    size_t dstXInBytes, dstY;
    unsigned int dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    size_t dstPitch;
    size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;

typedef struct {
    size_t srcXInBytes, srcY, srcZ, srcLOD;
    unsigned int srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    void *reserved0;
    size_t srcPitch, srcHeight;
    size_t dstXInBytes, dstY, dstZ, dstLOD;
    unsigned int dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    void *reserved1;
    size_t dstPitch, dstHeight;
    size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;

typedef union {
    unsigned int operation;
    struct {
        unsigned int operation;
        CUdeviceptr address;
        union {
            cuuint32_t value;
            cuuint64_t value64;
        };
        unsigned int flags;
        CUdeviceptr alias;
    } waitValue, writeValue;
    cuuint64_t pad[6];
} CUstreamBatchMemOpParams;

typedef struct {
    int type;
    int id;
} CUmemLocation;

typedef struct {
    int srcAccessOrder;
    CUmemLocation srcLocHint, dstLocHint;
    unsigned int flags;
} CUmemcpyAttributes;

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define MINI_PTDS(name) name##_ptds
#define MINI_PTSZ(name) name##_ptsz
#else
#define MINI_PTDS(name) name
#define MINI_PTSZ(name) name
#endif

#define cuDeviceGetUuid cuDeviceGetUuid_v2
#define cuDeviceTotalMem cuDeviceTotalMem_v2
#define cuCtxDestroy cuCtxDestroy_v2
#define cuCtxPushCurrent cuCtxPushCurrent_v2
#define cuCtxPopCurrent cuCtxPopCurrent_v2
#define cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2
#define cuMemAlloc cuMemAlloc_v2
#define cuMemFree cuMemFree_v2
#define cuMemGetInfo cuMemGetInfo_v2
#define cuMemAllocAsync MINI_PTSZ(cuMemAllocAsync)
#define cuMemFreeAsync MINI_PTSZ(cuMemFreeAsync)
#define cuMemGetAddressRange cuMemGetAddressRange_v2
#define cuMemAllocHost cuMemAllocHost_v2
#define cuMemHostRegister cuMemHostRegister_v2
#define cuMemHostGetDevicePointer cuMemHostGetDevicePointer_v2
#define cuEventDestroy cuEventDestroy_v2
#define cuStreamDestroy cuStreamDestroy_v2
#define cuMemcpy MINI_PTDS(cuMemcpy)
#define cuMemcpyAsync MINI_PTSZ(cuMemcpyAsync)
#define cuMemcpyPeerAsync MINI_PTSZ(cuMemcpyPeerAsync)
#define cuMemcpyPeer MINI_PTDS(cuMemcpyPeer)
#define cuMemcpyHtoD MINI_PTDS(cuMemcpyHtoD_v2)
#define cuMemcpyDtoH MINI_PTDS(cuMemcpyDtoH_v2)
#define cuMemcpyDtoD MINI_PTDS(cuMemcpyDtoD_v2)
#define cuMemcpyHtoDAsync MINI_PTSZ(cuMemcpyHtoDAsync_v2)
#define cuMemcpyDtoHAsync MINI_PTSZ(cuMemcpyDtoHAsync_v2)
#define cuMemcpyDtoDAsync MINI_PTSZ(cuMemcpyDtoDAsync_v2)
#define cuMemcpy2D MINI_PTDS(cuMemcpy2D_v2)
#define cuMemcpy2DUnaligned MINI_PTDS(cuMemcpy2DUnaligned_v2)
#define cuMemcpy2DAsync MINI_PTSZ(cuMemcpy2DAsync_v2)
#define cuMemcpy3D MINI_PTDS(cuMemcpy3D_v2)
#define cuMemcpy3DAsync MINI_PTSZ(cuMemcpy3DAsync_v2)
#define cuMemcpyBatchAsync_v1 MINI_PTSZ(cuMemcpyBatchAsync)
#define cuMemcpyBatchAsync_v2 MINI_PTSZ(cuMemcpyBatchAsync_v2)
#define cuMemsetD8 MINI_PTDS(cuMemsetD8_v2)
#define cuMemsetD16 MINI_PTDS(cuMemsetD16_v2)
#define cuMemsetD32 MINI_PTDS(cuMemsetD32_v2)
#define cuMemsetD2D8 MINI_PTDS(cuMemsetD2D8_v2)
#define cuMemsetD2D16 MINI_PTDS(cuMemsetD2D16_v2)
#define cuMemsetD2D32 MINI_PTDS(cuMemsetD2D32_v2)
#define cuMemsetD8Async MINI_PTSZ(cuMemsetD8Async)
#define cuMemsetD16Async MINI_PTSZ(cuMemsetD16Async)
#define cuMemsetD32Async MINI_PTSZ(cuMemsetD32Async)
#define cuMemsetD2D8Async MINI_PTSZ(cuMemsetD2D8Async)
#define cuMemsetD2D16Async MINI_PTSZ(cuMemsetD2D16Async)
#define cuMemsetD2D32Async MINI_PTSZ(cuMemsetD2D32Async)
#define cuStreamQuery MINI_PTSZ(cuStreamQuery)
#define cuStreamSynchronize MINI_PTSZ(cuStreamSynchronize)
#define cuStreamGetPriority MINI_PTSZ(cuStreamGetPriority)
#define cuStreamGetFlags MINI_PTSZ(cuStreamGetFlags)
#define cuStreamGetCtx MINI_PTSZ(cuStreamGetCtx)
#define cuStreamWaitEvent MINI_PTSZ(cuStreamWaitEvent)
#define cuStreamBeginCapture MINI_PTSZ(cuStreamBeginCapture_v2)
#define cuStreamEndCapture MINI_PTSZ(cuStreamEndCapture)
#define cuStreamIsCapturing MINI_PTSZ(cuStreamIsCapturing)
#define cuStreamGetCaptureInfo_v2 MINI_PTSZ(cuStreamGetCaptureInfo_v2)
#define cuStreamWaitValue32 MINI_PTSZ(cuStreamWaitValue32_v2)
#define cuStreamWaitValue64 MINI_PTSZ(cuStreamWaitValue64_v2)
#define cuStreamWriteValue32 MINI_PTSZ(cuStreamWriteValue32_v2)
#define cuStreamWriteValue64 MINI_PTSZ(cuStreamWriteValue64_v2)
#define cuStreamBatchMemOp MINI_PTSZ(cuStreamBatchMemOp_v2)
#define cuEventRecord MINI_PTSZ(cuEventRecord)
#define cuLaunchKernel MINI_PTSZ(cuLaunchKernel)
#define cuLaunchHostFunc MINI_PTSZ(cuLaunchHostFunc)

CUresult cuInit(unsigned int flags);
CUresult cuDriverGetVersion(int *version);
CUresult cuGetErrorName(CUresult error, const char **name);
CUresult cuGetErrorString(CUresult error, const char **text);
/* The unversioned symbol has the ABI from before CUDA 12: no status. */
CUresult cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags);
CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags, int *status);

CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuDeviceGetCount(int *count);
CUresult cuDeviceGetName(char *name, int length, CUdevice device);
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device);
CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device);
CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device);
CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer);

CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device);
CUresult cuCtxDestroy(CUcontext context);
CUresult cuCtxPushCurrent(CUcontext context);
CUresult cuCtxPopCurrent(CUcontext *context);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxGetCurrent(CUcontext *context);
CUresult cuCtxGetDevice(CUdevice *device);
CUresult cuCtxGetFlags(unsigned int *flags);
CUresult cuCtxSynchronize(void);
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest);
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuDevicePrimaryCtxRelease(CUdevice device);
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active);

CUresult cuMemAlloc(CUdeviceptr *pointer, size_t bytes);
CUresult cuMemFree(CUdeviceptr pointer);
CUresult cuMemAllocAsync(CUdeviceptr *pointer, size_t bytes, CUstream stream);
CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream);
CUresult cuMemGetInfo(size_t *available, size_t *total);
CUresult cuMemGetAddressRange(CUdeviceptr *base, size_t *bytes, CUdeviceptr pointer);
CUresult cuMemAllocHost(void **pointer, size_t bytes);
CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned int flags);
CUresult cuMemFreeHost(void *pointer);
CUresult cuMemHostRegister(void *pointer, size_t bytes, unsigned int flags);
CUresult cuMemHostUnregister(void *pointer);
CUresult cuMemHostGetDevicePointer(CUdeviceptr *pointer, void *host, unsigned int flags);
CUresult cuMemAllocManaged(CUdeviceptr *pointer, size_t bytes, unsigned int flags);
CUresult cuPointerGetAttribute(void *data, int attribute, CUdeviceptr pointer);
CUresult cuPointerGetAttributes(unsigned int count, int *attributes, void **data, CUdeviceptr pointer);

CUresult cuMemcpy(CUdeviceptr target, CUdeviceptr source, size_t bytes);
CUresult cuMemcpyAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream);
CUresult cuMemcpyPeer(CUdeviceptr target, CUcontext target_context, CUdeviceptr source, CUcontext source_context,
                      size_t bytes);
CUresult cuMemcpyPeerAsync(CUdeviceptr target, CUcontext target_context, CUdeviceptr source,
                           CUcontext source_context, size_t bytes, CUstream stream);
CUresult cuMemcpyHtoD(CUdeviceptr target, const void *source, size_t bytes);
CUresult cuMemcpyDtoH(void *target, CUdeviceptr source, size_t bytes);
CUresult cuMemcpyDtoD(CUdeviceptr target, CUdeviceptr source, size_t bytes);
CUresult cuMemcpyHtoDAsync(CUdeviceptr target, const void *source, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoHAsync(void *target, CUdeviceptr source, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoDAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream);
CUresult cuMemcpy2D(const CUDA_MEMCPY2D *copy);
CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *copy);
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream stream);
CUresult cuMemcpy3D(const CUDA_MEMCPY3D *copy);
CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D *copy, CUstream stream);
CUresult cuMemcpyBatchAsync_v1(CUdeviceptr *targets, CUdeviceptr *sources, size_t *bytes, size_t count,
                               CUmemcpyAttributes *attributes, size_t *attribute_indices, size_t attribute_count,
                               size_t *failed, CUstream stream);
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *targets, CUdeviceptr *sources, size_t *bytes, size_t count,
                               CUmemcpyAttributes *attributes, size_t *attribute_indices, size_t attribute_count,
                               CUstream stream);
CUresult cuMemsetD8(CUdeviceptr target, unsigned char value, size_t count);
CUresult cuMemsetD16(CUdeviceptr target, unsigned short value, size_t count);
CUresult cuMemsetD32(CUdeviceptr target, unsigned int value, size_t count);
CUresult cuMemsetD2D8(CUdeviceptr target, size_t pitch, unsigned char value, size_t width, size_t height);
CUresult cuMemsetD2D16(CUdeviceptr target, size_t pitch, unsigned short value, size_t width, size_t height);
CUresult cuMemsetD2D32(CUdeviceptr target, size_t pitch, unsigned int value, size_t width, size_t height);
CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char value, size_t count, CUstream stream);
CUresult cuMemsetD16Async(CUdeviceptr target, unsigned short value, size_t count, CUstream stream);
CUresult cuMemsetD32Async(CUdeviceptr target, unsigned int value, size_t count, CUstream stream);
CUresult cuMemsetD2D8Async(CUdeviceptr target, size_t pitch, unsigned char value, size_t width, size_t height,
                           CUstream stream);
CUresult cuMemsetD2D16Async(CUdeviceptr target, size_t pitch, unsigned short value, size_t width, size_t height,
                            CUstream stream);
CUresult cuMemsetD2D32Async(CUdeviceptr target, size_t pitch, unsigned int value, size_t width, size_t height,
                            CUstream stream);

CUresult cuStreamCreate(CUstream *stream, unsigned int flags);
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority);
CUresult cuStreamDestroy(CUstream stream);
CUresult cuStreamQuery(CUstream stream);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamGetPriority(CUstream stream, int *priority);
CUresult cuStreamGetFlags(CUstream stream, unsigned int *flags);
CUresult cuStreamGetCtx(CUstream stream, CUcontext *context);
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags);
CUresult cuStreamBeginCapture(CUstream stream, int mode);
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph);
CUresult cuStreamIsCapturing(CUstream stream, int *status);
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, int *status, cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **dependencies, size_t *dependency_count);
CUresult cuThreadExchangeStreamCaptureMode(int *mode);
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags);
CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags);
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags);
CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags);
CUresult cuStreamBatchMemOp(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *operations,
                            unsigned int flags);
CUresult cuGraphDestroy(CUgraph graph);

CUresult cuEventCreate(CUevent *event, unsigned int flags);
CUresult cuEventDestroy(CUevent event);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuEventQuery(CUevent event);
CUresult cuEventSynchronize(CUevent event);
CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end);

CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count, int *options, void **values);
CUresult cuModuleUnload(CUmodule module);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                        CUstream stream, void **parameters, void **extra);
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data);

#ifdef __cplusplus
}
#endif

#endif
