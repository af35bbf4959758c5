/* Memory that comes and goes, reads and writes by the host, and the driver's answers about memory and streams. */
#ifndef MEMORY_H
#define MEMORY_H

#include "copies.h"

/* Memory that lives as long as its stream needs it, and is given back in the same stream or in another. */
static inline void passing_memory(Part *part)
{
    Copy copy = {.from = any_host(part, PINNED_END), .bytes = any_bytes(part), .slot = (int)draw(part, LANES)};
    CUdeviceptr device = 0;
    CUevent last = some_event(&part->order);
    int freeing = (int)draw(part, LANES);
    do
        copy.to = any_host(part, REGISTERED_END);
    while (copy.to == copy.from);
    copy.lane = lane_of(copy.slot);
    CUstream stream = handle(part, copy.slot);
    submitting(part, &copy);
    OK(cuMemAllocAsync(&device, part->bytes, stream));
    DO(cuMemcpyHtoDAsync(device, copy.from->host, copy.bytes, stream));
    DO(cuMemcpyDtoHAsync(copy.to->host, device, copy.bytes, stream));
    submitted(part, &copy);
    if (lane_of(freeing) != copy.lane) {
        OK(cuEventRecord(last, stream));
        OK(cuStreamWaitEvent(handle(part, freeing), last, 0));
        stands_behind(&part->order, lane_of(freeing), copy.lane);
    }
    DO(cuMemFreeAsync(device, handle(part, freeing)));
}

/* The host reads copied bytes, and writes bytes that will be copied. */
static inline void look(Part *part)
{
    Buffer *buffer = any_host(part, BUFFERS);
    use(&part->order, HOST, buffer, 0);
    note(&part->order.log, " bytes %016llx\n", (unsigned long long)checksum(buffer->host, part->bytes));
}

static inline void touch(Part *part)
{
    Buffer *buffer = any_host(part, BUFFERS);
    size_t bytes = any_bytes(part);
    use(&part->order, HOST, buffer, 1);
    paint(buffer->host + any_place(part, bytes), bytes, draw(part, 1000));
}

static inline void renew_buffer(Part *part)
{
    Buffer *buffer = &part->buffers[draw(part, BUFFERS)];
    uint32_t seed = draw(part, 1000);
    Copy set = {.to = buffer, .slot = (int)draw(part, LANES)};
    use(&part->order, HOST, buffer, 1);
    free_buffer(buffer);
    make_buffer(buffer, part->bytes, seed);
    if (buffer->kind != DEVICE)
        return;
    set.lane = lane_of(set.slot);
    submitting(part, &set);
    DO(cuMemsetD8Async(buffer->address, (unsigned char)seed, part->bytes, handle(part, set.slot)));
    submitted(part, &set);
}

/* The driver's attributes of an address. */
static inline void ask_memory(Part *part)
{
    Buffer *buffer = &part->buffers[draw(part, REGISTERED_END)];
    size_t at = draw(part, part->bytes), bytes = 0;
    CUdeviceptr base = 0;
    CUcontext context = NULL;
    int kind = 0;
    DO(cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, buffer->address + at));
    DO(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, buffer->address + at));
    note(&part->order.log, " type %d, context %d\n", kind, context == part->current);
    if (buffer->kind != DEVICE)
        return;
    DO(cuMemGetAddressRange(&base, &bytes, buffer->address + at));
    note(&part->order.log, " base %d, %zu bytes\n", base == buffer->address, bytes);
}

static inline void ask_streams(Part *part)
{
    int lane = LEGACY + (int)draw(part, LANES - LEGACY), priority = 99, status = 99;
    unsigned int flags = 99;
    CUcontext context = NULL, current = NULL;
    DO(cuStreamGetPriority(handle(part, lane), &priority));
    DO(cuStreamGetFlags(handle(part, lane), &flags));
    DO(cuStreamGetCtx(handle(part, lane), &context));
    DO(cuStreamIsCapturing(handle(part, lane), &status));
    DO(cuCtxGetCurrent(&current));
    note(&part->order.log, " priority %d, flags %u, status %d, contexts %d %d\n", priority, flags, status,
         context == part->current, current == part->current);
}

#endif
