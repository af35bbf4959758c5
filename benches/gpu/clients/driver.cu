// A CUDA driver program, linked with -lcuda: bulk and small copies of every form beside each other, capture, errors.
// It uses no kernel, so that it runs on every machine with a driver. Prints digests that must not depend on the way of
// the copies.
#include <cuda.h>
#include <initializer_list>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "load.h"

static const size_t BULK = 32u << 20, SMALL = 64u << 10, SLOTS = 24;

#define OK(call)                                                                                                      \
    do {                                                                                                              \
        CUresult seen_ = (call);                                                                                      \
        if (seen_ != CUDA_SUCCESS) {                                                                                  \
            fprintf(stderr, "%s:%d: %s returned %d\n", __FILE__, __LINE__, #call, (int)seen_);                        \
            exit(1);                                                                                                  \
        }                                                                                                             \
    } while (0)

static uint8_t *pinned(size_t count, uint32_t seed)
{
    void *bytes = NULL;
    OK(cuMemHostAlloc(&bytes, count, CU_MEMHOSTALLOC_PORTABLE));
    fill((uint8_t *)bytes, count, seed);
    return (uint8_t *)bytes;
}

static CUdeviceptr device(size_t count)
{
    CUdeviceptr bytes = 0;
    OK(cuMemAlloc(&bytes, count));
    OK(cuMemsetD8(bytes, 0, count));
    OK(cuCtxSynchronize());
    return bytes;
}

static CUdeviceptr as_unified(const void *host)
{
    return (CUdeviceptr)(uintptr_t)host;
}

typedef struct {
    uint8_t *bulk, *bulk_back, *small, *small_back;
    CUdeviceptr there, slots;
} Bytes;

static void contended(const char *name, const Bytes *bytes, CUstream loading, CUstream side)
{
    char text[64];
    memset(bytes->bulk_back, 0, BULK);
    memset(bytes->small_back, 0, SMALL * SLOTS);
    for (int turn = 0; turn < 8; turn++)
        OK(cuMemcpyHtoDAsync(bytes->there, bytes->bulk, BULK, loading));
    OK(cuMemsetD8Async(bytes->there + 12345, 0x5a, 1 << 20, loading));
    for (size_t at = 0; at < SMALL * SLOTS; at += SMALL) {
        OK(cuMemcpyAsync(bytes->slots + at, as_unified(bytes->small + at), SMALL, side));
        OK(cuMemsetD32Async(bytes->slots + at + 256, (unsigned)at, 100, side));
        OK(cuMemcpyDtoHAsync(bytes->small_back + at, bytes->slots + at, SMALL, side));
    }
    for (int turn = 0; turn < 4; turn++)
        OK(cuMemcpyDtoHAsync(bytes->bulk_back, bytes->there, BULK, loading));
    OK(cuStreamSynchronize(side));
    snprintf(text, sizeof text, "%s small", name);
    digest(text, bytes->small_back, SMALL * SLOTS);
    OK(cuStreamSynchronize(loading));
    snprintf(text, sizeof text, "%s bulk", name);
    digest(text, bytes->bulk_back, BULK);
    if (cuStreamQuery(side) != CUDA_SUCCESS || cuStreamQuery(loading) != CUDA_SUCCESS)
        printf("wrong: a synchronised stream is not ready\n");
}

static void shapes(const Bytes *bytes, CUstream stream)
{
    CUDA_MEMCPY2D plane;
    CUDA_MEMCPY3D block;
    memset(&plane, 0, sizeof plane);
    plane.srcMemoryType = CU_MEMORYTYPE_HOST, plane.srcHost = bytes->bulk, plane.srcPitch = 4096;
    plane.dstMemoryType = CU_MEMORYTYPE_DEVICE, plane.dstDevice = bytes->there, plane.dstPitch = 8192;
    plane.WidthInBytes = 3000, plane.Height = 2000;
    OK(cuMemcpy2DAsync(&plane, stream));
    memset(&block, 0, sizeof block);
    block.srcMemoryType = CU_MEMORYTYPE_DEVICE, block.srcDevice = bytes->there, block.srcPitch = 8192;
    block.srcHeight = 100, block.dstMemoryType = CU_MEMORYTYPE_HOST, block.dstHost = bytes->bulk_back;
    block.dstPitch = 4096, block.dstHeight = 100, block.WidthInBytes = 2500, block.Height = 90, block.Depth = 20;
    memset(bytes->bulk_back, 0, BULK);
    OK(cuMemcpy3DAsync(&block, stream));
    OK(cuStreamSynchronize(stream));
    digest("shapes", bytes->bulk_back, BULK);
}

static void blocking_copies(const Bytes *bytes)
{
    uint8_t *host = (uint8_t *)malloc(BULK), *back = (uint8_t *)calloc(1, BULK);
    fill(host, BULK, 9);
    OK(cuMemcpyHtoD(bytes->there, host, BULK));
    memset(host, 0, BULK);
    OK(cuMemcpyDtoH(back, bytes->there, BULK));
    digest("pageable", back, BULK);
    OK(cuMemcpyHtoD(bytes->there, bytes->bulk, BULK));
    OK(cuMemcpy(as_unified(bytes->bulk_back), bytes->there, BULK));
    digest("pinned", bytes->bulk_back, BULK);
    OK(cuMemHostRegister(host, BULK, CU_MEMHOSTREGISTER_PORTABLE));
    OK(cuMemcpyDtoHAsync(host, bytes->there, BULK, 0));
    OK(cuMemcpyDtoH(host, bytes->there, SMALL));
    OK(cuMemHostUnregister(host));
    digest("registered", host, BULK);
    free(host);
    free(back);
}

static void stream_ordered_memory(const Bytes *bytes, CUstream stream)
{
    for (int turn = 0; turn < 30; turn++) {
        CUdeviceptr there = 0;
        OK(cuMemAllocAsync(&there, 4 << 20, stream));
        OK(cuMemcpyHtoDAsync(there, bytes->bulk + turn, 4 << 20, stream));
        OK(cuMemcpyDtoHAsync(bytes->bulk_back, there, 4 << 20, stream));
        OK(cuMemFreeAsync(there, stream));
    }
    OK(cuStreamSynchronize(stream));
    digest("stream-ordered memory", bytes->bulk_back, 4 << 20);
}

static void capture(const Bytes *bytes, CUstream stream, CUstream loading)
{
    CUgraph graph = NULL;
    memset(bytes->small_back, 0, SMALL);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemcpyHtoDAsync(bytes->there, bytes->bulk, BULK, loading));
    OK(cuMemcpyHtoDAsync(bytes->slots, bytes->small, SMALL, stream));
    OK(cuMemcpyDtoHAsync(bytes->small_back, bytes->slots, SMALL, stream));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuStreamSynchronize(loading));
    digest("a capture copies nothing", bytes->small_back, SMALL);
#ifndef SOFTWARE_GPU
    CUgraphExec program = NULL;
    size_t nodes = 0;
    OK(cuGraphGetNodes(graph, NULL, &nodes));
    printf("nodes: %zu\n", nodes);
    OK(cuGraphInstantiate(&program, graph, 0));
    OK(cuMemcpyHtoDAsync(bytes->there, bytes->bulk, BULK, loading));
    OK(cuGraphLaunch(program, stream));
    OK(cuStreamSynchronize(stream));
    digest("a graph copies", bytes->small_back, SMALL);
    OK(cuGraphExecDestroy(program));
#endif
    OK(cuGraphDestroy(graph));
    OK(cuStreamSynchronize(loading));
}

static void errors(const Bytes *bytes, CUstream stream)
{
    printf("null target: %d\n", (int)cuMemcpyHtoDAsync(0, bytes->small, SMALL, stream));
    printf("no bytes: %d\n", (int)cuMemcpyHtoDAsync(bytes->slots, bytes->small, 0, stream));
    OK(cuCtxSynchronize());
}

static void work(const Bytes &bytes, CUstream one, CUstream two, CUstream high, CUstream blocking)
{
    contended("two streams", &bytes, one, two);
    contended("priorities", &bytes, one, high);
    contended("default stream", &bytes, 0, two);
    contended("legacy and blocking", &bytes, CU_STREAM_LEGACY, blocking);
    contended("per thread", &bytes, CU_STREAM_PER_THREAD, two);
    contended("one stream", &bytes, one, one);
    shapes(&bytes, one);
    blocking_copies(&bytes);
    stream_ordered_memory(&bytes, two);
    capture(&bytes, two, one);
    errors(&bytes, one);
}

static CUcontext opened(CUdevice *gpu)
{
    CUcontext context = NULL;
    OK(cuInit(0));
    OK(cuDeviceGet(gpu, 0));
    OK(cuDevicePrimaryCtxRetain(&context, *gpu));
    OK(cuCtxSetCurrent(context));
    return context;
}

int main(int count, char **arguments)
{
    CUdevice gpu = 0;
    CUcontext context = opened(&gpu);
    CUstream one, two, high, blocking, loading;
    int least = 0, greatest = 0;
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    OK(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreateWithPriority(&high, CU_STREAM_NON_BLOCKING, greatest));
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&loading, CU_STREAM_NON_BLOCKING));
    Bytes bytes = {pinned(BULK, 1), pinned(BULK, 2), pinned(SMALL * SLOTS, 3), pinned(SMALL * SLOTS, 4), device(BULK),
                   device(SMALL * SLOTS)};
    uint8_t *host = pinned(LOAD_BYTES, 50);
    CUdeviceptr there = device(LOAD_BYTES);
    phases(count, arguments, [=] { work(bytes, one, two, high, blocking); }, [=] {
        // The client may be capturing meanwhile, and the calls here must not affect that.
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        OK(cuThreadExchangeStreamCaptureMode(&mode));
        OK(cuCtxSetCurrent(context));
        for (int i = 0; i < LOADS_QUEUED; i++)
            OK(cuMemcpyHtoDAsync(there, host, LOAD_BYTES, loading));
        OK(cuStreamSynchronize(loading));
    });
    for (CUstream stream : {one, two, high, blocking, loading})
        OK(cuStreamDestroy(stream));
    OK(cuDevicePrimaryCtxRelease(gpu));
    printf("RESULT good\n");
    return 0;
}
