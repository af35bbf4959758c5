/* One thread of a program: its draws, its streams and its memory. */
#ifndef PART_H
#define PART_H

#include "order.h"
#include "rooms.h"

enum { BYTES_MAX = 2560 * KIB, BYTES_SMALL = 320 * KIB };
enum { POOL, MAPPED, ELSEWHERE, READ_ONLY, PLACES };
enum { BUFFERS = 16, DEVICES = 6, PINNED_END = 10, REGISTERED_END = 13, SCRATCH_BYTES = 64 * KIB };

typedef struct {
    Order order;
    size_t bytes; /* of each buffer */
    Buffer buffers[BUFFERS];
    Buffer away; /* on another device, if there is one */
    Buffer places[PLACES]; /* without an address until their first use */
    CUdeviceptr mapped;
    CUcontext elsewhere;
    Gate gate;
    int gated_lane;
    uint64_t gated_number;
    CUfunction add, fill;
    unsigned int multiprocessors;
    CUdeviceptr scratch; /* for calls that fail: its content is not compared */
    unsigned char *scratch_pinned;
    pthread_t thread;
    pthread_barrier_t *end; /* of all threads of the program */
    CUcontext shared, current, other;
    const struct Common *common;
    uint32_t seed;
    int number, steps, is_alone, has_contexts, has_own_context;
} Part;

/* Makes a call whose result is the same each time. */
#define DO(call) noted(&part->order.log, #call, call)

static inline uint32_t draw(Part *part, size_t limit)
{
    return below(&part->order, limit);
}

static inline CUstream handle(Part *part, int slot)
{
    return part->order.streams[slot];
}

static inline size_t any_bytes(Part *part)
{
    static const size_t limits[] = {16, 4 * KIB, 24 * KIB + 8, 100 * KIB, MIB, BYTES_MAX, BYTES_MAX};
    size_t limit = limits[draw(part, sizeof limits / sizeof *limits)];
    size_t bytes = 1 + draw(part, limit < part->bytes ? limit : part->bytes);
    return draw(part, 2) ? bytes : (bytes + 15) / 16 * 16;
}

static inline size_t any_place(Part *part, size_t bytes)
{
    size_t at = draw(part, part->bytes - bytes + 1);
    return draw(part, 2) ? at : at / 256 * 256;
}

/* Memory: new memory has the bytes of its seed. */
static inline void make_buffer(Buffer *buffer, size_t bytes, uint64_t seed)
{
    void *host = NULL;
    if (buffer->kind == DEVICE) {
        OK(cuMemAlloc(&buffer->address, bytes));
        return;
    }
    if (buffer->kind == PINNED)
        OK(cuMemHostAlloc(&host, bytes, seed % 2 ? CU_MEMHOSTALLOC_PORTABLE : CU_MEMHOSTALLOC_DEVICEMAP));
    else
        REQUIRE((host = aligned_alloc(4096, bytes)) != NULL);
    if (buffer->kind == REGISTERED)
        OK(cuMemHostRegister(host, bytes, seed % 2 ? CU_MEMHOSTREGISTER_PORTABLE : 0));
    buffer->host = host, buffer->address = (CUdeviceptr)(uintptr_t)host;
    paint(host, bytes, seed);
}

static inline void free_buffer(Buffer *buffer)
{
    if (buffer->kind == DEVICE) {
        OK(cuMemFree(buffer->address));
    } else if (buffer->kind == PINNED) {
        OK(cuMemFreeHost(buffer->host));
    } else {
        if (buffer->kind == REGISTERED)
            OK(cuMemHostUnregister(buffer->host));
        free(buffer->host);
    }
}

static inline Buffer *any_device(Part *part)
{
    return &part->buffers[draw(part, DEVICES)];
}

static inline Buffer *any_host(Part *part, int end)
{
    return &part->buffers[DEVICES + draw(part, (size_t)(end - DEVICES))];
}

/* The host waits for everything that this thread has submitted. */
static inline void settle(Part *part)
{
    OK(cuCtxSynchronize());
    for (int lane = LEGACY; lane < LANES; lane++)
        stands_behind(&part->order, HOST, lane);
}

#endif
