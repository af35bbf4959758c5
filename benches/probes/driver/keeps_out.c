/* Which driver calls, made while a stream is held, wait for it, and whether another thread gets a copy into the driver
 * meanwhile. One call a process, named by the argument; without one, the names. */
#define _GNU_SOURCE
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gpu.h"

enum { BYTES = 4 << 20, LARGE = 64 << 20, SMALL = 4096 };

static volatile unsigned *gate;
static volatile int begun;
static CUcontext context;
static CUstream held, other;
static CUdeviceptr device, beside, spare, passing;
static unsigned char *pinned, *spare_pinned, *pageable, *registered;
static CUevent event, blocking_event, done_event;
static CUgraph graph;
static CUgraphExec executable;
static double copy_ms;

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static CUDA_MEMCPY2D rows(CUmemorytype from, CUmemorytype to, void *host)
{
    CUDA_MEMCPY2D copy = {.srcMemoryType = from, .dstMemoryType = to, .srcPitch = 4096, .dstPitch = 4096};
    copy.srcHost = copy.dstHost = host;
    copy.srcDevice = copy.dstDevice = device;
    copy.WidthInBytes = 3000, copy.Height = 500;
    return copy;
}

static CUresult copy_rows(CUmemorytype from, CUmemorytype to, void *host, int is_async)
{
    CUDA_MEMCPY2D copy = rows(from, to, host);
    return is_async ? cuMemcpy2DAsync(&copy, held) : cuMemcpy2DUnaligned(&copy);
}

static CUresult many_streams(int count)
{
    CUresult code = CUDA_SUCCESS;
    for (CUstream made; count > 0 && code == CUDA_SUCCESS; count--)
        code = cuStreamCreate(&made, CU_STREAM_NON_BLOCKING);
    return code;
}

static CUresult many_events(int count)
{
    CUresult code = CUDA_SUCCESS;
    for (CUevent made; count > 0 && code == CUDA_SUCCESS; count--)
        code = cuEventCreate(&made, CU_EVENT_DISABLE_TIMING);
    return code;
}

static CUresult allocate(size_t bytes, int in_order)
{
    CUdeviceptr made;
    return in_order ? cuMemAllocAsync(&made, bytes, held) : cuMemAlloc(&made, bytes);
}

static CUresult pin(size_t bytes)
{
    void *made;
    return cuMemHostAlloc(&made, bytes, 0);
}

#define HOST CU_MEMORYTYPE_HOST
#define DEVICE CU_MEMORYTYPE_DEVICE
#define CALLS(call)                                                                                                    \
    call("cuCtxSynchronize", cuCtxSynchronize())                                                                       \
    call("cuStreamSynchronize", cuStreamSynchronize(held))                                                             \
    call("cuStreamSynchronize-legacy", cuStreamSynchronize(CU_STREAM_LEGACY))                                          \
    call("cuEventSynchronize", cuEventSynchronize(event))                                                              \
    call("cuEventSynchronize-blocking", cuEventSynchronize(blocking_event))                                            \
    call("cuMemcpyHtoDAsync-pageable", cuMemcpyHtoDAsync(device, pageable, BYTES, held))                               \
    call("cuMemcpyDtoHAsync-pageable", cuMemcpyDtoHAsync(pageable, device, BYTES, held))                               \
    call("cuMemcpyHtoDAsync-pageable-4-KiB", cuMemcpyHtoDAsync(device, pageable, SMALL, held))                         \
    call("cuMemcpyDtoHAsync-pageable-4-KiB", cuMemcpyDtoHAsync(pageable, device, SMALL, held))                         \
    call("cuMemcpy2DAsync-from-pageable", copy_rows(HOST, DEVICE, pageable, 1))                                        \
    call("cuMemcpy2DAsync-to-pageable", copy_rows(DEVICE, HOST, pageable, 1))                                          \
    call("cuMemcpy2DAsync-pinned", copy_rows(HOST, DEVICE, pinned, 1))                                                 \
    call("cuMemcpyAsync-host-to-host",                                                                                 \
         cuMemcpyAsync((CUdeviceptr)pinned, (CUdeviceptr)(pinned + BYTES / 2), BYTES / 2, held))                       \
    call("cuMemcpyHtoD-pinned", cuMemcpyHtoD(device, pinned, BYTES))                                                   \
    call("cuMemcpyDtoH-pinned", cuMemcpyDtoH(pinned, device, BYTES))                                                   \
    call("cuMemcpyHtoD-pageable", cuMemcpyHtoD(device, pageable, BYTES))                                               \
    call("cuMemcpyDtoH-pageable", cuMemcpyDtoH(pageable, device, BYTES))                                               \
    call("cuMemcpyDtoD", cuMemcpyDtoD(device, beside, BYTES))                                                          \
    call("cuMemcpy2DUnaligned-pageable", copy_rows(HOST, DEVICE, pageable, 0))                                         \
    call("cuMemcpyPeer", cuMemcpyPeer(device, context, beside, context, BYTES))                                        \
    call("cuMemsetD8", cuMemsetD8(device, 1, BYTES))                                                                   \
    call("cuStreamCreate-8", many_streams(8))                                                                          \
    call("cuStreamCreate-40", many_streams(40))                                                                        \
    call("cuStreamDestroy", cuStreamDestroy(held))                                                                     \
    call("cuEventCreate-5000", many_events(5000))                                                                      \
    call("cuMemAlloc", allocate(LARGE, 0))                                                                             \
    call("cuMemFree", cuMemFree(spare))                                                                                \
    call("cuMemAllocAsync", allocate(LARGE, 1))                                                                        \
    call("cuMemFreeAsync", cuMemFreeAsync(passing, held))                                                              \
    call("cuMemHostAlloc", pin(2 * BYTES))                                                                             \
    call("cuMemFreeHost", cuMemFreeHost(spare_pinned))                                                                 \
    call("cuMemHostRegister", cuMemHostRegister(registered, BYTES, 0))                                                 \
    call("cuMemHostUnregister", cuMemHostUnregister(registered + BYTES))                                               \
    call("cuGraphInstantiate", cuGraphInstantiateWithFlags(&executable, graph, 0))                                     \
    call("cuGraphLaunch", cuGraphLaunch(executable, held))                                                             \
    call("cuGraphExecDestroy", cuGraphExecDestroy(executable))

static void make_call(const char *name)
{
#define MADE(its_name, call)                                                                                           \
    if (strcmp(name, its_name) == 0) {                                                                                 \
        OK(call);                                                                                                      \
        return;                                                                                                        \
    }
    CALLS(MADE)
    printf("%s: unknown\n", name);
    _exit(64);
}

static void *open_later(void *unused)
{
    while (!begun)
        ;
    usleep(150000);
    *gate = 1;
    return unused;
}

static void *copy_meanwhile(void *unused)
{
    OK(cuCtxSetCurrent(context));
    while (!begun)
        ;
    usleep(30000);
    double began = now_ms();
    OK(cuMemcpyHtoDAsync(beside, pinned, BYTES, other));
    copy_ms = now_ms() - began;
    return unused;
}

static void make_memory(void)
{
    void *word;
    OK(cuMemHostAlloc(&word, SMALL, CU_MEMHOSTALLOC_DEVICEMAP));
    gate = word, *gate = 0;
    OK(cuMemHostAlloc((void **)&pinned, BYTES, 0));
    OK(cuMemHostAlloc((void **)&spare_pinned, BYTES, 0));
    pageable = aligned_alloc(4096, BYTES), registered = aligned_alloc(4096, 2 * BYTES);
    memset(pageable, 1, BYTES), memset(registered, 1, 2 * BYTES);
    OK(cuMemHostRegister(registered + BYTES, BYTES, 0));
    OK(cuMemAlloc(&device, BYTES));
    OK(cuMemAlloc(&beside, BYTES));
    OK(cuMemAlloc(&spare, LARGE));
    OK(cuMemAllocAsync(&passing, BYTES, held));
}

/* Everything once, so that nothing is loaded when it matters. */
static void warm_up(void)
{
    OK(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuMemcpyHtoDAsync(device, pinned, BYTES, other));
    OK(cuStreamEndCapture(other, &graph));
    OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
    OK(cuGraphLaunch(executable, other));
    OK(cuMemcpyHtoD(device, pageable, BYTES));
    OK(cuMemcpyDtoH(pageable, device, BYTES));
    OK(cuMemsetD8(device, 1, BYTES));
    OK(cuMemcpyDtoD(device, beside, BYTES));
    OK(cuMemcpyHtoDAsync(beside, pinned, BYTES, other));
    OK(cuEventRecord(done_event, other));
    OK(cuCtxSynchronize());
}

int main(int count, char **arguments)
{
    CUstream blocking;
    pthread_t opener, copier;
#define NAME(name, call) puts(name);
    if (count < 2) {
        CALLS(NAME)
        return 0;
    }
    context = use_first_gpu();
    OK(cuStreamCreate(&held, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&done_event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&blocking_event, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC));
    make_memory();
    warm_up();
    OK(cuStreamWaitValue32(held, (CUdeviceptr)gate, 1, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuStreamWaitValue32(blocking, (CUdeviceptr)gate, 1, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuEventRecord(event, held));
    OK(cuEventRecord(blocking_event, held));
    pthread_create(&opener, NULL, open_later, NULL);
    pthread_create(&copier, NULL, copy_meanwhile, NULL);
    usleep(2000);
    begun = 1;
    double began = now_ms();
    make_call(arguments[1]);
    double call_ms = now_ms() - began;
    pthread_join(opener, NULL);
    pthread_join(copier, NULL);
    printf("%-34s returned after %7.2f ms, another thread's copy call after %7.2f ms%s%s\n", arguments[1], call_ms,
           copy_ms, call_ms > 100 ? "  waits" : "", copy_ms > 50 ? ", keeps others out" : "");
    fflush(stdout);
    _exit(0);
}
