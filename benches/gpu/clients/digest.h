// Reproducible bytes and digests of them, for the compiled clients.
#ifndef DIGEST_H
#define DIGEST_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

static inline void fill(uint8_t *bytes, size_t count, uint32_t seed)
{
    uint32_t state = seed * 2654435761u + 1u;
    for (size_t i = 0; i < count; i++) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        bytes[i] = (uint8_t)(state >> 11);
    }
}

static inline void digest(const char *name, const void *bytes, size_t count)
{
    uint64_t hash = 1469598103934665603ull;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 1099511628211ull;
    printf("%s: %016llx\n", name, (unsigned long long)hash);
}

#endif
