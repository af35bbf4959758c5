/* The meaning of stream 0: the legacy stream in plain symbols, the thread's own with
 * CUDA_API_PER_THREAD_DEFAULT_STREAM. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

#include "device.h"

typedef struct {
    CUcontext context;
    CUdeviceptr word;
    CUresult query;
} Other;

static void *set_on_stream_zero(void *argument)
{
    Other *other = argument;
    OK(cuCtxSetCurrent(other->context));
    OK(cuMemsetD8Async(other->word, 9, 4, NULL));
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
    OK(cuStreamSynchronize(NULL));
#endif
    other->query = cuStreamQuery(NULL);
    return NULL;
}

/* While this thread's stream 0 is held, another thread's stream 0 is the same stream or another one. */
static void stream_zero_across_threads(CUcontext context)
{
    pthread_t thread;
    Gate gate = new_gate();
    Other other = {.context = context, .word = new_device_bytes(4), .query = 99};
    hold(gate, NULL);
    REQUIRE(pthread_create(&thread, NULL, set_on_stream_zero, &other) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
    REQUIRE(other.query == CUDA_SUCCESS);
#else
    REQUIRE(other.query == CUDA_ERROR_NOT_READY);
#endif
    EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(NULL));
    open_gate(gate);
    OK(cuStreamSynchronize(NULL));
    OK(cuMemFree(other.word));
    free_gate(gate);
}

/* Small pinned memory is read at the call if the stream itself is idle and only the legacy stream's implicit order
 * delays the copy: the copy keeps its place, but its source is read early. With own work before it, it is not. */
static void small_sources_are_read_at_the_call(void)
{
    Gate gate = new_gate();
    CUstream writer = new_stream(), between = NULL;
    CUdeviceptr device = new_device_bytes(256);
    unsigned char *host = new_pinned_bytes(256), *seen = new_pinned_bytes(256);
    CUevent event = NULL;
    OK(cuStreamCreate(&between, CU_STREAM_DEFAULT));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuMemsetD8(device, 7, 256));
    memset(host, 1, 256);
    OK(cuCtxSynchronize());
    hold(gate, writer);
    OK(cuMemcpyDtoHAsync(host, device, 64, writer));
    OK(cuEventRecord(event, writer));
    OK(cuStreamWaitEvent(between, event, 0));
    OK(cuMemcpyHtoDAsync(device + 128, host, 16, CU_STREAM_LEGACY));
    OK(cuMemcpyHtoDAsync(device + 192, host, 16, CU_STREAM_LEGACY));
    EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(CU_STREAM_LEGACY));
    open_gate(gate);
    OK(cuMemcpyDtoH(seen, device, 256));
    REQUIRE(seen[128] == 1 && seen[192] == 7);
    OK(cuEventDestroy(event));
    OK(cuStreamDestroy(writer));
    OK(cuStreamDestroy(between));
    OK(cuMemFreeHost(host));
    OK(cuMemFreeHost(seen));
    OK(cuMemFree(device));
    free_gate(gate);
}

/* The special handles mean the same stream under both names. */
static void zero_is_an_alias(void)
{
    Gate gate = new_gate();
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
    CUstream same = CU_STREAM_PER_THREAD, other = CU_STREAM_LEGACY;
#else
    CUstream same = CU_STREAM_LEGACY, other = CU_STREAM_PER_THREAD;
#endif
    hold(gate, NULL);
    EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(same));
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
    /* The thread's own stream is a blocking one, and the legacy stream stands for all of those. */
    EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(other));
#else
    OK(cuStreamQuery(other));
#endif
    open_gate(gate);
    OK(cuStreamSynchronize(same));
    OK(cuStreamQuery(NULL));
    free_gate(gate);
}

/* A synchronous copy waits for its own stream 0 and returns with the bytes. */
static void synchronous_copies_use_stream_zero(void)
{
    unsigned char back[4] = {0};
    CUdeviceptr word = new_device_bytes(4);
    OK(cuMemsetD8Async(word, 7, 4, NULL));
    OK(cuMemcpyDtoH(back, word, 4));
    REQUIRE(back[0] == 7 && back[3] == 7);
    OK(cuMemsetD8Async(word, 8, 4, NULL));
    OK(cuMemcpy((CUdeviceptr)(uintptr_t)back, word, 4));
    REQUIRE(back[0] == 8 && back[3] == 8);
    OK(cuMemFree(word));
}

int main(void)
{
    CUcontext context = open_device();
    zero_is_an_alias();
    small_sources_are_read_at_the_call();
    stream_zero_across_threads(context);
    synchronous_copies_use_stream_zero();
    close_device();
    return 0;
}
