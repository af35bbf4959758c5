/* Device memory is written by the device alone: sets, a kernel, a word of the stream's. */
#ifndef WRITES_H
#define WRITES_H

#include "copies.h"
#include "options.h"

typedef struct {
    CUdeviceptr at; /* a multiple of 4 */
    size_t words;
    uint32_t value;
    CUstream stream;
    Buffer *buffer;
} Write;

static inline void set_words(Part *part, const Write *write)
{
    switch (draw(part, 4)) {
    case 0:
        DO(cuMemsetD16Async(write->at, (unsigned short)write->value, 2 * write->words, write->stream));
        break;
    case 1:
        DO(cuMemsetD32Async(write->at, write->value, write->words, write->stream));
        break;
    case 2:
        DO(cuMemsetD2D8Async(write->buffer->address, 512, (unsigned char)write->value, 1 + write->value % 512,
                             1 + write->value % 600, write->stream));
        break;
    default:
        DO(cuMemsetD2D32Async(write->buffer->address, 512, write->value, 1 + write->value % 128,
                              1 + write->value % 600, write->stream));
    }
}

static inline void set_words_blocking(Part *part, const Write *write)
{
    switch (draw(part, 3)) {
    case 0:
        DO(cuMemsetD8(write->at, (unsigned char)write->value, 4 * write->words));
        break;
    case 1:
        DO(cuMemsetD16(write->at, (unsigned short)write->value, 2 * write->words));
        break;
    default:
        DO(cuMemsetD32(write->at, write->value, write->words));
    }
}

static inline void write_once(Part *part)
{
    Copy copy = {.to = any_device(part), .slot = (int)draw(part, LANES), .bytes = (any_bytes(part) + 3) / 4 * 4};
    copy.bytes = copy.bytes > part->bytes ? part->bytes : copy.bytes;
    uint32_t which = draw(part, 8);
    if (which == 0)
        copy.slot = DEFAULT;
    copy.lane = lane_of(copy.slot);
    Write write = {.at = copy.to->address + draw(part, part->bytes - copy.bytes + 1) / 4 * 4, .words = copy.bytes / 4,
                   .value = draw(part, 1u << 30), .stream = handle(part, copy.slot), .buffer = copy.to};
    submitting(part, &copy);
    if (which == 0)
        set_words_blocking(part, &write);
    else if (which == 1)
        DO(cuLaunchKernel(part->add, 1, 1, 1, 1, 1, 1, 0, write.stream, (void *[]){&write.at, &write.value}, NULL));
    else if (which == 2)
        DO(cuStreamWriteValue32(write.stream, write.at, write.value, CU_STREAM_WRITE_VALUE_DEFAULT));
    else if (which == 3)
        DO(cuMemsetD8Async(write.at + 1, (unsigned char)write.value, 4 * write.words - 1, write.stream));
    else
        set_words(part, &write);
    submitted(part, &copy);
}

/* A launch that waits for its kernel keeps other threads from the driver, and so from releasing a stream. */
static inline void writes(Part *part)
{
    int room = launches_block() ? WAITING_ROOM : NO_ROOM;
    if (room != NO_ROOM)
        enter_room(room);
    write_once(part);
    if (room != NO_ROOM)
        leave_room(room);
}

#endif
