/* The small copies of loaders.py: a thread copies 64 KiB of pinned memory to the device and waits for it, again and
 * again, on a plain stream of the context that is current where it begins. */
#include <pthread.h>
#include <stdatomic.h>

#include "found.h"

enum { COPY_BYTES = 64 << 10, PAUSE_NS = 150000 };

static struct {
    CUcontext context;
    CUstream stream;
    CUdeviceptr device;
    void *host;
    double *taken_us;
    int limit, count;
    atomic_int is_ending;
    pthread_t thread;
} copies;

static void prepare(void)
{
    ok(FUNCTION(cuCtxGetCurrent)(&copies.context), "cuCtxGetCurrent");
    ok(FUNCTION(cuStreamCreate)(&copies.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    ok(FUNCTION(cuMemAlloc)(&copies.device, COPY_BYTES), "cuMemAlloc");
    ok(FUNCTION(cuMemHostAlloc)(&copies.host, COPY_BYTES, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
}

static void *copy_on(void *nothing)
{
    __typeof__(&cuMemcpyHtoDAsync) copy = FUNCTION(cuMemcpyHtoDAsync);
    __typeof__(&cuStreamSynchronize) wait = FUNCTION(cuStreamSynchronize);
    (void)nothing;
    ok(FUNCTION(cuCtxSetCurrent)(copies.context), "cuCtxSetCurrent");
    while (!copies.is_ending && copies.count < copies.limit) {
        double began_ns = now_ns();
        ok(copy(copies.device, copies.host, COPY_BYTES, copies.stream), "cuMemcpyHtoDAsync");
        ok(wait(copies.stream), "cuStreamSynchronize");
        copies.taken_us[copies.count++] = (now_ns() - began_ns) / 1e3;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return NULL;
}

/* Begins to copy, and writes the times to a list of so many. */
void loaders_begin(double *taken_us, int limit)
{
    if (copies.context == NULL)
        prepare();
    copies.taken_us = taken_us, copies.limit = limit, copies.count = 0, copies.is_ending = 0;
    if (pthread_create(&copies.thread, NULL, copy_on, NULL) != 0)
        exit(1);
}

/* Ends it. Returns the number of copies that were timed. */
int loaders_end(void)
{
    copies.is_ending = 1;
    pthread_join(copies.thread, NULL);
    return copies.count;
}
