/* The environment of a process: options of the drop-in, so that copies of every size go by every way, and variables of
 * the driver. All are drawn from the seed; variables that are already set stay. Names in small letters go into
 * OVERTAKE_UNLISTED. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "../unlisted.h"

enum { CHOICES = 4 };

static const struct {
    const char *name;
    int of_eight; /* sets it in so many of eight draws */
    const char *values[CHOICES];
} options[] = {
    {"OVERTAKE_BULK_BYTES_MIN", 7, {"4096", "16K", "64K", "256K"}},
    {"guard_bytes_min", 7, {"1", "4K", "32K", "128K"}},
    {"kernel_bytes_min", 7, {"1", "1", "16K", "64K"}},
    {"gate_bytes_min", 4, {"1", "4K", "16K", "1M"}},
    {"OVERTAKE_GUARD_AFTER_US", 6, {"200", "1000", "3000", "10000"}},
    {"OVERTAKE_GUARD_STREAMS_MAX", 4, {"1", "2", "4", "8"}},
    {"fence_every", 4, {"1", "2", "32", "1000"}},
    {"kernel_warps_h2d", 2, {"1", "2", "7", "16"}},
    {"kernel_blocks_d2h", 2, {"1", "2", "7", "16"}},
    {"kernel_wait_max_us", 2, {"0", "20", "1000", "100000"}},
    {"staging_slots", 2, {"1", "2", "5", "40"}},
    {"OVERTAKE_PEER_GBPS", 2, {"1", "50", "400", "off"}},
    {"bulk_share", 2, {"0", "0.1", "0.5", "0.99"}},
    {"OVERTAKE_RESCUE_AFTER_US", 2, {"50", "500", "5000", "50000"}},
    {"rescues_max", 7, {"1000000", "1000000", "1000000", "2"}},
    {"OVERTAKE_PRIORITIES", 2, {"1", "2", "3", "32"}},
    {"urgent_transport", 2, {"kernel", "kernel", "kernel", "engine"}},
    {"transport", 2, {"kernel", "engine", "native", "auto"}},
    {"OVERTAKE_TRACE", 1, {"on", "on", "off", "on"}},
    {"CUDA_DEVICE_MAX_CONNECTIONS", 1, {"1", "4", "16", "32"}},
    {"CUDA_DEVICE_MAX_COPY_CONNECTIONS", 4, {"1", "8", "8", "32"}},
    {"OVERTAKE_SOFT_DEVICES", 2, {"2", "2", "2", "3"}},
    {"OVERTAKE_AUTOMATIC", 4, {"size", "size", "demand", "demand"}},
    {"OVERTAKE_DEMAND", 7, {"1@6", "16K@6", "64K@6", "1M@6"}},
    {"CUDA_LAUNCH_BLOCKING", 1, {"1", "0", "1", "0"}},
};

static inline void choose_options(uint32_t seed)
{
    uint32_t state = seed * 2654435761u | 1;
    char test[2048] = "";
    size_t length = 0;
    printf("options of %u:", seed);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        for (int warm = 0; warm < 4; warm++)
            next_random(&state);
        int is_set = (int)(next_random(&state) >> 8) % 8 < options[i].of_eight;
        const char *value = options[i].values[(next_random(&state) >> 8) % CHOICES];
        if (options[i].name[0] >= 'a') {
            if (is_set)
                length += (size_t)snprintf(test + length, sizeof test - length, "%s=%s,", options[i].name, value);
            continue;
        }
        if (is_set && getenv(options[i].name) == NULL)
            REQUIRE(setenv(options[i].name, value, 1) == 0);
        if (getenv(options[i].name) != NULL)
            printf(" %s=%s", options[i].name, getenv(options[i].name));
    }
    /* The native run prints the same, so what a deployment has set is not shown. */
    printf(" OVERTAKE_UNLISTED=%s\n", test);
    set_unlisted(test);
}

/* Whether each launch waits for its kernel. */
static inline int launches_block(void)
{
    const char *value = getenv("CUDA_LAUNCH_BLOCKING");
    return value != NULL && atoi(value) != 0;
}

#endif
