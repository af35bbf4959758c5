/* Calls that copy and block for one known reason each, in a function of a known name: the first argument names it.
 * `crates/cli/tests/it/run/blocked.rs` compares the report of `overtake run --observe` with what is known here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

#include "client.h"

enum { LARGE = 32 * MIB, SMALL = 64 * KIB, BULK_COPIES = 8, QUEUED = 3000, HELD_US = 30000 };

static CUstream bulk_stream, other_stream;
static unsigned char *pinned, *little, *pageable;
static CUdeviceptr device, little_device;

/* The compiler must not join functions, nor end one with a jump: the place would be that of its caller. */
#define PLACE __attribute__((noinline, noclone))
#define COPY(call)                                                                                                     \
    do {                                                                                                               \
        OK(call);                                                                                                      \
        __asm__ volatile("" ::: "memory");                                                                             \
    } while (0)

static void start_bulk(int to_device)
{
    for (int i = 0; i < BULK_COPIES; i++) {
        if (to_device)
            OK(cuMemcpyHtoDAsync(device, pinned, LARGE, bulk_stream));
        else
            OK(cuMemcpyDtoHAsync(pinned, device, LARGE, bulk_stream));
    }
}

PLACE void upload_of_pageable_memory(void)
{
    COPY(cuMemcpyHtoD(device, pageable, LARGE));
}

PLACE void download_to_pageable_memory(void)
{
    COPY(cuMemcpyDtoH(pageable, device, LARGE));
}

/* It does not promise to wait, and waits. */
PLACE void upload_that_seems_not_to_wait(void)
{
    COPY(cuMemcpyHtoDAsync(device, pageable, LARGE, other_stream));
    OK(cuStreamSynchronize(other_stream));
}

PLACE void rows_of_pageable_memory(void)
{
    enum { WIDTH = 4 * KIB };
    CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = pageable, .srcPitch = 2 * WIDTH,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = device, .dstPitch = WIDTH,
        .WidthInBytes = WIDTH, .Height = LARGE / WIDTH / 2,
    };
    COPY(cuMemcpy2D(&copy));
}

PLACE void small_upload_behind_bulk(void)
{
    start_bulk(1);
    COPY(cuMemcpyHtoD(little_device, little, SMALL));
    OK(cuStreamSynchronize(bulk_stream));
}

PLACE void small_download_behind_bulk(void)
{
    start_bulk(0);
    COPY(cuMemcpyDtoH(little, little_device, SMALL));
    OK(cuStreamSynchronize(bulk_stream));
}

PLACE void upload_that_is_waited_for(void)
{
    COPY(cuMemcpyHtoD(device, pinned, LARGE));
}

static void *opens(void *gate)
{
    nap_us(HELD_US);
    open_gate(*(Gate *)gate);
    return NULL;
}

/* The stream waits for something that is no copy. */
PLACE void small_download_after_other_work(void)
{
    Gate gate = new_gate();
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, opens, &gate) == 0);
    hold(gate, CU_STREAM_LEGACY);
    COPY(cuMemcpyDtoH(little, little_device, SMALL));
    REQUIRE(pthread_join(thread, NULL) == 0);
    free_gate(gate);
}

/* A stream takes so many operations, and then calls wait until it has gone on. */
PLACE void copies_into_a_full_stream(void)
{
    Gate gate = new_gate();
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, opens, &gate) == 0);
    hold(gate, other_stream);
    for (int i = 0; i < QUEUED; i++)
        COPY(cuMemcpyHtoDAsync(little_device, little, 4, other_stream));
    OK(cuStreamSynchronize(other_stream));
    REQUIRE(pthread_join(thread, NULL) == 0);
    free_gate(gate);
}

PLACE void *upload_of_another_thread(void *context)
{
    OK(cuCtxSetCurrent(context));
    COPY(cuMemcpyHtoD(device, pageable, LARGE));
    return NULL;
}

static void in_another_thread(void)
{
    CUcontext context = NULL;
    pthread_t thread;
    OK(cuCtxGetCurrent(&context));
    REQUIRE(pthread_create(&thread, NULL, upload_of_another_thread, context) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

/* The function is that of a library. */
static void in_a_library(void)
{
    void *library = dlopen(PLUGIN, RTLD_NOW);
    REQUIRE(library != NULL);
    void (*load)(CUdeviceptr, const void *, size_t) = 0;
    *(void **)&load = dlsym(library, "plugin_loads");
    REQUIRE(load != NULL);
    load(device, pageable, LARGE);
}

/* No table has its name. */
PLACE static void without_a_name(void)
{
    COPY(cuMemcpyHtoD(device, pageable, LARGE));
}

/* The second blocks for longer. */
static void two_places(void)
{
    upload_of_pageable_memory();
    for (int i = 0; i < 12; i++)
        download_to_pageable_memory();
}

typedef struct {
    const char *name;
    void (*run)(void);
} Scenario;

#define NAMED(function) {#function, function}

static const Scenario scenarios[] = {
    NAMED(upload_of_pageable_memory), NAMED(download_to_pageable_memory), NAMED(upload_that_seems_not_to_wait),
    NAMED(rows_of_pageable_memory), NAMED(small_upload_behind_bulk), NAMED(small_download_behind_bulk),
    NAMED(upload_that_is_waited_for), NAMED(small_download_after_other_work), NAMED(copies_into_a_full_stream),
    NAMED(in_another_thread), NAMED(in_a_library), NAMED(without_a_name), NAMED(two_places),
};

int main(int count, char **arguments)
{
    REQUIRE(count == 2);
    open_device();
    bulk_stream = new_stream(), other_stream = new_stream();
    pinned = new_pinned_bytes(LARGE), little = new_pinned_bytes(SMALL);
    pageable = malloc(LARGE);
    REQUIRE(pageable != NULL);
    memset(pageable, 1, LARGE);
    device = new_device_bytes(LARGE), little_device = new_device_bytes(SMALL);
    const Scenario *scenario = scenarios, *end = scenarios + sizeof scenarios / sizeof *scenarios;
    while (scenario < end && strcmp(scenario->name, arguments[1]) != 0)
        scenario++;
    REQUIRE(scenario < end);
    scenario->run();
    printf("%s: done\n", scenario->name);
    close_device();
    return 0;
}
