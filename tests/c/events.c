/* Events: order across streams, results of queries, elapsed time. */
#include "device.h"

static void never_recorded(CUstream stream)
{
    CUevent event = NULL;
    OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    OK(cuEventQuery(event));
    OK(cuEventSynchronize(event));
    OK(cuStreamWaitEvent(stream, event, 0));
    OK(cuStreamSynchronize(stream));
    OK(cuEventDestroy(event));
}

static void query_follows_the_stream(CUstream stream)
{
    CUevent event = NULL;
    Gate gate = new_gate();
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    hold(gate, stream);
    OK(cuEventRecord(event, stream));
    EXPECT(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    open_gate(gate);
    OK(cuEventSynchronize(event));
    OK(cuEventQuery(event));
    OK(cuStreamQuery(stream));
    OK(cuEventDestroy(event));
    free_gate(gate);
}

/* The second stream must not overtake the first, and a wait uses the record that existed when the wait was made. */
static void order_across_streams(CUstream first, CUstream second)
{
    CUevent event = NULL;
    Gate gate = new_gate();
    unsigned char *seen = new_pinned_bytes(4);
    CUdeviceptr word = new_device_bytes(4);
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuMemsetD8Async(word, 1, 4, first));
    OK(cuStreamSynchronize(first));
    hold(gate, first);
    OK(cuMemsetD8Async(word, 2, 4, first));
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
    OK(cuMemcpyDtoHAsync(seen, word, 4, second));
    EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(second));
    open_gate(gate);
    OK(cuStreamSynchronize(second));
    REQUIRE(seen[0] == 2 && seen[3] == 2);
    OK(cuStreamSynchronize(first));
    OK(cuEventDestroy(event));
    OK(cuMemFree(word));
    OK(cuMemFreeHost(seen));
    free_gate(gate);
}

static void wait_keeps_the_record_it_saw(CUstream first, CUstream second)
{
    CUevent event = NULL;
    Gate gate = new_gate();
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
    hold(gate, first);
    OK(cuEventRecord(event, first));
    OK(cuStreamSynchronize(second));
    EXPECT(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    open_gate(gate);
    OK(cuEventSynchronize(event));
    OK(cuEventDestroy(event));
    free_gate(gate);
}

static void elapsed_time(CUstream stream)
{
    CUevent start = NULL, end = NULL, untimed = NULL;
    Gate gate = new_gate();
    float milliseconds = -1.0f;
    CUdeviceptr device = new_device_bytes(8 << 20);
    unsigned char *pinned = new_pinned_bytes(8 << 20);
    OK(cuEventCreate(&start, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&end, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&milliseconds, start, end));
    OK(cuEventRecord(start, stream));
    OK(cuMemcpyHtoDAsync(device, pinned, 8 << 20, stream));
    hold(gate, stream);
    OK(cuEventRecord(end, stream));
    OK(cuEventRecord(untimed, stream));
    OK(cuEventSynchronize(start));
    EXPECT(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&milliseconds, start, end));
    REQUIRE(milliseconds == -1.0f);
    open_gate(gate);
    OK(cuEventSynchronize(end));
    OK(cuEventElapsedTime(&milliseconds, start, end));
    REQUIRE(milliseconds > 0.1f && milliseconds < 10000.0f); /* 8 MiB take 0.15 ms at 55 GB/s */
    OK(cuStreamSynchronize(stream));
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&milliseconds, start, untimed));
    OK(cuEventDestroy(start));
    OK(cuEventDestroy(end));
    OK(cuEventDestroy(untimed));
    OK(cuMemFree(device));
    OK(cuMemFreeHost(pinned));
    free_gate(gate);
}

static void refusals(CUstream stream)
{
    CUevent event = (CUevent)UNTOUCHED;
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuEventCreate(NULL, CU_EVENT_DEFAULT));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuEventCreate(&event, 1u << 3));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuEventCreate(&event, 1u << 2)); /* between processes needs untimed */
    REQUIRE_UNTOUCHED(event == (CUevent)UNTOUCHED);
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(NULL, stream));
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(NULL));
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuStreamWaitEvent(stream, NULL, 0));
    OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    OK(cuEventDestroy(event));
}

int main(void)
{
    open_device();
    CUstream first = new_stream(), second = new_stream();
    never_recorded(first);
    query_follows_the_stream(first);
    order_across_streams(first, second);
    wait_keeps_the_record_it_saw(first, second);
    elapsed_time(first);
    refusals(first);
    OK(cuStreamDestroy(first));
    OK(cuStreamDestroy(second));
    close_device();
    return 0;
}
