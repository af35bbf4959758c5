/* Contexts and threads that come and go, also while their copies are under way. */
#ifndef CONTEXTS_H
#define CONTEXTS_H

#include "copies.h"

enum { LEAVE_CLEAN, LEAVE_BUSY, LEAVE_POPPED, LEAVE_ELSEWHERE, LEAVES };

typedef struct {
    CUcontext context;
    CUstream bulk, urgent;
    unsigned char *in, *out;
    CUdeviceptr device;
    size_t bytes, small;
} Passing;

static inline Passing new_passing(Part *part)
{
    Passing passing = {.bytes = part->bytes / 2, .small = 1 + draw(part, 30 * KIB)};
    DO(cuCtxCreate_v2(&passing.context, 0, 0));
    passing.bulk = new_lane(APART), passing.urgent = new_lane(URGENT);
    passing.in = new_pinned_bytes(part->bytes), passing.out = new_pinned_bytes(part->bytes);
    passing.device = new_device_bytes(part->bytes);
    paint(passing.in, part->bytes, draw(part, 1000));
    paint(passing.out, part->bytes, draw(part, 1000));
    return passing;
}

/* The first half of the memory belongs to one stream, the second to the other. */
static inline void use_passing(Part *part, const Passing *passing)
{
    size_t half = passing->bytes;
    for (uint32_t left = 1 + draw(part, 4); left > 0; left--) {
        DO(cuMemcpyHtoDAsync(passing->device, passing->in, half, passing->bulk));
        DO(cuMemcpyHtoDAsync(passing->device + half, passing->in + half, passing->small, passing->urgent));
        DO(cuMemcpyDtoHAsync(passing->out, passing->device, half, passing->bulk));
        DO(cuMemcpyDtoHAsync(passing->out + half, passing->device + half, passing->small, passing->urgent));
    }
}

static inline void close_passing(Part *part, const Passing *passing)
{
    DO(cuStreamSynchronize(passing->urgent));
    DO(cuCtxSynchronize());
    note(&part->order.log, " bytes %016llx\n", (unsigned long long)checksum(passing->out, 2 * passing->bytes));
    DO(cuStreamDestroy(passing->bulk));
    DO(cuStreamDestroy(passing->urgent));
    DO(cuMemFreeHost(passing->in));
    DO(cuMemFreeHost(passing->out));
    DO(cuMemFree(passing->device));
}

static inline void passing_context(Part *part)
{
    if (!part->has_contexts)
        return;
    Passing passing = new_passing(part);
    CUcontext current = NULL;
    uint32_t way = draw(part, LEAVES);
    use_passing(part, &passing);
    if (way == LEAVE_CLEAN)
        close_passing(part, &passing);
    else if (way == LEAVE_POPPED)
        DO(cuCtxPopCurrent(&current));
    else if (way == LEAVE_ELSEWHERE)
        DO(cuCtxSetCurrent(part->current));
    DO(cuCtxDestroy(passing.context));
    DO(cuCtxGetCurrent(&current));
    note(&part->order.log, " current %d\n", current == part->current);
    OK(cuCtxSetCurrent(part->current));
}

/* Contexts that end by cuCtxDetach, after as many uses as they have, each perhaps at the handle of the one before. */
static inline void detached_contexts(Part *part)
{
    if (!part->has_contexts)
        return;
    for (uint32_t left = 1 + draw(part, 2); left > 0; left--) {
        Passing passing = new_passing(part);
        CUcontext same = NULL;
        uint32_t uses = draw(part, 3), is_clean = draw(part, 2);
        for (uint32_t i = 0; i < uses; i++) {
            DO(cuCtxAttach(&same, 0));
            REQUIRE(same == passing.context);
        }
        use_passing(part, &passing);
        for (uint32_t i = 0; i < uses; i++)
            DO(cuCtxDetach(passing.context));
        use_passing(part, &passing);
        if (is_clean)
            close_passing(part, &passing);
        DO(cuCtxDetach(passing.context));
        DO(cuCtxGetCurrent(&same));
        note(&part->order.log, " current %d\n", same == part->current);
        OK(cuCtxSetCurrent(part->current));
    }
}

typedef struct {
    CUcontext context;
    const Buffer *from, *via, *to;
    size_t bytes;
    CUresult codes[4];
} Errand;

static inline void *run_errand(void *argument)
{
    Errand *errand = argument;
    errand->codes[0] = cuCtxSetCurrent(errand->context);
    errand->codes[1] = cuMemcpyHtoDAsync(errand->via->address, errand->from->host, errand->bytes, CU_STREAM_PER_THREAD);
    errand->codes[2] = cuMemcpyDtoHAsync(errand->to->host, errand->via->address, errand->bytes, CU_STREAM_PER_THREAD);
    errand->codes[3] = cuStreamSynchronize(CU_STREAM_PER_THREAD);
    return NULL;
}

/* A thread with a default stream of its own, for two copies. */
static inline void passing_thread(Part *part)
{
    Errand errand = {.context = part->current, .via = any_device(part), .bytes = any_bytes(part)};
    pthread_t thread;
    errand.from = any_host(part, REGISTERED_END);
    do
        errand.to = any_host(part, REGISTERED_END);
    while (errand.to == errand.from);
    use(&part->order, HOST, errand.from, 0);
    use(&part->order, HOST, errand.via, 1);
    use(&part->order, HOST, errand.to, 1);
    REQUIRE(pthread_create(&thread, NULL, run_errand, &errand) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    for (int i = 0; i < 4; i++)
        note(&part->order.log, " errand %u\n", errand.codes[i]);
}

/* Calls of a thread that has no context. */
static inline void without_context(Part *part)
{
    CUcontext context = NULL;
    CUstream stream = NULL;
    CUdeviceptr device = 0;
    DO(cuCtxPopCurrent(&context));
    note(&part->order.log, " popped %d\n", context == part->current);
    DO(cuMemcpyHtoD(part->scratch, part->scratch_pinned, SCRATCH_BYTES));
    DO(cuMemcpyHtoDAsync(part->scratch, part->scratch_pinned, SCRATCH_BYTES, NULL));
    DO(cuMemcpyHtoDAsync(part->scratch, part->scratch_pinned, SCRATCH_BYTES, CU_STREAM_PER_THREAD));
    DO(cuStreamCreate(&stream, 0));
    DO(cuMemAlloc(&device, 1000));
    DO(cuCtxSynchronize());
    DO(cuCtxPushCurrent(context));
}

#endif
