/* Stream capture: captured work does not run, and calls that would break a capture are refused. */
#include "device.h"

static int status_of(CUstream stream)
{
    int status = 99;
    OK(cuStreamIsCapturing(stream, &status));
    return status;
}

static void captured_work_does_not_run(CUstream stream, unsigned char *pinned, CUdeviceptr device)
{
    CUgraph graph = NULL;
    memset(pinned, 5, 64);
    OK(cuMemcpyHtoD(device, pinned, 64));
    memset(pinned, 6, 64);
    REQUIRE(status_of(stream) == CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    REQUIRE(status_of(stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuMemcpyHtoDAsync(device, pinned, 64, stream));
    OK(cuStreamEndCapture(stream, &graph));
    REQUIRE(graph != NULL);
    REQUIRE(status_of(stream) == CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(pinned, device, 64));
    REQUIRE(pinned[0] == 5 && pinned[63] == 5);
    OK(cuGraphDestroy(graph));
}

static void an_event_draws_another_stream_in(CUstream stream, CUstream other)
{
    CUgraph graph = NULL;
    CUevent fork = NULL, join = NULL;
    OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(fork, stream));
    OK(cuStreamWaitEvent(other, fork, 0));
    REQUIRE(status_of(other) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuEventRecord(join, other));
    OK(cuStreamWaitEvent(stream, join, 0));
    OK(cuStreamEndCapture(stream, &graph));
    REQUIRE(status_of(other) == CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuGraphDestroy(graph));
    OK(cuEventDestroy(fork));
    OK(cuEventDestroy(join));
}

static void synchronising_breaks_a_capture(CUstream stream)
{
    CUgraph graph = NULL;
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(stream));
    EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    REQUIRE(graph == NULL);
    REQUIRE(status_of(stream) == CU_STREAM_CAPTURE_STATUS_NONE);
}

static cuuint64_t capture_id(CUstream stream)
{
    int status = 99;
    cuuint64_t id = 0;
    OK(cuStreamGetCaptureInfo_v2(stream, &status, &id, NULL, NULL, NULL));
    REQUIRE(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    return id;
}

static void captures_are_numbered(CUstream stream)
{
    int status = 99;
    cuuint64_t ids[2];
    OK(cuStreamGetCaptureInfo_v2(stream, &status, NULL, NULL, NULL, NULL));
    REQUIRE(status == CU_STREAM_CAPTURE_STATUS_NONE);
    for (int i = 0; i < 2; i++) {
        OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        ids[i] = capture_id(stream);
        REQUIRE(capture_id(stream) == ids[i]);
        OK(cuStreamEndCapture(stream, NULL));
    }
    REQUIRE(ids[0] != ids[1]);
}

/* A capture of mode GLOBAL prohibits allocations, but not on a thread that has relaxed its own mode. */
static void a_thread_can_relax_its_mode(CUstream stream)
{
    int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUdeviceptr pointer = 0;
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    REQUIRE(mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemAlloc(&pointer, 64));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    REQUIRE(mode == CU_STREAM_CAPTURE_MODE_RELAXED);
    EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemFree(pointer));
    EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, NULL));
    OK(cuMemFree(pointer));
#ifdef SOFTWARE_GPU
    mode = 9;
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuThreadExchangeStreamCaptureMode(&mode));
#endif
}

static void refusals(CUstream stream)
{
    CUgraph graph = (CUgraph)UNTOUCHED;
    EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamBeginCapture(stream, 17));
#ifdef SOFTWARE_GPU
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamIsCapturing(stream, NULL));
#endif
    EXPECT(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(stream, &graph));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuStreamEndCapture(stream, NULL)); /* drops the graph */
    REQUIRE(status_of(stream) == CU_STREAM_CAPTURE_STATUS_NONE);
}

int main(void)
{
    open_device();
    CUstream stream = new_stream(), other = new_stream();
    unsigned char *pinned = new_pinned_bytes(64);
    CUdeviceptr device = new_device_bytes(64);
    captured_work_does_not_run(stream, pinned, device);
    an_event_draws_another_stream_in(stream, other);
    synchronising_breaks_a_capture(stream);
    captures_are_numbered(stream);
    a_thread_can_relax_its_mode(stream);
    refusals(stream);
    OK(cuMemFree(device));
    OK(cuMemFreeHost(pinned));
    OK(cuStreamDestroy(stream));
    OK(cuStreamDestroy(other));
    close_device();
    return 0;
}
