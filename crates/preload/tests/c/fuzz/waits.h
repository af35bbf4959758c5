/* Waits: of the host, of streams for the host, and of a kernel that leaves no multiprocessor free. */
#ifndef WAITS_H
#define WAITS_H

#include "copies.h"
#include "options.h"

static inline void synchronise(Part *part)
{
    int lane = LEGACY + (int)draw(part, LANES - LEGACY);
    CUresult code = CUDA_SUCCESS;
    switch (draw(part, 4)) {
    case 0:
        host_waits(&part->order, lane);
        stands_behind(&part->order, HOST, lane);
        return;
    case 1:
        code = cuStreamQuery(handle(part, lane));
        if (code == CUDA_SUCCESS)
            stands_behind(&part->order, HOST, lane);
        break;
    case 2:
        code = cuEventQuery(some_event(&part->order));
        break;
    default:
        nap_us(draw(part, 300));
    }
    REQUIRE(code == CUDA_SUCCESS || code == CUDA_ERROR_NOT_READY);
}

/* A stream is destroyed while it is busy; the new one comes after its work. */
static inline void renew_lane(Part *part)
{
    int lane = BLOCKING + (int)draw(part, LANES - BLOCKING);
    CUevent last = some_event(&part->order);
    OK(cuEventRecord(last, handle(part, lane)));
    OK(cuStreamDestroy(handle(part, lane)));
    part->order.streams[lane] = new_lane(lane);
    OK(cuStreamWaitEvent(handle(part, lane), last, 0));
}

/* Where launches wait for their kernels, a real driver may have copies wait too. */
static inline int may_hold(void)
{
#ifdef SOFTWARE_GPU
    return 1;
#else
    return !launches_block();
#endif
}

/* A stream waits for the host while more work is submitted, to it and to others that may wait for it. */
static inline void held(Part *part)
{
    Order *order = &part->order;
    if (!may_hold())
        return;
    enter_room(WAITING_ROOM);
    get_behind(order, HOST, part->gated_lane, part->gated_number);
    leave_room(WAITING_ROOM);
    part->gated_lane = APART + (int)draw(part, LANES - APART);
    store_word(part->gate.word, 0);
    enter_room(HELD_ROOM);
    order->is_held = 1;
    hold(part->gate, handle(part, part->gated_lane));
    part->gated_number = ++order->count[part->gated_lane];
    for (uint32_t left = 1 + draw(part, 8); left > 0; left--)
        copy_once(part, draw(part, 2) ? part->gated_lane : (int)draw(part, LANES), REGISTERED_END);
    nap_us(draw(part, 200));
    open_gate(part->gate);
    order->is_held = 0;
    leave_room(HELD_ROOM);
}

/* A kernel has every multiprocessor until the host releases it, and the host waits for copies first. If other threads
 * submit work, a copy of theirs behind a kernel of theirs may stand before these copies in a hardware queue: that hangs
 * natively. */
static inline void full(Part *part)
{
    if (!part->is_alone || launches_block()) {
        held(part);
        return;
    }
    /* Not of one priority: such streams may share a hardware queue, and the driver sends small copies to the device
     * through the queue of the stream's kernels, where they would stand behind this one. */
    int plain = draw(part, 2) ? APART : APART_TOO, is_urgent = (int)draw(part, 2);
    int busy = is_urgent ? URGENT : plain, lane = is_urgent ? plain : URGENT;
    uint32_t one = 1, copies = 2 + draw(part, 6);
    CUdeviceptr word = device_side(part->gate.word);
    enter_room(WAITING_ROOM);
    settle(part);
    leave_room(WAITING_ROOM);
    store_word(part->gate.word, 0);
    enter_room(HELD_ROOM);
    part->order.is_held = 1; /* only work of `lane` can be waited for */
    OK(cuLaunchKernel(part->fill, 32 * part->multiprocessors, 1, 1, 1024, 1, 1, 0, handle(part, busy),
                      (void *[]){&word, &one}, NULL));
    part->gated_lane = busy, part->gated_number = ++part->order.count[busy];
    nap_us(draw(part, 2) * 200);
    for (; copies > 0; copies--)
        copy_once(part, lane, REGISTERED_END);
    OK(cuStreamSynchronize(handle(part, lane)));
    stands_behind(&part->order, HOST, lane);
    open_gate(part->gate);
    part->order.is_held = 0;
    leave_room(HELD_ROOM);
}

#endif
