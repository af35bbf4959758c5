/* A stream copies in bulk behind a gate, and is quiet then. A thread that waits for the stream, an
 * event or the context meets a stream that has moved little lately, so the copy passes as one that comes first. While
 * its stream was busy a wait lifted nothing. Another stream has small copies, so that bulk is bulk. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

#include "client.h"

enum { BULK = 24 * MIB, SMALL = 256 * KIB };

/* The gate in front of the bulk opens so late, and the stream has been quiet for so long before it is waited for. By
 * demand 24 MiB are forgotten after 4 ms. */
enum { GATE_US = 120000, QUIET_US = 20000 };

static void *opens(void *gate)
{
    nap_us(GATE_US);
    open_gate(*(Gate *)gate);
    return NULL;
}

int main(void)
{
    REQUIRE(setenv("OVERTAKE_AUTOMATIC", "demand", 1) == 0);
    open_device();
    CUstream bulk = new_stream(), small = new_stream();
    CUevent event;
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    unsigned char *large = new_pinned_bytes(2 * BULK), *little = new_pinned_bytes(SMALL);
    CUdeviceptr there = new_device_bytes(BULK), little_there = new_device_bytes(SMALL);
    uint64_t sum = 0;
    for (int i = 0; i < 4; i++) {
        OK(cuMemcpyHtoDAsync(little_there, little, SMALL, small));
        OK(cuStreamSynchronize(small));
        paint(large, BULK, (uint64_t)i);
        Gate gate = new_gate();
        hold(gate, bulk);
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, opens, &gate) == 0);
        OK(cuMemcpyHtoDAsync(there, large, BULK, bulk));
        OK(cuEventRecord(event, bulk));
        /* The last time the stream is busy when it is waited for. */
        nap_us(i < 3 ? QUIET_US : 0);
        OK(i == 0 ? cuStreamSynchronize(bulk) : i == 1 ? cuEventSynchronize(event) : cuCtxSynchronize());
        REQUIRE(pthread_join(thread, NULL) == 0);
        free_gate(gate);
        OK(cuMemcpyDtoH(large + BULK, there, BULK));
        REQUIRE(memcmp(large, large + BULK, BULK) == 0);
        sum = mix(sum, checksum(large + BULK, BULK));
    }
    printf("bulk: %016llx\n", (unsigned long long)sum);
    close_device();
    return 0;
}
