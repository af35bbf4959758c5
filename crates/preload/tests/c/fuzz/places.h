/* Memory of other kinds, each made at its first use and kept to the end of the program: of a pool, of two mapped pieces
 * with a hole behind them, of another context, of another device, and host memory that is registered for reading. */
#ifndef PLACES_H
#define PLACES_H

#include "copies.h"

enum { MAPPED_PIECE = 2 * MIB, MAPPED_PIECES = 2, HOLE = 2 * MIB };

static inline void make_mapped(Part *part, Buffer *buffer)
{
    const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr start = 0;
    OK(cuMemAddressReserve(&start, MAPPED_PIECES * MAPPED_PIECE + HOLE, 0, 0, 0));
    for (size_t i = 0; i < MAPPED_PIECES; i++) {
        unsigned long long memory = 0;
        OK(cuMemCreate(&memory, MAPPED_PIECE, &properties, 0));
        OK(cuMemMap(start + i * MAPPED_PIECE, MAPPED_PIECE, 0, memory, 0));
        OK(cuMemRelease(memory));
        OK(cuMemSetAccess(start + i * MAPPED_PIECE, MAPPED_PIECE, &access, 1));
    }
    part->mapped = start;
    buffer->address = start + MAPPED_PIECE - part->bytes / 2; /* one half in each piece */
}

static inline void make_elsewhere(Part *part, Buffer *buffer)
{
    OK(cuCtxCreate_v2(&part->elsewhere, 0, 0));
    make_buffer(buffer, part->bytes, 0);
    OK(cuMemsetD8(buffer->address, 78, part->bytes));
    OK(cuCtxSynchronize());
    OK(cuCtxSetCurrent(part->current));
}

static inline void make_read_only(Part *part, Buffer *buffer)
{
    REQUIRE((buffer->host = aligned_alloc(4096, part->bytes)) != NULL);
    paint(buffer->host, part->bytes, 79);
    OK(cuMemHostRegister(buffer->host, part->bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_READ_ONLY));
    buffer->address = (CUdeviceptr)(uintptr_t)buffer->host;
}

static inline void make_place(Part *part, int which)
{
    Buffer *buffer = &part->places[which];
    buffer->kind = which == READ_ONLY ? REGISTERED : DEVICE, buffer->writer = LEGACY;
    if (which == POOL)
        OK(cuMemAllocAsync(&buffer->address, part->bytes, CU_STREAM_LEGACY));
    else if (which == MAPPED)
        make_mapped(part, buffer);
    else if (which == ELSEWHERE)
        make_elsewhere(part, buffer);
    else
        make_read_only(part, buffer);
    if (which == POOL || which == MAPPED)
        OK(cuMemsetD8Async(buffer->address, (unsigned char)(90 + which), part->bytes, CU_STREAM_LEGACY));
    OK(cuStreamSynchronize(CU_STREAM_LEGACY));
}

/* Null where there is none. */
static inline Buffer *any_place_of_other_kind(Part *part)
{
    int which = (int)draw(part, PLACES + 1);
    if (which == PLACES)
        return part->other != NULL ? &part->away : NULL;
    if (which == ELSEWHERE && !part->has_contexts)
        return NULL;
    if (part->places[which].address == 0)
        make_place(part, which);
    return &part->places[which];
}

/* A copy that leaves the mapped pieces is refused. */
static inline void into_hole(Part *part)
{
    CUdeviceptr end = part->mapped + MAPPED_PIECES * MAPPED_PIECE;
    CUdeviceptr start = end - 1 - draw(part, SCRATCH_BYTES - 1);
    CUstream stream = handle(part, (int)draw(part, LANES));
    if (draw(part, 2))
        DO(cuMemcpyHtoDAsync(start, part->scratch_pinned, SCRATCH_BYTES, stream));
    else
        DO(cuMemcpyDtoHAsync(part->scratch_pinned, start, SCRATCH_BYTES, stream));
}

static inline void other_memory(Part *part)
{
    Buffer *place = any_place_of_other_kind(part);
    if (place == NULL)
        return;
    if (place == &part->places[MAPPED] && draw(part, 4) == 0) {
        into_hole(part);
        return;
    }
    for (uint32_t left = 1 + draw(part, 4); left > 0; left--) {
        Copy copy = {.from = place, .bytes = any_bytes(part), .slot = (int)draw(part, LANES)};
        copy.to = place == &part->places[READ_ONLY] || draw(part, 8) == 0 ? any_device(part) : any_host(part, BUFFERS);
        if (place != &part->places[READ_ONLY] && draw(part, 2)) {
            Buffer *swapped = copy.from;
            copy.from = copy.to, copy.to = swapped;
        }
        copy.from_at = any_place(part, copy.bytes), copy.to_at = any_place(part, copy.bytes);
        copy.lane = lane_of(copy.slot);
        submitting(part, &copy);
        call_copy(part, &copy);
        submitted(part, &copy);
    }
}

/* After all operations of the program's. */
static inline void free_place(Part *part, int which)
{
    Buffer *buffer = &part->places[which];
    if (buffer->address == 0)
        return;
    if (which == POOL) {
        OK(cuMemFreeAsync(buffer->address, CU_STREAM_LEGACY));
    } else if (which == MAPPED) {
        for (size_t i = 0; i < MAPPED_PIECES; i++)
            OK(cuMemUnmap(part->mapped + i * MAPPED_PIECE, MAPPED_PIECE));
        OK(cuMemAddressFree(part->mapped, MAPPED_PIECES * MAPPED_PIECE + HOLE));
    } else if (which == ELSEWHERE) {
        OK(cuCtxDestroy(part->elsewhere));
    } else {
        free_buffer(buffer);
    }
}

/* Host memory is registered while copies of it are made: the first ones are of pageable memory, the last of pinned. */
typedef struct {
    CUcontext context;
    unsigned char *from, *to;
    size_t bytes;
    uint32_t after_us;
} Registering;

static inline void *register_meanwhile(void *argument)
{
    Registering *registering = argument;
    OK(cuCtxSetCurrent(registering->context));
    nap_us(registering->after_us);
    OK(cuMemHostRegister(registering->from, registering->bytes, CU_MEMHOSTREGISTER_PORTABLE));
    OK(cuMemHostRegister(registering->to, registering->bytes, CU_MEMHOSTREGISTER_PORTABLE));
    return NULL;
}

static inline void registered_meanwhile(Part *part)
{
    Registering it = {.context = part->current, .bytes = 2 * part->bytes, .after_us = draw(part, 2000)};
    CUdeviceptr device = new_device_bytes(it.bytes);
    CUstream stream = handle(part, (int)draw(part, LANES));
    uint32_t seed = draw(part, 1000);
    pthread_t thread;
    REQUIRE((it.from = aligned_alloc(4096, it.bytes)) != NULL && (it.to = aligned_alloc(4096, it.bytes)) != NULL);
    REQUIRE(pthread_create(&thread, NULL, register_meanwhile, &it) == 0);
    for (uint32_t left = 4 + draw(part, 8); left > 0; left--) {
        paint(it.from, it.bytes, seed + left);
        DO(cuMemcpyHtoDAsync(device, it.from, it.bytes, stream));
        DO(cuMemcpyDtoHAsync(it.to, device, it.bytes, stream));
        DO(cuStreamSynchronize(stream));
        note(&part->order.log, " bytes %016llx\n", (unsigned long long)checksum(it.to, it.bytes));
    }
    REQUIRE(pthread_join(thread, NULL) == 0);
    OK(cuMemHostUnregister(it.from));
    OK(cuMemHostUnregister(it.to));
    free(it.from);
    free(it.to);
    OK(cuMemFree(device));
}

#endif
