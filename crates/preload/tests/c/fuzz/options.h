/* The environment of a process: options of the drop-in, so that copies of every size go by every way, and variables of
 * the driver. All are drawn from the seed; variables that are already set stay. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "check.h"

enum { CHOICES = 4 };

static const struct {
    const char *name;
    int of_eight; /* sets it in so many of eight draws */
    const char *values[CHOICES];
} options[] = {
    {"OVERTAKE_BULK_BYTES_MIN", 7, {"4096", "16K", "64K", "256K"}},
    {"OVERTAKE_GUARD_BYTES_MIN", 7, {"1", "4K", "32K", "128K"}},
    {"OVERTAKE_KERNEL_BYTES_MIN", 7, {"1", "1", "16K", "64K"}},
    {"OVERTAKE_GATE_BYTES_MIN", 4, {"1", "4K", "16K", "1M"}},
    {"OVERTAKE_GUARD_AFTER_US", 6, {"200", "1000", "3000", "10000"}},
    {"OVERTAKE_GUARD_STREAMS_MAX", 4, {"1", "2", "4", "8"}},
    {"OVERTAKE_TICKET_EVERY", 4, {"1", "2", "32", "1000"}},
    {"OVERTAKE_KERNEL_WARPS_H2D", 2, {"1", "2", "7", "16"}},
    {"OVERTAKE_KERNEL_BLOCKS_D2H", 2, {"1", "2", "7", "16"}},
    {"OVERTAKE_KERNEL_WAIT_MAX_US", 2, {"0", "20", "1000", "100000"}},
    {"OVERTAKE_WATCHER_AWAKE_US", 2, {"0", "100", "10000", "1000"}},
    {"OVERTAKE_WATCHER_NAP_US", 2, {"1", "500", "5000", "50"}},
    {"OVERTAKE_BULK_SHARE", 2, {"0", "0.1", "0.5", "0.99"}},
    {"OVERTAKE_RESCUE_AFTER_US", 2, {"50", "500", "5000", "50000"}},
    {"OVERTAKE_RESCUES_MAX", 7, {"1000000", "1000000", "1000000", "2"}},
    {"OVERTAKE_PRIORITIES", 2, {"1", "2", "3", "32"}},
    {"OVERTAKE_URGENT_TRANSPORT", 2, {"kernel", "kernel", "kernel", "engine"}},
    {"OVERTAKE_TRANSPORT", 2, {"kernel", "engine", "native", "auto"}},
    {"OVERTAKE_EMULATION", 1, {"hold", "bracket", "atomics", "hold"}},
    {"OVERTAKE_TRACE", 1, {"on", "on", "off", "on"}},
    {"CUDA_DEVICE_MAX_CONNECTIONS", 1, {"1", "4", "16", "32"}},
    {"CUDA_DEVICE_MAX_COPY_CONNECTIONS", 4, {"1", "8", "8", "32"}},
    {"OVERTAKE_SOFT_DEVICES", 2, {"2", "2", "2", "3"}},
    {"OVERTAKE_AUTOMATIC", 4, {"size", "size", "demand", "demand"}},
    {"OVERTAKE_DEMAND_BURST_BYTES", 7, {"1", "16K", "64K", "1M"}},
    {"CUDA_LAUNCH_BLOCKING", 1, {"1", "0", "1", "0"}},
};

static inline void choose_options(uint32_t seed)
{
    uint32_t state = seed * 2654435761u | 1;
    printf("options of %u:", seed);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        for (int warm = 0; warm < 4; warm++)
            next_random(&state);
        int is_set = (int)(next_random(&state) >> 8) % 8 < options[i].of_eight;
        const char *value = options[i].values[(next_random(&state) >> 8) % CHOICES];
        if (is_set && getenv(options[i].name) == NULL)
            REQUIRE(setenv(options[i].name, value, 1) == 0);
        if (getenv(options[i].name) != NULL)
            printf(" %s=%s", options[i].name, getenv(options[i].name));
    }
    printf("\n");
}

/* Whether each launch waits for its kernel. */
static inline int launches_block(void)
{
    const char *value = getenv("CUDA_LAUNCH_BLOCKING");
    return value != NULL && atoi(value) != 0;
}

#endif
