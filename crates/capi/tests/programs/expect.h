/* Checks that name their line, and a device to work on. */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>
#include <overtake.h>

#define REQUIRE(condition)                                                                                            \
    do {                                                                                                              \
        if (!(condition)) {                                                                                           \
            fprintf(stderr, "%s:%d: this does not hold: %s (last error: %s)\n", __FILE__, __LINE__, #condition,       \
                    overtake_last_error());                                                                           \
            exit(1);                                                                                                  \
        }                                                                                                             \
    } while (0)

#define OK(call) REQUIRE((call) == 0)

static inline void open_device(void)
{
    CUdevice device = -1;
    CUcontext context = NULL;
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
}

static inline unsigned char *pinned_bytes(size_t count, unsigned seed)
{
    void *pointer = NULL;
    OK(cuMemHostAlloc(&pointer, count, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    for (size_t i = 0; i < count; i++)
        ((unsigned char *)pointer)[i] = (unsigned char)(seed + i * 7 + (i >> 8) * 13);
    return (unsigned char *)pointer;
}

static inline void *on_device(size_t count)
{
    CUdeviceptr pointer = 0;
    OK(cuMemAlloc(&pointer, count));
    return (void *)(uintptr_t)pointer;
}

static inline CUstream new_stream(void)
{
    CUstream stream = NULL;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

#endif
