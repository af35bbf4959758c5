/* Copies and sets past the end of their memory. The driver refuses them, and moves no byte: neither of the memory, nor
 * of what is behind it. */
#ifndef BOUNDS_H
#define BOUNDS_H

#include "copies.h"

enum { PIECE = 2 * MIB, AREA = 2 * PIECE };

/* Memory of two pieces on either side, and a call that begins in the first piece of one and ends in its second. */
typedef struct {
    CUdeviceptr pieces[2], device;
    unsigned char *area, *host;
    size_t bytes;
    CUstream stream;
} Edge;

/* Of a few allocations two that are neighbours, if the driver has such. */
static inline void find_neighbours(Edge *edge)
{
    enum { TRIES = 4 };
    CUdeviceptr all[TRIES];
    int first = 0, second = 1;
    for (int i = 0; i < TRIES; i++)
        all[i] = new_device_bytes(PIECE);
    for (int i = 0; i < TRIES; i++)
        for (int j = 0; j < TRIES; j++)
            if (all[j] == all[i] + PIECE)
                first = i, second = j;
    for (int i = 0; i < TRIES; i++)
        if (i != first && i != second)
            OK(cuMemFree(all[i]));
    edge->pieces[0] = all[first], edge->pieces[1] = all[second];
    for (int i = 0; i < 2; i++)
        OK(cuMemsetD8(edge->pieces[i], (unsigned char)(0x5a + i), PIECE));
    OK(cuCtxSynchronize()); /* a set in the default stream is behind nothing that other streams wait for */
}

static inline void call_past_end(Part *part, const Edge *edge)
{
    CUdeviceptr host = (CUdeviceptr)(uintptr_t)edge->host;
    switch (draw(part, 6)) {
    case 0:
        DO(cuMemcpyHtoDAsync(edge->device, edge->host, edge->bytes, edge->stream));
        break;
    case 1:
        DO(cuMemcpyDtoHAsync(edge->host, edge->device, edge->bytes, edge->stream));
        break;
    case 2:
        DO(cuMemcpyHtoD(edge->device, edge->host, edge->bytes));
        break;
    case 3:
        DO(cuMemcpyDtoH(edge->host, edge->device, edge->bytes));
        break;
    case 4:
        DO(cuMemcpyAsync(edge->device, host, edge->bytes, edge->stream));
        break;
    default:
        DO(cuMemcpyAsync(host, edge->device, edge->bytes, edge->stream));
    }
}

static inline void sum_edge(Part *part, const Edge *edge)
{
    unsigned char *bytes = malloc(PIECE);
    REQUIRE(bytes != NULL);
    OK(cuCtxSynchronize());
    for (int i = 0; i < 2; i++)
        if (edge->pieces[i] != 0) {
            OK(cuMemcpyDtoH(bytes, edge->pieces[i], PIECE));
            note(&part->order.log, " piece %d: %016llx\n", i, (unsigned long long)checksum(bytes, PIECE));
        }
    note(&part->order.log, " host: %016llx\n", (unsigned long long)checksum(edge->area, AREA));
    free(bytes);
}

/* Past the end of device memory, with the neighbour or after its end. */
static inline void past_device(Part *part, Edge *edge, size_t at)
{
    if (draw(part, 3) == 0) {
        OK(cuMemFree(edge->pieces[1]));
        edge->pieces[1] = 0;
    } else if (draw(part, 4) == 0) {
        DO(cuMemsetD8Async(edge->pieces[0] + at, 0x77, edge->bytes, edge->stream));
        return;
    }
    int is_pinned = (int)draw(part, 2);
    if (is_pinned)
        OK(cuMemHostRegister(edge->area, AREA, CU_MEMHOSTREGISTER_PORTABLE));
    edge->device = edge->pieces[0] + at, edge->host = edge->area;
    call_past_end(part, edge);
    OK(cuCtxSynchronize());
    if (is_pinned)
        OK(cuMemHostUnregister(edge->area));
}

/* Past an end of registered memory, with pageable memory behind it or before it, or with another registration. */
static inline void past_host(Part *part, Edge *edge, size_t at)
{
    static const struct {
        int registered[2];
    } halves[] = {{{1, 0}}, {{0, 1}}, {{1, 1}}};
    const int *registered = halves[draw(part, 3)].registered;
    for (int i = 0; i < 2; i++)
        if (registered[i])
            OK(cuMemHostRegister(edge->area + i * PIECE, PIECE, CU_MEMHOSTREGISTER_PORTABLE));
    edge->device = edge->pieces[0], edge->host = edge->area + at;
    call_past_end(part, edge);
    OK(cuCtxSynchronize());
    for (int i = 0; i < 2; i++)
        if (registered[i])
            OK(cuMemHostUnregister(edge->area + i * PIECE));
}

static inline void past_end(Part *part)
{
    size_t over = 1 + draw(part, draw(part, 2) ? 64 : PIECE / 2), inside = 1 + draw(part, PIECE / 2 - 1);
    Edge edge = {.bytes = inside + over, .stream = handle(part, (int)draw(part, LANES))};
    REQUIRE((edge.area = aligned_alloc(4096, AREA)) != NULL);
    paint(edge.area, AREA, draw(part, 1000));
    find_neighbours(&edge);
    if (draw(part, 3) > 0)
        past_device(part, &edge, PIECE - inside);
    else
        past_host(part, &edge, PIECE - inside);
    sum_edge(part, &edge);
    for (int i = 0; i < 2; i++)
        if (edge.pieces[i] != 0)
            OK(cuMemFree(edge.pieces[i]));
    free(edge.area);
}

#endif
