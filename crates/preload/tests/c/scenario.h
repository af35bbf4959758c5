/* Copies of every kind through a table of pointers: streams of every sort, memory of every sort, sizes on both sides of
 * every threshold. */
#ifndef SCENARIO_H
#define SCENARIO_H

#include "driver.h"

enum { SCENARIO_BYTES = 3 * MIB + 5, SCENARIO_PITCH = 4096 };

typedef struct {
    const Driver *driver;
    CUstream stream;
    CUdeviceptr first, second;
    unsigned char *in, *out;
    uint64_t sum;
} Scenario;

static inline void came_back(Scenario *scenario, size_t bytes)
{
    REQUIRE(memcmp(scenario->in, scenario->out, bytes) == 0);
    scenario->sum = mix(scenario->sum, checksum(scenario->out, bytes));
}

static inline CUdeviceptr unified(const void *host)
{
    return (CUdeviceptr)(uintptr_t)host;
}

static inline void synchronous_copies(Scenario *scenario, size_t bytes)
{
    const Driver *d = scenario->driver;
    OK(d->cuMemcpyHtoD(scenario->first, scenario->in, bytes));
    OK(d->cuMemcpyDtoD(scenario->second, scenario->first, bytes));
    OK(d->cuMemcpyDtoH(scenario->out, scenario->second, bytes));
    came_back(scenario, bytes);
    paint(scenario->in, bytes, bytes + 1);
    OK(d->cuMemcpy(scenario->first, unified(scenario->in), bytes));
    OK(d->cuMemcpy(scenario->second, scenario->first, bytes));
    OK(d->cuMemcpy(unified(scenario->out), scenario->second, bytes));
    came_back(scenario, bytes);
}

static inline void asynchronous_copies(Scenario *scenario, size_t bytes)
{
    const Driver *d = scenario->driver;
    paint(scenario->in, bytes, bytes + 2);
    OK(d->cuMemcpyHtoDAsync(scenario->first, scenario->in, bytes, scenario->stream));
    OK(d->cuMemcpyDtoDAsync(scenario->second, scenario->first, bytes, scenario->stream));
    OK(d->cuMemcpyDtoHAsync(scenario->out, scenario->second, bytes, scenario->stream));
    OK(d->cuStreamSynchronize(scenario->stream));
    came_back(scenario, bytes);
    paint(scenario->in, bytes, bytes + 3);
    OK(d->cuMemcpyAsync(scenario->first, unified(scenario->in), bytes, scenario->stream));
    OK(d->cuMemcpyAsync(scenario->second, scenario->first, bytes, scenario->stream));
    OK(d->cuMemcpyAsync(unified(scenario->out), scenario->second, bytes, scenario->stream));
    OK(d->cuStreamSynchronize(scenario->stream));
    came_back(scenario, bytes);
}

static inline CUDA_MEMCPY2D rows(Scenario *scenario, int to_device, unsigned int host, size_t height)
{
    CUDA_MEMCPY2D copy;
    memset(&copy, 0, sizeof copy);
    copy.WidthInBytes = 1000, copy.Height = height;
    copy.srcPitch = copy.dstPitch = SCENARIO_PITCH;
    copy.srcMemoryType = to_device ? host : CU_MEMORYTYPE_DEVICE;
    copy.dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : host;
    copy.srcHost = scenario->in, copy.dstHost = scenario->out;
    copy.srcDevice = to_device ? unified(scenario->in) : scenario->first;
    copy.dstDevice = to_device ? scenario->first : unified(scenario->out);
    return copy;
}

static inline CUDA_MEMCPY3D box(Scenario *scenario, int to_device, unsigned int host)
{
    CUDA_MEMCPY3D copy;
    memset(&copy, 0, sizeof copy);
    copy.WidthInBytes = 900, copy.Height = 16, copy.Depth = 8;
    copy.srcPitch = copy.dstPitch = SCENARIO_PITCH;
    copy.srcHeight = copy.dstHeight = 16;
    copy.srcMemoryType = to_device ? host : CU_MEMORYTYPE_DEVICE;
    copy.dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : host;
    copy.srcHost = scenario->in, copy.dstHost = scenario->out;
    copy.srcDevice = to_device ? unified(scenario->in) : scenario->first;
    copy.dstDevice = to_device ? scenario->first : unified(scenario->out);
    return copy;
}

static inline void shaped_copies(Scenario *scenario, unsigned int host)
{
    const Driver *d = scenario->driver;
    size_t heights[] = {3, 700}; /* below and above a megabyte with their gaps */
    memset(scenario->out, 0, SCENARIO_BYTES);
    for (size_t i = 0; i < 2; i++) {
        CUDA_MEMCPY2D in = rows(scenario, 1, host, heights[i]), out = rows(scenario, 0, host, heights[i]);
        OK(d->cuMemcpy2DUnaligned(&in));
        OK(d->cuMemcpy2DUnaligned(&out));
        scenario->sum = mix(scenario->sum, checksum(scenario->out, heights[i] * SCENARIO_PITCH));
        paint(scenario->in, SCENARIO_BYTES, heights[i]);
        OK(d->cuMemcpy2DAsync(&in, scenario->stream));
        OK(d->cuMemcpy2DAsync(&out, scenario->stream));
        OK(d->cuStreamSynchronize(scenario->stream));
        scenario->sum = mix(scenario->sum, checksum(scenario->out, heights[i] * SCENARIO_PITCH));
    }
    CUDA_MEMCPY3D in = box(scenario, 1, host), out = box(scenario, 0, host);
    OK(d->cuMemcpy3D(&in));
    OK(d->cuMemcpy3DAsync(&in, scenario->stream));
    OK(d->cuMemcpy3DAsync(&out, scenario->stream));
    OK(d->cuStreamSynchronize(scenario->stream));
    OK(d->cuMemcpy3D(&out));
    scenario->sum = mix(scenario->sum, checksum(scenario->out, 8 * 16 * SCENARIO_PITCH));
}

/* Both prototypes; the codes are printed, as not every driver has the call and none takes it on the legacy stream. */
static inline void batches(Scenario *scenario, int order)
{
    const Driver *d = scenario->driver;
    CUmemcpyAttributes attributes = {.srcAccessOrder = order};
    size_t first = 0, failed = 77, sizes[3] = {2 * MIB, 5000, 64 * KIB};
    CUdeviceptr device[3], in[3], out[3];
    for (size_t i = 0, at = 0; i < 3; at += sizes[i], i++) {
        device[i] = scenario->first + at;
        in[i] = unified(scenario->in) + at;
        out[i] = unified(scenario->out) + at;
    }
    memset(scenario->out, 0, SCENARIO_BYTES);
    paint(scenario->in, SCENARIO_BYTES, 11);
    if (d->cuMemcpyBatchAsync_v1 != NULL)
        CODE(d->cuMemcpyBatchAsync_v1(device, in, sizes, 3, &attributes, &first, 1, &failed, scenario->stream));
    if (d->cuMemcpyBatchAsync_v2 != NULL)
        CODE(d->cuMemcpyBatchAsync_v2(out, device, sizes, 3, &attributes, &first, 1, scenario->stream));
    OK(d->cuStreamSynchronize(scenario->stream));
    scenario->sum = mix(scenario->sum, checksum(scenario->out, sizes[0] + sizes[1] + sizes[2]));
}

static inline void sets(Scenario *scenario)
{
    const Driver *d = scenario->driver;
    OK(d->cuMemsetD8(scenario->first, 3, SCENARIO_BYTES));
    OK(d->cuStreamSynchronize(NULL)); /* a set of device memory does not wait, and the stream may not wait for it */
    OK(d->cuMemsetD8Async(scenario->first + 1, 4, 2 * MIB, scenario->stream));
    OK(d->cuMemsetD32Async(scenario->first + 8, 0x01020304, 5, scenario->stream));
    OK(d->cuMemcpyDtoHAsync(scenario->out, scenario->first, SCENARIO_BYTES, scenario->stream));
    OK(d->cuStreamSynchronize(scenario->stream));
    scenario->sum = mix(scenario->sum, checksum(scenario->out, SCENARIO_BYTES));
}

static inline void one_combination(Scenario *scenario, const char *stream, const char *memory, unsigned int host)
{
    static const size_t sizes[] = {1, 4093, 24 * KIB, 64 * KIB, MIB, SCENARIO_BYTES};
    scenario->sum = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        paint(scenario->in, sizes[i], i);
        synchronous_copies(scenario, sizes[i]);
        asynchronous_copies(scenario, sizes[i]);
    }
    shaped_copies(scenario, host);
    sets(scenario);
    if (host == CU_MEMORYTYPE_UNIFIED) {
        batches(scenario, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
        batches(scenario, CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL);
        batches(scenario, CU_MEMCPY_SRC_ACCESS_ORDER_ANY);
    }
    printf("%s %s: %016llx\n", stream, memory, (unsigned long long)scenario->sum);
}

static inline void all_memories(const Driver *d, CUstream stream, const char *name, CUdeviceptr *device)
{
    Scenario scenario = {.driver = d, .stream = stream, .first = device[0], .second = device[1]};
    void *in = NULL, *out = NULL;
    OK(d->cuMemHostAlloc(&in, SCENARIO_BYTES, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    OK(d->cuMemHostAlloc(&out, SCENARIO_BYTES, 0));
    scenario.in = in, scenario.out = out;
    one_combination(&scenario, name, "pinned", CU_MEMORYTYPE_HOST);
    one_combination(&scenario, name, "pinned, unified", CU_MEMORYTYPE_UNIFIED);
    OK(d->cuMemFreeHost(in));
    OK(d->cuMemFreeHost(out));
    scenario.in = malloc(SCENARIO_BYTES), scenario.out = malloc(SCENARIO_BYTES);
    REQUIRE(scenario.in != NULL && scenario.out != NULL);
    one_combination(&scenario, name, "pageable", CU_MEMORYTYPE_HOST);
    OK(d->cuMemHostRegister(scenario.in, SCENARIO_BYTES, 0));
    OK(d->cuMemHostRegister(scenario.out, SCENARIO_BYTES, CU_MEMHOSTREGISTER_PORTABLE));
    one_combination(&scenario, name, "registered", CU_MEMORYTYPE_HOST);
    OK(d->cuMemHostUnregister(scenario.in));
    OK(d->cuMemHostUnregister(scenario.out));
    free(scenario.in);
    free(scenario.out);
}

static inline void run_scenario(const Driver *d)
{
    CUcontext context = NULL;
    CUstream blocking = NULL, apart = NULL;
    CUdeviceptr device[2] = {0, 0};
    OK(d->cuInit(0));
    OK(d->cuDevicePrimaryCtxRetain(&context, 0));
    OK(d->cuCtxSetCurrent(context));
    OK(d->cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    OK(d->cuStreamCreate(&apart, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 2; i++)
        OK(d->cuMemAlloc(&device[i], SCENARIO_BYTES));
    all_memories(d, NULL, "stream 0", device);
    all_memories(d, CU_STREAM_LEGACY, "legacy", device);
    all_memories(d, CU_STREAM_PER_THREAD, "per thread", device);
    all_memories(d, blocking, "blocking", device);
    all_memories(d, apart, "non-blocking", device);
    for (int i = 0; i < 2; i++)
        OK(d->cuMemFree(device[i]));
    OK(d->cuStreamDestroy(blocking));
    OK(d->cuStreamDestroy(apart));
    OK(d->cuCtxSetCurrent(NULL));
    OK(d->cuDevicePrimaryCtxRelease(0));
}

#endif
