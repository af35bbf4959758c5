/* Captures that end in every way: joined, unjoined, spoilt, refused, in another thread, with their stream or their
 * context; by lot, and each way once. Whenever none is left, pageable copies are staged as before. */
#define _GNU_SOURCE
#include <pthread.h>

#include "client.h"

enum { STREAMS = 3, ROUNDS = 240, COPIES = 16, BYTES = 8 * MIB };

static CUcontext primary;
static CUstream streams[STREAMS];
static CUevent fork_event;
static CUdeviceptr device;
static unsigned char *pinned;
static uint64_t state = 7;

static uint32_t draw(uint32_t count)
{
    state = next_word(state);
    return (uint32_t)(state >> 33) % count;
}

static void *end_elsewhere(void *stream)
{
    CUgraph graph = NULL;
    OK(cuCtxSetCurrent(primary));
    CODE(cuStreamEndCapture(stream, &graph));
    if (graph != NULL)
        OK(cuGraphDestroy(graph));
    return NULL;
}

static void end(CUstream stream)
{
    CUgraph graph = NULL;
    CODE(cuStreamEndCapture(stream, draw(8) == 0 ? NULL : &graph));
    if (graph != NULL)
        OK(cuGraphDestroy(graph));
}

static int status_of(CUstream stream)
{
    int status = 9;
    OK(cuStreamIsCapturing(stream, &status));
    return status;
}

static void show(CUstream stream)
{
    printf("status %d\n", status_of(stream));
}

static void act(void)
{
    static const int modes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                CU_STREAM_CAPTURE_MODE_RELAXED};
    uint32_t one = draw(STREAMS), what = draw(9);
    pthread_t thread;
    for (uint32_t look = 0; what > 2 && look < STREAMS && status_of(streams[one]) == 0; look++)
        one = (one + 1) % STREAMS; /* one that captures, if there is one */
    uint32_t other = (one + 1 + draw(2)) % STREAMS;
    printf("%u in %u: ", what, one);
    switch (what) {
    case 0:
    case 1:
        CODE(cuStreamBeginCapture(streams[one], modes[draw(3)]));
        break;
    case 2:
    case 3:
        end(streams[one]);
        break;
    case 4: /* the other stream joins the capture, if there is one, and is joined again or not */
        CODE(cuEventRecord(fork_event, streams[one]));
        CODE(cuStreamWaitEvent(streams[other], fork_event, 0));
        CODE(cuMemsetD8Async(device, 1, 64, streams[other]));
        if (draw(2)) {
            CODE(cuEventRecord(fork_event, streams[other]));
            CODE(cuStreamWaitEvent(streams[one], fork_event, 0));
        }
        break;
    case 5:
        CODE(cuMemcpyHtoDAsync(device, pinned, 64 * KIB, streams[one]));
        break;
    case 6: /* spoils a capture */
        CODE(cuStreamSynchronize(streams[one]));
        break;
    case 7:
        REQUIRE(pthread_create(&thread, NULL, end_elsewhere, streams[one]) == 0);
        REQUIRE(pthread_join(thread, NULL) == 0);
        break;
    default:
        CODE(cuStreamDestroy(streams[one]));
        int relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
        OK(cuThreadExchangeStreamCaptureMode(&relaxed));
        streams[one] = new_stream();
        OK(cuThreadExchangeStreamCaptureMode(&relaxed));
    }
    show(streams[one]);
}

/* Ends all captures, from the thread that began them. */
static void end_all(void)
{
    for (int i = 0; i < STREAMS; i++)
        end(streams[i]);
    for (int i = 0; i < STREAMS; i++)
        show(streams[i]);
}

/* The other stream is never joined: the call fails, and the capture is over. */
static void unjoined(void)
{
    CUgraph graph = NULL;
    OK(cuStreamBeginCapture(streams[0], CU_STREAM_CAPTURE_MODE_RELAXED));
    CODE(cuStreamBeginCapture(streams[0], CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(fork_event, streams[0]));
    OK(cuStreamWaitEvent(streams[1], fork_event, 0));
    OK(cuMemsetD8Async(device, 1, 64, streams[1]));
    CODE(cuStreamEndCapture(streams[0], &graph));
    show(streams[0]);
}

static void spoilt(void)
{
    CUgraph graph = NULL;
    OK(cuStreamBeginCapture(streams[0], CU_STREAM_CAPTURE_MODE_RELAXED));
    CODE(cuStreamSynchronize(streams[0]));
    CODE(cuStreamEndCapture(streams[0], &graph));
    show(streams[0]);
}

/* Its captures end with it. */
static void context_that_goes(void)
{
    CUcontext context = NULL;
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuStreamBeginCapture(new_stream(), CU_STREAM_CAPTURE_MODE_RELAXED));
    CODE(cuCtxDestroy(context));
}

static void copies(int count)
{
    static unsigned char in[BYTES], out[BYTES];
    for (int i = 0; i < count; i++) {
        paint(in, BYTES, (uint64_t)i);
        OK(cuMemcpyHtoD(device, in, BYTES));
        OK(cuMemcpyDtoH(out, device, BYTES));
        REQUIRE(memcmp(in, out, BYTES) == 0);
        nap_us(2000);
    }
    printf("%016llx\n", (unsigned long long)checksum(out, BYTES));
}

int main(void)
{
    primary = open_device();
    OK(cuEventCreate(&fork_event, CU_EVENT_DISABLE_TIMING));
    device = new_device_bytes(BYTES);
    pinned = new_pinned_bytes(MIB);
    for (int i = 0; i < STREAMS; i++)
        streams[i] = new_stream();
    for (int round = 0; round < ROUNDS; round++) {
        act();
        if (draw(16) == 0) {
            end_all();
            copies(1);
        }
    }
    end_all();
    copies(COPIES);
    unjoined();
    copies(COPIES);
    spoilt();
    copies(COPIES);
    context_that_goes();
    OK(cuCtxSetCurrent(primary));
    copies(COPIES);
    return 0;
}
