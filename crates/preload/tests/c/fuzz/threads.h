/* Threads that the program binds to a processor, runs before others, cancels, or lets go while their work goes on. */
#ifndef THREADS_H
#define THREADS_H

#include <sched.h>
#include <sys/resource.h>

#include "copies.h"

enum { BOUND, FIRST, CANCELLED, BUSY, STRAINS };

typedef struct {
    CUcontext context;
    CUstream stream;
    CUdeviceptr device;
    unsigned char *pageable_in, *pageable_out, *in, *out;
    size_t bytes;
    int way;
    uint32_t rounds;
    atomic_int has_begun;
} Strained;

static inline void bind_to_one(uint32_t any)
{
    cpu_set_t all, one;
    REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
    CPU_ZERO(&one);
    uint32_t left = any % (uint32_t)CPU_COUNT(&all);
    for (int processor = 0; CPU_COUNT(&one) == 0; processor++)
        if (CPU_ISSET(processor, &all) && left-- == 0)
            CPU_SET(processor, &one);
    REQUIRE(pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0);
}

/* An ordinary user may not. A thread that goes on for seconds without a pause would keep the machine: SIGXCPU ends the
 * process then. */
static inline void run_first(void)
{
    struct rlimit limit = {.rlim_cur = 3000000, .rlim_max = 3000000};
    REQUIRE(setrlimit(RLIMIT_RTTIME, &limit) == 0);
    struct sched_param parameters = {.sched_priority = 1};
    pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters);
}

/* Blocking copies, with the same bytes each time. */
static inline void copy_until_cancelled(Strained *strained)
{
    for (;;) {
        OK(cuMemcpyHtoD(strained->device, strained->pageable_in, strained->bytes));
        atomic_store(&strained->has_begun, 1);
        pthread_testcancel();
    }
}

static inline void *be_strained(void *argument)
{
    Strained *it = argument;
    OK(cuCtxSetCurrent(it->context));
    if (it->way == BOUND)
        bind_to_one(it->rounds);
    else if (it->way == FIRST)
        run_first();
    else if (it->way == CANCELLED)
        copy_until_cancelled(it);
    for (uint32_t left = it->rounds; left > 0; left--) {
        if (it->way != BUSY) {
            OK(cuMemcpyHtoD(it->device, it->pageable_in, it->bytes));
            OK(cuMemcpyDtoH(it->pageable_out, it->device, it->bytes));
        }
        OK(cuMemcpyHtoDAsync(it->device, it->in, it->bytes, it->stream));
        OK(cuMemcpyDtoHAsync(it->out, it->device, it->bytes, it->stream));
        if (it->way != BUSY)
            OK(cuStreamSynchronize(it->stream));
    }
    return NULL;
}

/* In memory and a stream of its own. The stream may be the thread's default one, which ends with it. */
static inline void strained_thread(Part *part)
{
    Strained it = {.context = part->current, .bytes = any_bytes(part), .rounds = 1 + draw(part, 8)};
    pthread_t thread;
    void *result = NULL;
    uint32_t seed = draw(part, 1000), after_us = draw(part, 3000);
    it.way = (int)draw(part, STRAINS);
    /* The end of a thread whose default stream is busy may never come, natively too (seen on an H200, driver 580). */
    int has_default = draw(part, 3) == 0 && it.way != BUSY;
    it.stream = has_default ? CU_STREAM_PER_THREAD : new_stream();
    it.device = new_device_bytes(it.bytes), it.in = new_pinned_bytes(it.bytes), it.out = new_pinned_bytes(it.bytes);
    REQUIRE((it.pageable_in = malloc(it.bytes)) != NULL && (it.pageable_out = calloc(1, it.bytes)) != NULL);
    paint(it.pageable_in, it.bytes, seed), paint(it.in, it.bytes, seed + 1), paint(it.out, it.bytes, seed + 2);
    REQUIRE(pthread_create(&thread, NULL, be_strained, &it) == 0);
    if (it.way == CANCELLED) {
        while (atomic_load(&it.has_begun) == 0)
            nap_us(50);
        nap_us(after_us);
        REQUIRE(pthread_cancel(thread) == 0);
    }
    REQUIRE(pthread_join(thread, &result) == 0);
    DO(cuCtxSynchronize());
    DO(cuMemcpyDtoH(it.pageable_out, it.device, it.bytes));
    note(&part->order.log, " cancelled %d, bytes %016llx %016llx\n", result == PTHREAD_CANCELED,
         (unsigned long long)checksum(it.pageable_out, it.bytes), (unsigned long long)checksum(it.out, it.bytes));
    if (it.stream != CU_STREAM_PER_THREAD)
        OK(cuStreamDestroy(it.stream));
    OK(cuMemFree(it.device));
    OK(cuMemFreeHost(it.in));
    OK(cuMemFreeHost(it.out));
    free(it.pageable_in);
    free(it.pageable_out);
}

#endif
