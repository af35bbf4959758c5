/* Many threads at once: each has its own current context, all share the device. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

#include "device.h"

enum { THREADS = 8, ROUNDS = 60, BYTES = 20000 };

typedef struct {
    CUcontext context;
    uint32_t seed;
    CUevent shared;
} Task;

static void round_trip(CUstream stream, CUdeviceptr device, unsigned char *in, unsigned char *out, uint32_t seed)
{
    fill(in, BYTES, seed);
    memset(out, 0, BYTES);
    OK(cuMemcpyHtoDAsync(device, in, BYTES, stream));
    OK(cuMemcpyDtoHAsync(out, device, BYTES, stream));
    OK(cuStreamSynchronize(stream));
    REQUIRE(memcmp(in, out, BYTES) == 0);
}

static void *work(void *argument)
{
    Task *task = argument;
    CUcontext current = (CUcontext)UNTOUCHED;
    CUdeviceptr device = 0;
    OK(cuCtxGetCurrent(&current));
    REQUIRE(current == NULL);
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&device, 64));
    OK(cuCtxSetCurrent(task->context));
    CUstream stream = new_stream();
    unsigned char *in = new_pinned_bytes(BYTES), *out = new_pinned_bytes(BYTES);
    device = new_device_bytes(BYTES);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        round_trip(stream, device, in, out, task->seed + round);
        OK(cuEventRecord(task->shared, stream));
    }
    OK(cuStreamDestroy(stream));
    OK(cuMemFree(device));
    OK(cuMemFreeHost(in));
    OK(cuMemFreeHost(out));
    return NULL;
}

/* One thread sleeps in the driver, and another one releases it. */
static void *synchronise(void *argument)
{
    Task *task = argument;
    OK(cuCtxSetCurrent(task->context));
    OK(cuEventSynchronize(task->shared));
    return NULL;
}

static void a_blocked_thread_blocks_no_other(CUcontext context, CUevent event)
{
    pthread_t thread;
    Task task = {.context = context, .shared = event};
    Gate gate = new_gate();
    CUstream held = new_stream(), apart = new_stream();
    unsigned char *in = new_pinned_bytes(BYTES), *out = new_pinned_bytes(BYTES);
    CUdeviceptr device = new_device_bytes(BYTES);
    hold(gate, held);
    OK(cuEventRecord(event, held));
    REQUIRE(pthread_create(&thread, NULL, synchronise, &task) == 0);
    for (uint32_t round = 0; round < 20; round++)
        round_trip(apart, device, in, out, round);
    EXPECT(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    open_gate(gate);
    REQUIRE(pthread_join(thread, NULL) == 0);
    OK(cuEventQuery(event));
    OK(cuStreamDestroy(held));
    OK(cuStreamDestroy(apart));
    OK(cuMemFree(device));
    OK(cuMemFreeHost(in));
    OK(cuMemFreeHost(out));
    free_gate(gate);
}

int main(void)
{
    pthread_t threads[THREADS];
    Task tasks[THREADS];
    CUevent event = NULL;
    CUcontext context = open_device();
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (uint32_t i = 0; i < THREADS; i++) {
        tasks[i] = (Task){.context = context, .seed = 1000 * i, .shared = event};
        REQUIRE(pthread_create(&threads[i], NULL, work, &tasks[i]) == 0);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    OK(cuEventSynchronize(event));
    a_blocked_thread_blocks_no_other(context, event);
    OK(cuEventDestroy(event));
    close_device();
    return 0;
}
