/* A table that all threads of a program use with no order among them. Each operation on the whole table is one
 * operation of its stream, so every read sees the words of one operation alone. All use one stream, or the legacy
 * stream and a blocking one, which the driver orders. */
#ifndef COMMON_H
#define COMMON_H

#include "part.h"

enum { TABLE_BYTES = MIB, TABLE_WORDS = TABLE_BYTES / 4, STAMPS = 2 };

typedef struct Common {
    CUdeviceptr table;
    CUstream first, second;
} Common;

/* The memory of one thread for its operations on the table. */
typedef struct {
    uint32_t *pinned[STAMPS], *pageable[STAMPS], *read;
    CUdeviceptr shadow;
} Own;

static inline Common open_common(uint32_t seed)
{
    Common common = {.table = new_device_bytes(TABLE_BYTES)};
    OK(cuMemsetD8(common.table, 0, TABLE_BYTES));
    OK(cuStreamCreate(&common.second, seed % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
    common.first = seed % 2 ? common.second : CU_STREAM_LEGACY;
    OK(cuCtxSynchronize());
    return common;
}

static inline void close_common(const Common *common)
{
    OK(cuCtxSynchronize());
    OK(cuStreamDestroy(common->second));
    OK(cuMemFree(common->table));
}

static inline Own open_own(const Part *part)
{
    Own own = {.read = new_pinned_bytes(TABLE_BYTES), .shadow = new_device_bytes(TABLE_BYTES)};
    for (uint32_t i = 0; i < STAMPS; i++) {
        own.pinned[i] = new_pinned_bytes(TABLE_BYTES);
        REQUIRE((own.pageable[i] = malloc(TABLE_BYTES)) != NULL);
        for (size_t word = 0; word < TABLE_WORDS; word++) {
            own.pinned[i][word] = 16 * (uint32_t)part->number + i;
            own.pageable[i][word] = 16 * (uint32_t)part->number + 8 + i;
        }
    }
    return own;
}

static inline void close_own(Own *own)
{
    for (int i = 0; i < STAMPS; i++) {
        OK(cuMemFreeHost(own->pinned[i]));
        free(own->pageable[i]);
    }
    OK(cuMemFreeHost(own->read));
    OK(cuMemFree(own->shadow));
}

static inline void write_table(Part *part, const Own *own, CUstream stream)
{
    CUdeviceptr table = part->common->table;
    uint32_t stamp = draw(part, STAMPS);
    switch (draw(part, 5)) {
    case 0:
    case 1:
        OK(cuMemcpyHtoDAsync(table, own->pinned[stamp], TABLE_BYTES, stream));
        break;
    case 2:
        OK(cuMemcpyHtoDAsync(table, own->pageable[stamp], TABLE_BYTES, stream));
        break;
    case 3:
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM /* else it is in a stream that the other one is not ordered with */
        if (part->common->first == CU_STREAM_LEGACY)
            OK(cuMemcpyHtoD(table, own->pageable[stamp], TABLE_BYTES));
#endif
        break;
    default:
        OK(cuMemsetD32Async(table, 200 + (uint32_t)part->number, TABLE_WORDS, stream));
    }
}

/* Whether the operation has read words of two others. */
static inline int read_table(Part *part, const Own *own, CUstream stream)
{
    CUdeviceptr from = part->common->table;
    uint32_t *words = own->read;
    uint32_t *pageable = NULL;
    switch (draw(part, 3)) {
    case 0:
        OK(cuMemcpyDtoHAsync(words, from, TABLE_BYTES, stream));
        break;
    case 1:
        REQUIRE((words = pageable = malloc(TABLE_BYTES)) != NULL);
        OK(cuMemcpyDtoHAsync(words, from, TABLE_BYTES, stream));
        break;
    default:
        OK(cuMemcpyDtoDAsync(own->shadow, from, TABLE_BYTES, stream));
        OK(cuMemcpyDtoHAsync(words, own->shadow, TABLE_BYTES, stream));
    }
    OK(cuStreamSynchronize(stream));
    size_t word = 1;
    while (word < TABLE_WORDS && words[word] == words[0])
        word++;
    free(pageable);
    return word < TABLE_WORDS;
}

static inline void common_table(Part *part)
{
    int torn = 0;
    if (part->is_alone || part->current != part->shared)
        return;
    Own own = open_own(part);
    for (uint32_t left = 10 + draw(part, 30); left > 0; left--) {
        CUstream stream = draw(part, 2) ? part->common->first : part->common->second;
        if (draw(part, 2))
            write_table(part, &own, stream);
        else
            torn += read_table(part, &own, stream);
    }
    OK(cuStreamSynchronize(part->common->first));
    OK(cuStreamSynchronize(part->common->second));
    close_own(&own);
    note(&part->order.log, " torn %d\n", torn);
}

#endif
