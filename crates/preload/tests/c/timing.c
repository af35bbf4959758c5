/* The answers of queries and events around copies: orders, never times. */
#define _POSIX_C_SOURCE 200809L
#include "client.h"

static void query_around_a_held_copy(Traffic *traffic, CUstream stream, size_t bytes)
{
    Gate gate = new_gate();
    CUevent before = NULL, after = NULL;
    OK(cuEventCreate(&before, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&after, CU_EVENT_DEFAULT));
    OK(cuEventRecord(before, stream));
    hold(gate, stream);
    paint(traffic->in, bytes, bytes);
    OK(cuMemcpyHtoDAsync(traffic->device, traffic->in, bytes, stream));
    OK(cuMemcpyDtoHAsync(traffic->out, traffic->device, bytes, stream));
    OK(cuEventRecord(after, stream));
    OK(cuEventSynchronize(before));
    nap_us(30000); /* longer than any thread that looks for stuck copies waits */
    printf("held: %u %u\n", cuStreamQuery(stream), cuEventQuery(after));
    open_gate(gate);
    OK(cuEventSynchronize(after));
    float milliseconds = -1;
    OK(cuEventElapsedTime(&milliseconds, before, after));
    printf("after: %u %u, same %d, took its time %d\n", cuStreamQuery(stream), cuEventQuery(after),
           memcmp(traffic->in, traffic->out, bytes) == 0, milliseconds > 25 && milliseconds < 20000);
    OK(cuEventDestroy(before));
    OK(cuEventDestroy(after));
    free_gate(gate);
}

/* An event right behind a bulk copy must not complete before its bytes are there. */
static void events_follow_bytes(Traffic *traffic)
{
    CUevent event = NULL;
    size_t last = (size_t)TRAFFIC_EACH * TRAFFIC_BULK - 1;
    int early = 0;
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (int round = 0; round < 20; round++) {
        traffic->in[last] = (unsigned char)(round + 1);
        OK(cuMemcpyHtoDAsync(traffic->device, traffic->in, last + 1, traffic->bulk));
        OK(cuMemcpyDtoHAsync(traffic->out, traffic->device, last + 1, traffic->bulk));
        OK(cuEventRecord(event, traffic->bulk));
        OK(cuMemcpyHtoDAsync(traffic->small_device, traffic->small_in, TRAFFIC_SMALL, traffic->urgent));
        while (cuEventQuery(event) == CUDA_ERROR_NOT_READY)
            nap_us(50);
        early += traffic->out[last] != round + 1;
    }
    printf("events before their bytes: %d\n", early);
    OK(cuEventDestroy(event));
    OK(cuStreamSynchronize(traffic->urgent));
}

/* A chain through streams by events alone: bulk, small and sets take turns on the same bytes. */
static void chains(Traffic *traffic)
{
    CUstream streams[4] = {traffic->bulk, traffic->urgent, new_stream(), new_stream()};
    CUevent events[4];
    uint64_t sum = 0;
    for (int i = 0; i < 4; i++)
        OK(cuEventCreate(&events[i], CU_EVENT_DISABLE_TIMING));
    for (int round = 0; round < 40; round++) {
        CUstream stream = streams[round % 4], next = streams[(round + 1) % 4];
        size_t bytes = round % 3 == 0 ? TRAFFIC_BULK : 40 * KIB;
        if (round % 2 == 0)
            OK(cuMemsetD8Async(traffic->device, (unsigned char)round, bytes, stream));
        else
            OK(cuMemcpyHtoDAsync(traffic->device, traffic->in, bytes, stream));
        OK(cuMemcpyDtoHAsync(traffic->out, traffic->device, bytes, stream));
        OK(cuEventRecord(events[round % 4], stream));
        OK(cuStreamWaitEvent(next, events[round % 4], 0));
        if (round % 8 == 7) {
            OK(cuStreamSynchronize(stream));
            sum = mix(sum, checksum(traffic->out, TRAFFIC_BULK));
        }
    }
    OK(cuCtxSynchronize());
    printf("chain: %016llx\n", (unsigned long long)mix(sum, checksum(traffic->out, TRAFFIC_BULK)));
    for (int i = 0; i < 4; i++)
        OK(cuEventDestroy(events[i]));
    OK(cuStreamDestroy(streams[2]));
    OK(cuStreamDestroy(streams[3]));
}

/* A synchronous copy returns with its bytes in place, beside any other work. */
static void synchronous_copies_beside_bulk(Traffic *traffic)
{
    int wrong = 0;
    for (int round = 0; round < 20; round++) {
        OK(cuMemcpyHtoDAsync(traffic->device, traffic->in, TRAFFIC_BULK, traffic->bulk));
        paint(traffic->small_in, TRAFFIC_SMALL, (uint64_t)round);
        OK(cuMemcpyHtoD(traffic->small_device, traffic->small_in, TRAFFIC_SMALL));
        OK(cuMemcpyDtoH(traffic->small_out, traffic->small_device, TRAFFIC_SMALL));
        wrong += memcmp(traffic->small_in, traffic->small_out, TRAFFIC_SMALL) != 0;
    }
    printf("synchronous copies that came too early: %d\n", wrong);
    OK(cuStreamSynchronize(traffic->bulk));
}

/* The legacy stream waits for blocking streams and they for it, copies of both sizes included. */
static void legacy_order(Traffic *traffic)
{
    CUstream blocking = NULL;
    Gate gate = new_gate();
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    hold(gate, blocking);
    paint(traffic->in, TRAFFIC_BULK, 5);
    OK(cuMemcpyHtoDAsync(traffic->device, traffic->in, TRAFFIC_BULK, blocking));
    OK(cuMemcpyDtoHAsync(traffic->out, traffic->device, TRAFFIC_BULK, CU_STREAM_LEGACY));
    OK(cuMemcpyHtoDAsync(traffic->device, traffic->small_in, TRAFFIC_SMALL, blocking));
    nap_us(5000);
    printf("held: %u %u\n", cuStreamQuery(CU_STREAM_LEGACY), cuStreamQuery(blocking));
    open_gate(gate);
    OK(cuStreamSynchronize(blocking));
    printf("legacy: %d\n", memcmp(traffic->in, traffic->out, TRAFFIC_BULK) == 0);
    OK(cuStreamDestroy(blocking));
    free_gate(gate);
}

static void all(Traffic *traffic)
{
    query_around_a_held_copy(traffic, traffic->bulk, TRAFFIC_BULK);
    query_around_a_held_copy(traffic, traffic->urgent, 40 * KIB);
    query_around_a_held_copy(traffic, NULL, TRAFFIC_BULK);
    query_around_a_held_copy(traffic, CU_STREAM_PER_THREAD, TRAFFIC_BULK);
    events_follow_bytes(traffic);
    chains(traffic);
    synchronous_copies_beside_bulk(traffic);
    legacy_order(traffic);
}

int main(void)
{
    open_device();
    Traffic traffic = new_traffic();
    all(&traffic);
    free_traffic(&traffic);
    traffic = arm();
    all(&traffic);
    free_traffic(&traffic);
    close_device();
    return 0;
}
