/* The driver as a table of pointers, so that one scenario runs on pointers from any lookup. */
#ifndef DRIVER_H
#define DRIVER_H

#include "client.h"
#include "dlopened.h"

/* The name that cuGetProcAddress knows, the function as the header maps it, the version to ask for. */
#define DRIVER_FUNCTIONS(X)                                                                                           \
    X("cuInit", cuInit, 2000)                                                                                         \
    X("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain, 7000)                                                     \
    X("cuDevicePrimaryCtxRelease", cuDevicePrimaryCtxRelease, 11000)                                                  \
    X("cuCtxSetCurrent", cuCtxSetCurrent, 4000)                                                                       \
    X("cuMemAlloc", cuMemAlloc, 3020)                                                                                 \
    X("cuMemFree", cuMemFree, 3020)                                                                                   \
    X("cuMemHostAlloc", cuMemHostAlloc, 2020)                                                                         \
    X("cuMemFreeHost", cuMemFreeHost, 2000)                                                                           \
    X("cuMemHostRegister", cuMemHostRegister, 6050)                                                                   \
    X("cuMemHostUnregister", cuMemHostUnregister, 4000)                                                               \
    X("cuStreamCreate", cuStreamCreate, 2000)                                                                         \
    X("cuStreamDestroy", cuStreamDestroy, 4000)                                                                       \
    X("cuStreamSynchronize", cuStreamSynchronize, 7000)                                                               \
    X("cuEventCreate", cuEventCreate, 2000)                                                                           \
    X("cuEventDestroy", cuEventDestroy, 4000)                                                                         \
    X("cuEventRecord", cuEventRecord, 7000)                                                                           \
    X("cuStreamWaitEvent", cuStreamWaitEvent, 7000)                                                                   \
    X("cuMemcpy", cuMemcpy, 7000)                                                                                     \
    X("cuMemcpyAsync", cuMemcpyAsync, 7000)                                                                           \
    X("cuMemcpyHtoD", cuMemcpyHtoD, 7000)                                                                             \
    X("cuMemcpyDtoH", cuMemcpyDtoH, 7000)                                                                             \
    X("cuMemcpyDtoD", cuMemcpyDtoD, 7000)                                                                             \
    X("cuMemcpyHtoDAsync", cuMemcpyHtoDAsync, 7000)                                                                   \
    X("cuMemcpyDtoHAsync", cuMemcpyDtoHAsync, 7000)                                                                   \
    X("cuMemcpyDtoDAsync", cuMemcpyDtoDAsync, 7000)                                                                   \
    X("cuMemcpy2DUnaligned", cuMemcpy2DUnaligned, 7000)                                                               \
    X("cuMemcpy2DAsync", cuMemcpy2DAsync, 7000)                                                                       \
    X("cuMemcpy3D", cuMemcpy3D, 7000)                                                                                 \
    X("cuMemcpy3DAsync", cuMemcpy3DAsync, 7000)                                                                       \
    X("cuMemsetD8", cuMemsetD8, 7000)                                                                                 \
    X("cuMemsetD8Async", cuMemsetD8Async, 7000)                                                                       \
    X("cuMemsetD32Async", cuMemsetD32Async, 7000)

/* The batch call has two prototypes under one name: each is asked for at its own version. */
#define DRIVER_BATCHES(X)                                                                                             \
    X("cuMemcpyBatchAsync", cuMemcpyBatchAsync_v1, 12080)                                                             \
    X("cuMemcpyBatchAsync", cuMemcpyBatchAsync_v2, 13000)

typedef struct {
#define DRIVER_MEMBER(base, function, version) __typeof__(&function) function;
    DRIVER_FUNCTIONS(DRIVER_MEMBER)
    DRIVER_BATCHES(DRIVER_MEMBER)
#undef DRIVER_MEMBER
} Driver;

typedef void *(*Finder)(const char *base, const char *symbol, int version);

#define DRIVER_STRING(name) DRIVER_STRING_(name)
#define DRIVER_STRING_(name) #name

/* Pointers that are not found stay null. */
static inline Driver find_driver(Finder find)
{
    Driver driver;
#define DRIVER_FIND(base, function, version)                                                                          \
    driver.function = (__typeof__(&function))to_symbol(find(base, DRIVER_STRING(function), version));
    DRIVER_FUNCTIONS(DRIVER_FIND)
    DRIVER_BATCHES(DRIVER_FIND)
#undef DRIVER_FIND
    return driver;
}

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
enum { DRIVER_FLAGS = CU_GET_PROC_ADDRESS_PER_THREAD };
#else
enum { DRIVER_FLAGS = CU_GET_PROC_ADDRESS_DEFAULT };
#endif

#endif
