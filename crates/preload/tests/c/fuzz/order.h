/* Streams and buffers of one thread, and the waits between them that make the outcome the same every time.
 *
 * Every operation of a lane (a stream) has a number. A buffer keeps its last write and all reads since; a lane keeps,
 * for every other lane, the last operation that it comes after. An event is recorded and awaited only if the two
 * operations have no other order: by one stream, by an earlier wait, also one of a third lane, by the legacy stream's
 * implicit order, or by the host, which has seen the end of one before it submits the other. */
#ifndef ORDER_H
#define ORDER_H

#include "log.h"

enum { DEFAULT, LEGACY, PER_THREAD, BLOCKING, BLOCKING_URGENT, APART, URGENT, APART_TOO, LANES, HOST = LANES };
enum { EVENTS = 24 };

typedef enum { DEVICE, PINNED, REGISTERED, PAGEABLE } Kind;

typedef struct {
    Kind kind;
    unsigned char *host; /* null for device memory */
    CUdeviceptr address;
    int writer;
    uint64_t written, read[LANES];
} Buffer;

typedef struct {
    CUstream streams[LANES];
    uint64_t count[LANES], behind[LANES + 1][LANES];
    CUevent events[EVENTS];
    uint32_t random;
    uint32_t whim; /* draws the kind of a wait: it depends on times, and must not change the operations */
    CUdeviceptr words; /* one of each lane, which counts up and is waited for instead of an event */
    uint32_t values[LANES];
    int is_held;
    Log log;
} Order;

static inline uint32_t below(Order *order, size_t limit)
{
    return (uint32_t)(next_random(&order->random) % limit);
}

static inline uint32_t whim_below(Order *order, size_t limit)
{
    return (uint32_t)(next_random(&order->whim) % limit);
}

/* The stream that handle 0 means is one of the others. */
static inline int lane_of(int slot)
{
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
    return slot == DEFAULT ? PER_THREAD : slot;
#else
    return slot == DEFAULT ? LEGACY : slot;
#endif
}

static inline int is_blocking(int lane)
{
    return lane >= LEGACY && lane <= BLOCKING_URGENT;
}

/* `party` comes after all operations of the lane, and after all that those come after. */
static inline void stands_behind(Order *order, int party, int lane)
{
    for (int other = 0; other < LANES; other++)
        if (order->behind[lane][other] > order->behind[party][other])
            order->behind[party][other] = order->behind[lane][other];
    order->behind[party][lane] = order->count[lane];
}

/* An operation is about to be submitted: blocking streams and the legacy one are behind each other. */
static inline void enter(Order *order, int lane)
{
    for (int other = LEGACY; other <= BLOCKING_URGENT; other++)
        if (other != lane && ((lane == LEGACY && is_blocking(other)) || (is_blocking(lane) && other == LEGACY)))
            stands_behind(order, lane, other);
}

static inline CUevent some_event(Order *order)
{
    return order->events[whim_below(order, EVENTS)];
}

static inline void host_waits(Order *order, int lane)
{
    CUevent event = some_event(order);
    REQUIRE(!order->is_held);
    switch (whim_below(order, 3)) {
    case 0:
        OK(cuStreamSynchronize(order->streams[lane]));
        break;
    case 1:
        OK(cuEventRecord(event, order->streams[lane]));
        OK(cuEventSynchronize(event));
        break;
    default:
        OK(cuCtxSynchronize());
        for (int other = LEGACY; other < LANES; other++)
            stands_behind(order, HOST, other);
    }
}

/* A stream writes a number when it gets there, and another waits for the number. */
static inline void wait_for_word(Order *order, int party, int lane)
{
    CUdeviceptr word = order->words + (CUdeviceptr)lane * sizeof(uint32_t);
    uint32_t value = ++order->values[lane];
    OK(cuStreamWriteValue32(order->streams[lane], word, value, CU_STREAM_WRITE_VALUE_DEFAULT));
    OK(cuStreamWaitValue32(order->streams[party], word, value, CU_STREAM_WAIT_VALUE_GEQ));
}

/* The party, a lane or the host, waits for an operation of a lane. */
static inline void wait_for(Order *order, int party, int lane, uint64_t number)
{
    if (order->log.is_loud)
        printf("%d waits for operation %llu of %d\n", party, (unsigned long long)number, lane);
    if (party == HOST)
        host_waits(order, lane);
    else if (lane >= BLOCKING && party >= BLOCKING && whim_below(order, 4) == 0)
        wait_for_word(order, party, lane);
    else {
        CUevent event = some_event(order);
        OK(cuEventRecord(event, order->streams[lane]));
        OK(cuStreamWaitEvent(order->streams[party], event, 0));
    }
    stands_behind(order, party, lane);
}

/* … unless it is behind it already. */
static inline void get_behind(Order *order, int party, int lane, uint64_t number)
{
    if (party != lane && order->behind[party][lane] < number && order->behind[HOST][lane] < number)
        wait_for(order, party, lane, number);
}

/* Before a lane reads pinned memory. Measured on an H100: where a blocking stream is idle itself and stands behind
 * another only because one of the two is the legacy stream, the driver reads up to 24 KiB of pinned memory at the
 * call. */
static inline void wait_for_source(Order *order, int lane, const Buffer *buffer)
{
    int is_pinned = buffer->kind == PINNED || buffer->kind == REGISTERED;
    if (is_pinned && is_blocking(lane) && buffer->writer != lane &&
        order->behind[HOST][buffer->writer] < buffer->written)
        wait_for(order, lane, buffer->writer, buffer->written);
}

/* Before an operation that reads the buffer, or writes it. */
static inline void use(Order *order, int party, const Buffer *buffer, int writes)
{
    get_behind(order, party, buffer->writer, buffer->written);
    for (int lane = LEGACY; writes && lane < LANES; lane++)
        get_behind(order, party, lane, buffer->read[lane]);
}

/* After it; `number` is that of the operation. */
static inline void used(int lane, uint64_t number, Buffer *buffer, int writes)
{
    if (writes) {
        buffer->writer = lane, buffer->written = number;
        memset(buffer->read, 0, sizeof buffer->read);
    } else {
        buffer->read[lane] = number;
    }
}

static inline CUstream new_lane(int lane)
{
    int least = 0, greatest = 0;
    CUstream stream = NULL;
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    int priority = lane == URGENT || lane == BLOCKING_URGENT ? greatest : least;
    OK(cuStreamCreateWithPriority(&stream, lane >= APART ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT, priority));
    return stream;
}

static inline void begin_order(Order *order, uint32_t seed)
{
    static const unsigned int flags[] = {CU_EVENT_DEFAULT, CU_EVENT_DISABLE_TIMING, CU_EVENT_BLOCKING_SYNC};
    order->whim = seed * 2654435761u | 1;
    order->words = new_device_bytes(LANES * sizeof(uint32_t));
    OK(cuMemsetD8(order->words, 0, LANES * sizeof(uint32_t)));
    order->streams[LEGACY] = CU_STREAM_LEGACY, order->streams[PER_THREAD] = CU_STREAM_PER_THREAD;
    for (int lane = BLOCKING; lane < LANES; lane++)
        order->streams[lane] = new_lane(lane);
    for (int i = 0; i < EVENTS; i++)
        OK(cuEventCreate(&order->events[i], flags[i % 3]));
}

static inline void end_order(Order *order)
{
    OK(cuMemFree(order->words));
    for (int lane = BLOCKING; lane < LANES; lane++)
        OK(cuStreamDestroy(order->streams[lane]));
    for (int i = 0; i < EVENTS; i++)
        OK(cuEventDestroy(order->events[i]));
}

#endif
