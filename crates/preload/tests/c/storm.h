/* One thread of the storm: what it draws, and its memory. */
#ifndef STORM_H
#define STORM_H

#include <pthread.h>

#include "order.h"

enum { BUFFER_BYTES = 2560 * KIB, BUFFERS = 16, DEVICES = 6, PINNED_END = 10, REGISTERED_END = 13 };
enum { THREADS_MAX = 8, LINES_BYTES = 1 << 16, OPERATIONS_A_LINE = 50, LAUNCHES_MAX = 2 };

typedef struct {
    Order order;
    Buffer buffers[BUFFERS];
    Gate gate;
    int gated_lane;
    uint64_t gated_number;
    CUfunction add;
    pthread_t thread;
    CUcontext context;
    uint32_t seed;
    int number, operations;
    size_t line_end;
    char lines[LINES_BYTES];
} Storm;

/* While a stream waits for the host nobody makes a call in which a driver may wait for the device and let the thread
 * that would release it not in: natively that hangs. Nor does a whole context wait while something is captured. So
 * there are two rooms, and who is in one keeps everybody out of the other. */
enum { NO_ROOM = -1, HELD_ROOM, WAITING_ROOM };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t left;
    int inside[2];
} rooms = {.lock = PTHREAD_MUTEX_INITIALIZER, .left = PTHREAD_COND_INITIALIZER};

static inline void enter_room(int room)
{
    REQUIRE(pthread_mutex_lock(&rooms.lock) == 0);
    while (rooms.inside[!room] > 0)
        REQUIRE(pthread_cond_wait(&rooms.left, &rooms.lock) == 0);
    rooms.inside[room]++;
    REQUIRE(pthread_mutex_unlock(&rooms.lock) == 0);
}

static inline void leave_room(int room)
{
    REQUIRE(pthread_mutex_lock(&rooms.lock) == 0);
    if (--rooms.inside[room] == 0)
        REQUIRE(pthread_cond_broadcast(&rooms.left) == 0);
    REQUIRE(pthread_mutex_unlock(&rooms.lock) == 0);
}

static inline uint32_t draw(Storm *storm, size_t limit)
{
    return below(&storm->order, limit);
}

static inline CUstream handle(Storm *storm, int slot)
{
    return storm->order.streams[slot];
}

static inline size_t any_bytes(Storm *storm)
{
    static const size_t limits[] = {16, 4 * KIB, 24 * KIB + 8, 100 * KIB, MIB, BUFFER_BYTES, BUFFER_BYTES};
    size_t bytes = 1 + draw(storm, limits[draw(storm, sizeof limits / sizeof *limits)]);
    return draw(storm, 2) ? bytes : (bytes + 15) / 16 * 16;
}

static inline size_t any_place(Storm *storm, size_t bytes)
{
    size_t at = draw(storm, BUFFER_BYTES - bytes + 1);
    return draw(storm, 2) ? at : at / 256 * 256;
}

/* Memory: as new it holds what the seed says. */
static inline void make_buffer(Buffer *buffer, uint64_t seed)
{
    void *host = NULL;
    if (buffer->kind == DEVICE) {
        OK(cuMemAlloc(&buffer->address, BUFFER_BYTES));
        return;
    }
    if (buffer->kind == PINNED)
        OK(cuMemHostAlloc(&host, BUFFER_BYTES, seed % 2 ? CU_MEMHOSTALLOC_PORTABLE : CU_MEMHOSTALLOC_DEVICEMAP));
    else
        REQUIRE((host = aligned_alloc(4096, BUFFER_BYTES)) != NULL);
    if (buffer->kind == REGISTERED)
        OK(cuMemHostRegister(host, BUFFER_BYTES, seed % 2 ? CU_MEMHOSTREGISTER_PORTABLE : 0));
    buffer->host = host, buffer->address = (CUdeviceptr)(uintptr_t)host;
    paint(host, BUFFER_BYTES, seed);
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

static inline Buffer *any_device(Storm *storm)
{
    return &storm->buffers[draw(storm, DEVICES)];
}

static inline Buffer *any_host(Storm *storm, int end)
{
    return &storm->buffers[DEVICES + draw(storm, (size_t)(end - DEVICES))];
}

#endif
