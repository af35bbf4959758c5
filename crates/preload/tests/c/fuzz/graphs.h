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

/* A graph of copies, which is launched and gone: the next executable may come at the handle of this one. */
static inline void replay_in(Part *part, int lane)
{
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

static inline void replay(Part *part)
{
    replay_in(part, APART + (int)draw(part, LANES - APART));
}

/* A graph of a set and a kernel in a module of its own, so that its launch may be the kernel's first one. */
static inline void replay_kernel(Part *part, int lane)
{
    CUstream stream = handle(part, lane);
    CUgraph graph = NULL;
    CUgraphExec executable = NULL;
    CUmodule module = NULL;
    CUfunction add = NULL;
    uint32_t value = draw(part, 1u << 30);
    Copy write = {.to = any_device(part), .slot = lane, .lane = lane};
    enter_room(WAITING_ROOM);
    OK(cuModuleLoadData(&module, kernels_text()));
    OK(cuModuleGetFunction(&add, module, "soft_atomic_add_u32"));
    leave_room(WAITING_ROOM);
    enter_room(HELD_ROOM);
    OK(cuStreamBeginCapture(stream, any_mode(part)));
    DO(cuMemsetD8Async(write.to->address, (unsigned char)value, part->bytes, stream));
    DO(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){&write.to->address, &value}, NULL));
    OK(cuStreamEndCapture(stream, &graph));
    leave_room(HELD_ROOM);
    enter_room(WAITING_ROOM);
    DO(cuGraphInstantiateWithFlags(&executable, graph, 0));
    submitting(part, &write);
    OK(cuGraphLaunch(executable, stream));
    submitted(part, &write);
    OK(cuGraphExecDestroy(executable));
    OK(cuGraphDestroy(graph));
    use(&part->order, HOST, write.to, 1);
    OK(cuModuleUnload(module));
    leave_room(WAITING_ROOM);
}

/* Executables that follow each other. */
static inline void replays(Part *part)
{
    int lane = APART + (int)draw(part, LANES - APART);
    for (uint32_t left = 2 + draw(part, 3); left > 0; left--) {
        if (draw(part, 2))
            replay_kernel(part, lane);
        else
            replay_in(part, lane);
    }
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

enum { JOINED, UNJOINED, INVALID, REFUSED, DESTROYED, ENDED_ELSEWHERE, CAPTURE_ENDS };

typedef struct {
    CUcontext context;
    CUstream stream, member;
    CUevent fork;
    CUgraph graph;
    CUresult code;
} Capture;

static inline void *end_capture(void *argument)
{
    Capture *capture = argument;
    OK(cuCtxSetCurrent(capture->context));
    capture->code = cuStreamEndCapture(capture->stream, &capture->graph);
    return NULL;
}

/* One stream or two; the second one may have joined the first again. */
static inline void begin_capture(Part *part, Capture *capture, int way)
{
    int is_relaxed = way == DESTROYED || way == ENDED_ELSEWHERE;
    CUstream stream = capture->stream, member = capture->member;
    OK(cuStreamBeginCapture(stream, is_relaxed ? CU_STREAM_CAPTURE_MODE_RELAXED : any_mode(part)));
    DO(cuMemcpyHtoDAsync(part->scratch, part->scratch_pinned, SCRATCH_BYTES, stream));
    if (way == INVALID)
        DO(cuStreamQuery(stream));
    if (way != JOINED && way != UNJOINED && way != REFUSED)
        return;
    OK(cuEventRecord(capture->fork, stream));
    OK(cuStreamWaitEvent(member, capture->fork, 0));
    DO(cuMemcpyDtoHAsync(part->scratch_pinned, part->scratch, SCRATCH_BYTES, member));
    if (way == REFUSED) { /* it goes on: only the first stream can end it */
        DO(cuStreamEndCapture(member, &capture->graph));
        DO(cuMemcpyHtoD(part->scratch, part->buffers[REGISTERED_END].host, SCRATCH_BYTES));
        DO(cuMemcpyHtoDAsync(part->scratch, part->scratch_pinned, SCRATCH_BYTES, stream));
        DO(cuMemcpyDtoHAsync(part->scratch_pinned, part->scratch, SCRATCH_BYTES, member));
    }
    if (way != UNJOINED) {
        DO(cuEventRecord(capture->fork, member));
        DO(cuStreamWaitEvent(stream, capture->fork, 0));
    }
}

static inline void finish_capture(Part *part, Capture *capture, int way)
{
    pthread_t thread;
    size_t nodes = 0;
    if (way == DESTROYED) {
        DO(cuStreamDestroy(capture->stream));
        return;
    }
    if (way == ENDED_ELSEWHERE) {
        REQUIRE(pthread_create(&thread, NULL, end_capture, capture) == 0);
        REQUIRE(pthread_join(thread, NULL) == 0);
    } else {
        end_capture(capture);
    }
    note(&part->order.log, " ended %u, graph %d\n", capture->code, capture->graph != NULL);
    if (capture->graph == NULL)
        return;
    DO(cuGraphGetNodes(capture->graph, NULL, &nodes));
    note(&part->order.log, " nodes %zu\n", nodes);
    OK(cuGraphDestroy(capture->graph));
}

/* Copies of pageable memory, whichever captures there were. */
static inline void pageable_round(Part *part, CUstream stream)
{
    size_t bytes = any_bytes(part);
    unsigned char *in = malloc(bytes), *out = malloc(bytes);
    CUdeviceptr device = new_device_bytes(bytes);
    REQUIRE(in != NULL && out != NULL);
    paint(in, bytes, draw(part, 1000));
    DO(cuMemcpyHtoD(device, in, bytes));
    DO(cuMemcpyDtoH(out, device, bytes));
    note(&part->order.log, " bytes %016llx\n", (unsigned long long)checksum(out, bytes));
    paint(in, bytes, draw(part, 1000));
    DO(cuMemcpyHtoDAsync(device, in, bytes, stream));
    DO(cuMemcpyDtoHAsync(out, device, bytes, stream));
    DO(cuStreamSynchronize(stream));
    note(&part->order.log, " bytes %016llx\n", (unsigned long long)checksum(out, bytes));
    OK(cuMemFree(device));
    free(in);
    free(out);
}

/* A capture that ends in one of all ways, and copies afterwards. */
static inline void ended_capture(Part *part)
{
    Capture capture = {.context = part->current};
    int way = (int)draw(part, CAPTURE_ENDS);
    enter_room(WAITING_ROOM);
    capture.stream = new_stream(), capture.member = new_stream();
    OK(cuEventCreate(&capture.fork, CU_EVENT_DISABLE_TIMING));
    leave_room(WAITING_ROOM);
    /* Where a stream is destroyed, no other one may be held. */
    enter_room(LEGACY_ROOM);
    begin_capture(part, &capture, way);
    finish_capture(part, &capture, way);
    leave_room(LEGACY_ROOM);
    enter_room(WAITING_ROOM);
    pageable_round(part, way == DESTROYED ? capture.member : capture.stream);
    OK(cuStreamDestroy(capture.member));
    if (way != DESTROYED)
        OK(cuStreamDestroy(capture.stream));
    OK(cuEventDestroy(capture.fork));
    leave_room(WAITING_ROOM);
}

#endif
