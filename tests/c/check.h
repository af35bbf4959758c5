/* Helpers of every program: checks that name their line, a device to work on, reproducible bytes. */
#ifndef CHECK_H
#define CHECK_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_mini.h"

#define REQUIRE(condition)                                                                                            \
    do {                                                                                                              \
        if (!(condition)) {                                                                                           \
            fprintf(stderr, "%s:%d: this does not hold: %s\n", __FILE__, __LINE__, #condition);                       \
            exit(1);                                                                                                  \
        }                                                                                                             \
    } while (0)

#define EXPECT(code, call)                                                                                            \
    do {                                                                                                              \
        CUresult expected_ = (code), seen_ = (call);                                                                  \
        if (seen_ != expected_) {                                                                                     \
            fprintf(stderr, "%s:%d: %s returned %u, not %u\n", __FILE__, __LINE__, #call, seen_, expected_);          \
            exit(1);                                                                                                  \
        }                                                                                                             \
    } while (0)

#define OK(call) EXPECT(CUDA_SUCCESS, call)

/* The programs also pass on a real driver. That leaves some cases undefined (null outputs, destroyed handles) and may
 * fill the outputs of a failed call. SOFTWARE_GPU adds checks of the software GPU's own promises. */
#ifdef SOFTWARE_GPU
#define REQUIRE_UNTOUCHED(condition) REQUIRE(condition)
#else
#define REQUIRE_UNTOUCHED(condition) ((void)(condition))
#endif

/* A handle or pointer that no call returns: it shows whether an output was written. */
#define UNTOUCHED ((uintptr_t)0x5eed5eed5eed5eedULL)

static inline uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static inline void fill(unsigned char *bytes, size_t count, uint32_t seed)
{
    uint32_t state = seed * 2654435761u + 1u;
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)(next_random(&state) >> 11);
}

static inline unsigned char *new_bytes(size_t count, uint32_t seed)
{
    unsigned char *bytes = malloc(count);
    REQUIRE(bytes != NULL);
    fill(bytes, count, seed);
    return bytes;
}

static inline void store_word(uint32_t *word, uint32_t value)
{
    atomic_store_explicit((_Atomic uint32_t *)word, value, memory_order_release);
}

static inline uint32_t load_word(uint32_t *word)
{
    return atomic_load_explicit((_Atomic uint32_t *)word, memory_order_acquire);
}

#endif
