/* Programs whose copies wait, or do not, for one known reason each: the first argument names it. The drop-in watches,
 * and tests/observed.rs compares what it says with what is known here. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

#include "client.h"

enum { BULK = 32 * MIB, SMALL = 64 * KIB, PIECE = 512 * KIB, ROUNDS = 6 };

typedef struct {
    CUstream bulk, urgent;
    unsigned char *pinned, *little, *pageable;
    CUdeviceptr device, little_device;
} Parts;

static Parts new_parts(void)
{
    Parts parts = {.bulk = new_stream(), .urgent = new_stream()};
    parts.pinned = new_pinned_bytes(BULK);
    parts.little = new_pinned_bytes(SMALL);
    parts.pageable = calloc(1, BULK);
    REQUIRE(parts.pageable != NULL);
    parts.device = new_device_bytes(BULK);
    parts.little_device = new_device_bytes(SMALL);
    return parts;
}

/* An urgent copy that the program waits for. */
static void urgent(Parts *parts, const void *source)
{
    OK(cuMemcpyHtoDAsync(parts->little_device, source, SMALL, parts->urgent));
    OK(cuStreamSynchronize(parts->urgent));
}

static void bulk(Parts *parts)
{
    OK(cuMemcpyHtoDAsync(parts->device, parts->pinned, BULK, parts->bulk));
}

/* Urgent copies meet nothing first, and then stand behind bulk. */
static void contended_from(Parts *parts, const void *source)
{
    urgent(parts, source);
    for (int round = 0; round < ROUNDS; round++) {
        urgent(parts, source);
        bulk(parts);
        bulk(parts);
        urgent(parts, source);
        OK(cuStreamSynchronize(parts->bulk));
    }
}

static void contended(Parts *parts)
{
    contended_from(parts, parts->little);
}

static void small_pageable(Parts *parts)
{
    contended_from(parts, parts->pageable);
}

static void one_stream(Parts *parts)
{
    for (int i = 0; i < 100; i++)
        OK(cuMemcpyHtoDAsync(parts->little_device, parts->pageable, SMALL, parts->urgent));
    OK(cuStreamSynchronize(parts->urgent));
}

static void one_stream_large(Parts *parts)
{
    for (int i = 0; i < ROUNDS; i++)
        OK(cuMemcpyHtoDAsync(parts->device, parts->pageable, BULK, parts->bulk));
    OK(cuStreamSynchronize(parts->bulk));
}

static void captured(Parts *parts)
{
    CUgraph graph = NULL;
    CUgraphExec executable = NULL;
    OK(cuStreamBeginCapture(parts->bulk, 0));
    for (int i = 0; i < 20; i++)
        bulk(parts);
    OK(cuStreamEndCapture(parts->bulk, &graph));
    OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
    OK(cuGraphLaunch(executable, parts->bulk));
    OK(cuStreamSynchronize(parts->bulk));
    urgent(parts, parts->little);
    OK(cuGraphExecDestroy(executable));
    OK(cuGraphDestroy(graph));
}

static void *opens(void *gate)
{
    nap_us(100000);
    open_gate(*(Gate *)gate);
    return NULL;
}

/* The program waits for work that is no copy. */
static void kernels(Parts *parts)
{
    Gate gate = new_gate();
    pthread_t thread;
    urgent(parts, parts->little);
    hold(gate, parts->urgent);
    REQUIRE(pthread_create(&thread, NULL, opens, &gate) == 0);
    OK(cuStreamSynchronize(parts->urgent));
    REQUIRE(pthread_join(thread, NULL) == 0);
    free_gate(gate);
}

static void no_copies(Parts *parts)
{
    OK(cuStreamSynchronize(parts->bulk));
}

static void on_device(Parts *parts)
{
    for (int i = 0; i < 9; i++)
        OK(cuMemcpyDtoDAsync(parts->device, parts->little_device, SMALL, parts->bulk));
    OK(cuStreamSynchronize(parts->bulk));
}

/* A stream with a CUDA priority, and nothing that could yield to it. */
static void alone(Parts *parts)
{
    CUstream first = NULL;
    OK(cuStreamCreateWithPriority(&first, CU_STREAM_NON_BLOCKING, -5));
    for (int i = 0; i < 10; i++) {
        OK(cuMemcpyHtoDAsync(parts->little_device, parts->little, SMALL, first));
        OK(cuStreamSynchronize(first));
        urgent(parts, parts->little);
    }
    OK(cuStreamDestroy(first));
}

/* Bulk has always gone when an urgent copy comes. */
static void apart(Parts *parts)
{
    for (int round = 0; round < ROUNDS; round++) {
        bulk(parts);
        OK(cuStreamSynchronize(parts->bulk));
        urgent(parts, parts->little);
    }
}

/* Bulk to the device, urgent copies to the host. */
static void opposite(Parts *parts)
{
    for (int round = 0; round < ROUNDS; round++) {
        bulk(parts);
        OK(cuMemcpyDtoHAsync(parts->little, parts->little_device, SMALL, parts->urgent));
        OK(cuStreamSynchronize(parts->urgent));
        OK(cuStreamSynchronize(parts->bulk));
    }
}

static void small_bulk(Parts *parts)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2 * BULK / PIECE; i++)
            OK(cuMemcpyHtoDAsync(parts->device, parts->pinned, PIECE, parts->bulk));
        urgent(parts, parts->little);
        OK(cuStreamSynchronize(parts->bulk));
    }
}

static void bulk_only(Parts *parts)
{
    for (int round = 0; round < ROUNDS; round++) {
        bulk(parts);
        OK(cuMemcpyHtoDAsync(parts->device, parts->pinned, BULK, parts->urgent));
    }
    OK(cuCtxSynchronize());
}

/* The call of a large pageable copy returns when the driver has read the memory: this function is a place where the
 * program stalls. */
__attribute__((noinline)) void stalls_here(Parts *parts)
{
    OK(cuMemcpyHtoD(parts->device, parts->pageable, BULK));
}

static void stalled(Parts *parts)
{
    for (int round = 0; round < ROUNDS; round++)
        stalls_here(parts);
}

typedef struct {
    const char *name;
    void (*run)(Parts *parts);
} Scenario;

static const Scenario scenarios[] = {
    {"contended", contended}, {"small_pageable", small_pageable}, {"one_stream", one_stream},
    {"one_stream_large", one_stream_large}, {"captured", captured}, {"kernels", kernels},
    {"no_copies", no_copies}, {"on_device", on_device}, {"alone", alone}, {"apart", apart},
    {"opposite", opposite}, {"small_bulk", small_bulk}, {"bulk_only", bulk_only}, {"stalled", stalled},
};

int main(int count, char **arguments)
{
    REQUIRE(count == 2);
    open_device();
    Parts parts = new_parts();
    const Scenario *scenario = scenarios, *end = scenarios + sizeof scenarios / sizeof *scenarios;
    while (scenario < end && strcmp(scenario->name, arguments[1]) != 0)
        scenario++;
    REQUIRE(scenario < end);
    scenario->run(&parts);
    printf("%s: done\n", scenario->name);
    close_device();
    return 0;
}
