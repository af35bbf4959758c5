/* For programs that are linked with the driver: a context on device 0, pinned memory, words that host and device
 * share. */
#ifndef DEVICE_H
#define DEVICE_H

#include "check.h"

static inline CUcontext open_device(void)
{
    CUdevice device = -1;
    CUcontext context = NULL;
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    REQUIRE(context != NULL);
    OK(cuCtxSetCurrent(context));
    return context;
}

static inline void close_device(void)
{
    OK(cuCtxSynchronize());
    OK(cuCtxSetCurrent(NULL));
    OK(cuDevicePrimaryCtxRelease(0));
}

static inline CUstream new_stream(void)
{
    CUstream stream = NULL;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    REQUIRE(stream != NULL && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD);
    return stream;
}

static inline CUdeviceptr new_device_bytes(size_t count)
{
    CUdeviceptr pointer = 0;
    OK(cuMemAlloc(&pointer, count));
    REQUIRE(pointer != 0);
    return pointer;
}

static inline void *new_pinned_bytes(size_t count)
{
    void *pointer = NULL;
    OK(cuMemHostAlloc(&pointer, count, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    REQUIRE(pointer != NULL);
    return pointer;
}

static inline CUdeviceptr device_side(void *pinned)
{
    CUdeviceptr pointer = 0;
    OK(cuMemHostGetDevicePointer(&pointer, pinned, 0));
    REQUIRE(pointer != 0);
    return pointer;
}

/* A word in pinned memory that holds a stream until the CPU opens it. */
typedef struct {
    uint32_t *word;
} Gate;

static inline Gate new_gate(void)
{
    Gate gate = {new_pinned_bytes(sizeof(uint32_t))};
    store_word(gate.word, 0);
    return gate;
}

static inline void hold(Gate gate, CUstream stream)
{
    OK(cuStreamWaitValue32(stream, device_side(gate.word), 1, CU_STREAM_WAIT_VALUE_EQ));
}

static inline void open_gate(Gate gate)
{
    store_word(gate.word, 1);
}

static inline void free_gate(Gate gate)
{
    OK(cuMemFreeHost(gate.word));
}

#endif
