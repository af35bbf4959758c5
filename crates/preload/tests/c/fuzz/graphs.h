/* Captures: launched as a graph, or broken by a call that a capture does not allow. */
#ifndef GRAPHS_H
#define GRAPHS_H

#include "copies.h"

enum { LAUNCHES_MAX = 2 };

static inline int any_mode(Part *part)
{
    static const int modes[] = {CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED,
                                CU_STREAM_CAPTURE_MODE_GLOBAL};
    return modes[draw(part, part->is_alone ? 3 : 2)]; /* a global one concerns other threads */
}

/* Copies that a graph is made of; each of two streams has its own buffers. */
static inline void capture_some(Part *part, int lane, int half)
{
    for (uint32_t left = 1 + draw(part, 3); left > 0; left--) {
        Buffer *host = &part->buffers[DEVICES + 2 * half + (int)draw(part, 2)];
        Buffer *device = &part->buffers[3 * half + (int)draw(part, 3)];
        size_t bytes = any_bytes(part);
        if (draw(part, 2))
            DO(cuMemcpyHtoDAsync(device->address, host->host, bytes, handle(part, lane)));
        else
            DO(cuMemcpyDtoHAsync(host->host, device->address, bytes, handle(part, lane)));
    }
}

static inline CUgraph captured(Part *part, int lane)
{
    CUgraph graph = NULL;
    CUevent fork = part->order.events[0], join = part->order.events[1];
    int other = lane == APART ? URGENT : APART;
    enter_room(HELD_ROOM);
    OK(cuStreamBeginCapture(handle(part, lane), any_mode(part)));
    OK(cuEventRecord(fork, handle(part, lane)));
    OK(cuStreamWaitEvent(handle(part, other), fork, 0));
    capture_some(part, lane, 0);
    capture_some(part, other, 1);
    OK(cuEventRecord(join, handle(part, other)));
    OK(cuStreamWaitEvent(handle(part, lane), join, 0));
    OK(cuStreamEndCapture(handle(part, lane), &graph));
    leave_room(HELD_ROOM);
    /* An event that a capture has recorded can only be used in a capture. */
    OK(cuEventRecord(fork, handle(part, lane)));
    OK(cuEventRecord(join, handle(part, lane)));
    return graph;
}

static inline void replay(Part *part)
{
    int lane = APART + (int)draw(part, LANES - APART);
    CUgraph graph = captured(part, lane);
    CUgraphExec executable = NULL;
    enter_room(WAITING_ROOM);
    CUresult code = DO(cuGraphInstantiateWithFlags(&executable, graph, 0));
    for (int i = 0; code == CUDA_SUCCESS && i < PINNED_END; i++)
        use(&part->order, lane, &part->buffers[i], 1);
    for (uint32_t left = 1 + draw(part, LAUNCHES_MAX); code == CUDA_SUCCESS && left > 0; left--)
        OK(cuGraphLaunch(executable, handle(part, lane)));
    if (code == CUDA_SUCCESS) {
        uint64_t number = ++part->order.count[lane];
        for (int i = 0; i < PINNED_END; i++)
            used(lane, number, &part->buffers[i], 1);
        OK(cuGraphExecDestroy(executable));
    }
    OK(cuGraphDestroy(graph));
    leave_room(WAITING_ROOM);
}

/* A forbidden call breaks a capture. Later operations in it are lost, and the stream copies again afterwards. */
static inline void spoilt_capture(Part *part)
{
    int lane = APART + (int)draw(part, LANES - APART), status = 99;
    CUstream stream = handle(part, lane);
    CUgraph graph = NULL;
    uint32_t which = draw(part, 4);
    int room = which == 3 ? LEGACY_ROOM : HELD_ROOM;
    enter_room(room);
    DO(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    DO(cuMemcpyHtoDAsync(part->scratch, part->scratch_pinned, SCRATCH_BYTES, stream));
    if (which == 0)
        DO(cuStreamSynchronize(stream));
    else if (which == 1)
        DO(cuStreamQuery(stream));
    else if (which == 2)
        DO(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    else
        DO(cuMemcpyHtoD(part->scratch, part->scratch_pinned, SCRATCH_BYTES));
    DO(cuStreamIsCapturing(stream, &status));
    DO(cuMemcpyDtoHAsync(part->scratch_pinned, part->scratch, SCRATCH_BYTES, stream));
    DO(cuStreamEndCapture(stream, &graph));
    leave_room(room);
    note(&part->order.log, " status %d, graph %d\n", status, graph != NULL);
    if (graph != NULL)
        OK(cuGraphDestroy(graph));
    DO(cuStreamEndCapture(stream, &graph));
}

#endif
