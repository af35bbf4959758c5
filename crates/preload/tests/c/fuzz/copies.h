/* Copies of every kind: asynchronous, blocking, in one to three dimensions, in batches, between contexts. */
#ifndef COPIES_H
#define COPIES_H

#include "dlopened.h"
#include "part.h"

/* One operation that reads one buffer and writes another. */
typedef struct {
    Buffer *from, *to;
    size_t from_at, to_at, bytes;
    int slot, lane;
} Copy;

static inline void submitted(Part *part, const Copy *copy)
{
    uint64_t number = ++part->order.count[copy->lane];
    if (copy->from != NULL && copy->from->kind != PAGEABLE) /* pageable memory has been staged */
        used(copy->lane, number, copy->from, 0);
    used(copy->lane, number, copy->to, 1);
    if (copy->to->kind == PAGEABLE)
        stands_behind(&part->order, HOST, copy->lane);
}

static inline void submitting(Part *part, const Copy *copy)
{
    enter(&part->order, copy->lane);
    if (copy->from != NULL) {
        wait_for_source(&part->order, copy->lane, copy->from);
        use(&part->order, copy->from->kind == PAGEABLE ? HOST : copy->lane, copy->from, 0);
    }
    use(&part->order, copy->to->kind == PAGEABLE ? HOST : copy->lane, copy->to, 1);
}

/* Between host and device for the most part. */
static inline Copy any_copy(Part *part, int slot, int host_end)
{
    Copy copy = {.from = any_host(part, host_end), .to = any_device(part), .bytes = any_bytes(part), .slot = slot};
    if (draw(part, 2)) {
        Buffer *swapped = copy.from;
        copy.from = copy.to, copy.to = swapped;
    }
    if (!part->order.is_held && draw(part, 8) == 0) { /* from host to host the driver waits for held streams */
        int base = draw(part, 2) ? 0 : DEVICES, count = base == 0 ? DEVICES : REGISTERED_END - DEVICES;
        uint32_t one = draw(part, (size_t)count), step = 1 + draw(part, (size_t)count - 1);
        copy.from = &part->buffers[base + (int)one];
        copy.to = &part->buffers[base + (int)((one + step) % (uint32_t)count)];
    }
    copy.from_at = any_place(part, copy.bytes), copy.to_at = any_place(part, copy.bytes);
    copy.lane = lane_of(slot);
    return copy;
}

static inline void call_copy(Part *part, const Copy *copy)
{
    CUdeviceptr to = copy->to->address + copy->to_at, from = copy->from->address + copy->from_at;
    unsigned char *host_to = copy->to->host + copy->to_at, *host_from = copy->from->host + copy->from_at;
    int is_unified = copy->from->kind != PAGEABLE && copy->to->kind != PAGEABLE && draw(part, 3) == 0;
    CUstream stream = handle(part, copy->slot);
    if (is_unified || (copy->from->kind != DEVICE && copy->to->kind != DEVICE))
        DO(cuMemcpyAsync(to, from, copy->bytes, stream));
    else if (copy->from->kind != DEVICE)
        DO(cuMemcpyHtoDAsync(to, host_from, copy->bytes, stream));
    else if (copy->to->kind != DEVICE)
        DO(cuMemcpyDtoHAsync(host_to, from, copy->bytes, stream));
    else
        DO(cuMemcpyDtoDAsync(to, from, copy->bytes, stream));
}

static inline void copy_once(Part *part, int slot, int host_end)
{
    Copy copy = any_copy(part, slot, host_end);
    submitting(part, &copy);
    call_copy(part, &copy);
    submitted(part, &copy);
}

static inline void copy_async(Part *part)
{
    copy_once(part, (int)draw(part, LANES), BUFFERS);
}

/* Several that follow closely. */
static inline void copy_run(Part *part)
{
    int slot = (int)draw(part, LANES);
    for (uint32_t left = 2 + draw(part, 12); left > 0; left--)
        copy_once(part, slot, REGISTERED_END);
}

/* In the default stream; copies of host memory have ended when the call returns. */
static inline void copy_blocking(Part *part)
{
    Copy copy = any_copy(part, DEFAULT, BUFFERS);
    CUdeviceptr to = copy.to->address + copy.to_at, from = copy.from->address + copy.from_at;
    int is_unified = copy.from->kind != PAGEABLE && copy.to->kind != PAGEABLE && draw(part, 3) == 0;
    submitting(part, &copy);
    if (is_unified || (copy.from->kind != DEVICE && copy.to->kind != DEVICE))
        DO(cuMemcpy(to, from, copy.bytes));
    else if (copy.from->kind != DEVICE)
        DO(cuMemcpyHtoD(to, copy.from->host + copy.from_at, copy.bytes));
    else if (copy.to->kind != DEVICE)
        DO(cuMemcpyDtoH(copy.to->host + copy.to_at, from, copy.bytes));
    else
        DO(cuMemcpyDtoD(to, from, copy.bytes));
    submitted(part, &copy);
    if (copy.from->kind != PAGEABLE && (copy.from->kind != DEVICE || copy.to->kind != DEVICE))
        stands_behind(&part->order, HOST, copy.lane);
}

/* Three buffers of the smallest size hold every box. */
static inline CUDA_MEMCPY3D box(Part *part, const Copy *copy, size_t depth)
{
    size_t scale = part->bytes / BYTES_SMALL;
    size_t width = 1 + draw(part, 375 * scale), height = 1 + draw(part, 300 / depth);
    CUDA_MEMCPY3D box = {.WidthInBytes = width, .Height = height, .Depth = depth};
    box.srcPitch = width + draw(part, 125 * scale), box.dstPitch = width + draw(part, 125 * scale);
    box.srcHeight = height + draw(part, 10), box.dstHeight = height + draw(part, 10);
    box.srcXInBytes = draw(part, box.srcPitch - width + 1), box.dstXInBytes = draw(part, box.dstPitch - width + 1);
    int is_unified = draw(part, 4) == 0 && copy->from->kind != PAGEABLE && copy->to->kind != PAGEABLE;
    box.srcMemoryType = copy->from->kind == DEVICE ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    box.dstMemoryType = copy->to->kind == DEVICE ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    if (is_unified)
        box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    box.srcHost = copy->from->host, box.srcDevice = copy->from->address;
    box.dstHost = copy->to->host, box.dstDevice = copy->to->address;
    return box;
}

static inline CUDA_MEMCPY2D face(const CUDA_MEMCPY3D *deep)
{
    CUDA_MEMCPY2D flat = {.srcXInBytes = deep->srcXInBytes, .srcMemoryType = deep->srcMemoryType};
    flat.srcHost = deep->srcHost, flat.srcDevice = deep->srcDevice, flat.srcPitch = deep->srcPitch;
    flat.dstXInBytes = deep->dstXInBytes, flat.dstMemoryType = deep->dstMemoryType, flat.dstHost = deep->dstHost;
    flat.dstDevice = deep->dstDevice, flat.dstPitch = deep->dstPitch;
    flat.WidthInBytes = deep->WidthInBytes, flat.Height = deep->Height;
    return flat;
}

static inline void shapes(Part *part)
{
    Copy copy = any_copy(part, (int)draw(part, LANES), BUFFERS);
    CUDA_MEMCPY3D deep = box(part, &copy, 1 + draw(part, 4));
    CUDA_MEMCPY2D flat = face(&deep);
    uint32_t which = draw(part, 5);
    if (which >= 2)
        copy.slot = DEFAULT, copy.lane = lane_of(DEFAULT);
    submitting(part, &copy);
    if (which == 0)
        DO(cuMemcpy2DAsync(&flat, handle(part, copy.slot)));
    else if (which == 1)
        DO(cuMemcpy3DAsync(&deep, handle(part, copy.slot)));
    else if (which == 2)
        DO(cuMemcpy2DUnaligned(&flat));
    else if (which == 3)
        DO(cuMemcpy2D(&flat));
    else
        DO(cuMemcpy3D(&deep));
    submitted(part, &copy);
}

/* Pinned memory to and from different buffers, none twice. Not every driver has the call. */
static inline void batches(Part *part)
{
    static const int orders[] = {CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, CU_MEMCPY_SRC_ACCESS_ORDER_ANY,
                                 CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL};
    CUmemcpyAttributes attributes = {.srcAccessOrder = orders[draw(part, 4)]};
    size_t first = 0, sizes[4];
    CUdeviceptr to[4], from[4];
    Copy copies[4];
    int lane = BLOCKING + (int)draw(part, LANES - BLOCKING), count = 2 + (int)draw(part, 3);
    __typeof__(&cuMemcpyBatchAsync_v2) batch = FIND(RTLD_DEFAULT, cuMemcpyBatchAsync_v2);
    __typeof__(&cuMemcpyBatchAsync_v1) older = FIND(RTLD_DEFAULT, cuMemcpyBatchAsync_v1);
    int takes_older = (int)draw(part, 2);
    if (takes_older ? older == NULL : batch == NULL)
        return;
    for (int i = 0; i < count; i++) {
        Copy copy = {.bytes = any_bytes(part), .slot = lane, .lane = lane};
        int to_device = (int)draw(part, 2);
        Buffer *device = &part->buffers[i], *host = &part->buffers[DEVICES + i];
        copy.from = to_device ? host : device, copy.to = to_device ? device : host;
        copies[i] = copy;
        sizes[i] = copy.bytes;
        from[i] = copy.from->address + any_place(part, copy.bytes);
        to[i] = copy.to->address + any_place(part, copy.bytes);
        if (attributes.srcAccessOrder != CU_MEMCPY_SRC_ACCESS_ORDER_STREAM) /* read before the stream gets there */
            use(&part->order, HOST, copy.from, 0);
        submitting(part, &copies[i]);
    }
    if (takes_older)
        DO(older(to, from, sizes, (size_t)count, &attributes, &first, 1, NULL, handle(part, lane)));
    else
        DO(batch(to, from, sizes, (size_t)count, &attributes, &first, 1, handle(part, lane)));
    for (int i = 0; i < count; i++)
        submitted(part, &copies[i]);
}

/* Many small pieces of one range each way, which a kernel may make at once. */
static inline void fine_batches(Part *part)
{
    enum { PIECES = 70, PIECE_BYTES_MAX = 1024 };
    __typeof__(&cuMemcpyBatchAsync_v2) batch = FIND(RTLD_DEFAULT, cuMemcpyBatchAsync_v2);
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    size_t first = 0, sizes[PIECES], most = part->bytes / PIECES;
    size_t piece = 1 + draw(part, most < PIECE_BYTES_MAX ? most : PIECE_BYTES_MAX);
    CUdeviceptr to[PIECES], from[PIECES];
    int to_device = (int)draw(part, 2), lane = BLOCKING + (int)draw(part, LANES - BLOCKING);
    int count = 20 + (int)draw(part, PIECES - 19), step = 1 + 2 * (int)draw(part, 4);
    Buffer *device = &part->buffers[draw(part, DEVICES)], *host = &part->buffers[DEVICES + (int)draw(part, DEVICES)];
    Copy copy = {.from = to_device ? host : device, .to = to_device ? device : host, .slot = lane, .lane = lane};
    if (batch == NULL)
        return;
    copy.bytes = piece * (size_t)count;
    copy.from_at = any_place(part, copy.bytes);
    copy.to_at = draw(part, 2) ? copy.from_at : any_place(part, copy.bytes); /* aligned alike, or perhaps not */
    submitting(part, &copy);
    for (int i = 0; i < count; i++) { /* in another order than in memory, where the step allows it */
        size_t at = piece * (size_t)(count % step != 0 || step == 1 ? i * step % count : i);
        sizes[i] = piece;
        from[i] = copy.from->address + copy.from_at + at;
        to[i] = copy.to->address + copy.to_at + at;
    }
    DO(batch(to, from, sizes, (size_t)count, &attributes, &first, 1, handle(part, lane)));
    submitted(part, &copy);
}

/* Between devices where there are two, else within the context. */
static inline void peers(Part *part)
{
    Copy copy = {.from = any_device(part), .to = any_device(part), .bytes = any_bytes(part)};
    CUcontext to_context = part->current, from_context = part->current;
    if (copy.from == copy.to)
        copy.to = &part->buffers[(copy.to - part->buffers + 1) % DEVICES];
    if (part->other != NULL && draw(part, 2))
        copy.to = &part->away, to_context = part->other;
    else if (part->other != NULL)
        copy.from = &part->away, from_context = part->other;
    CUdeviceptr to = copy.to->address + any_place(part, copy.bytes);
    CUdeviceptr from = copy.from->address + any_place(part, copy.bytes);
    int is_blocking_call = draw(part, 3) == 0;
    copy.slot = is_blocking_call ? DEFAULT : (int)draw(part, LANES);
    copy.lane = lane_of(copy.slot);
    submitting(part, &copy);
    if (is_blocking_call)
        DO(cuMemcpyPeer(to, to_context, from, from_context, copy.bytes));
    else
        DO(cuMemcpyPeerAsync(to, to_context, from, from_context, copy.bytes, handle(part, copy.slot)));
    submitted(part, &copy);
}

#endif
