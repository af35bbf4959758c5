// A CUDA runtime program: bulk and small copies both ways on several kinds of stream, capture, errors, threads.
// Built with -cudart static, with -cudart shared and with --default-stream per-thread; prints digests that must not
// depend on how the copies are made.
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thread>
#include <vector>

#include "../ok.h"
#include "digest.h"
#include "load.h"

static const size_t BULK = 32u << 20, SMALL = 64u << 10, SLOTS = 24;
static int wrong = 0;

__global__ void flip(uint8_t *bytes, size_t count, uint8_t mask)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
        bytes[i] ^= mask;
}

static void must(const char *name, bool truth)
{
    if (!truth) {
        printf("wrong: %s\n", name);
        wrong = 1;
    }
}

static uint8_t *pinned(size_t count, uint32_t seed)
{
    uint8_t *bytes = NULL;
    OK(cudaMallocHost((void **)&bytes, count));
    fill(bytes, count, seed);
    return bytes;
}

static uint8_t *device(size_t count)
{
    uint8_t *bytes = NULL;
    OK(cudaMalloc((void **)&bytes, count));
    OK(cudaMemset(bytes, 0, count));
    OK(cudaDeviceSynchronize());
    return bytes;
}

// Bulk on one stream and small copies on another, there and back.
static void contended(const char *name, cudaStream_t loading, cudaStream_t side)
{
    uint8_t *bulk = pinned(BULK, 1), *bulk_back = pinned(BULK, 2), *small = pinned(SMALL * SLOTS, 3);
    uint8_t *small_back = pinned(SMALL * SLOTS, 4), *there = device(BULK), *slots = device(SMALL * SLOTS);
    char text[64];
    OK(cudaDeviceSynchronize());
    for (int turn = 0; turn < 8; turn++)
        OK(cudaMemcpyAsync(there, bulk, BULK, cudaMemcpyHostToDevice, loading));
    flip<<<64, 256, 0, loading>>>(there, BULK, 0x21);
    for (size_t at = 0; at < SMALL * SLOTS; at += SMALL) {
        OK(cudaMemcpyAsync(slots + at, small + at, SMALL, cudaMemcpyDefault, side));
        flip<<<8, 256, 0, side>>>(slots + at, SMALL, (uint8_t)(at / SMALL));
        OK(cudaMemcpyAsync(small_back + at, slots + at, SMALL, cudaMemcpyDeviceToHost, side));
    }
    for (int turn = 0; turn < 4; turn++)
        OK(cudaMemcpyAsync(bulk_back, there, BULK, cudaMemcpyDefault, loading));
    OK(cudaStreamSynchronize(side));
    snprintf(text, sizeof text, "%s small", name);
    digest(text, small_back, SMALL * SLOTS);
    OK(cudaStreamSynchronize(loading));
    snprintf(text, sizeof text, "%s bulk", name);
    digest(text, bulk_back, BULK);
    for (uint8_t *bytes : {bulk, bulk_back, small, small_back})
        OK(cudaFreeHost(bytes));
    OK(cudaFree(there));
    OK(cudaFree(slots));
}

static void every_kind_of_stream()
{
    int least = 0, greatest = 0;
    cudaStream_t one, two, low, high, blocking;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    OK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithPriority(&low, cudaStreamNonBlocking, least));
    OK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, greatest));
    OK(cudaStreamCreate(&blocking));
    contended("two streams", one, two);
    contended("priorities", low, high);
    contended("default stream", 0, two);
    contended("legacy and blocking", cudaStreamLegacy, blocking);
    contended("per thread", cudaStreamPerThread, two);
    contended("one stream", one, one);
    for (cudaStream_t stream : {one, two, low, high, blocking})
        OK(cudaStreamDestroy(stream));
}

static void blocking_and_shaped_copies()
{
    size_t pitch = 0, width = 1000, height = 700;
    uint8_t *host = (uint8_t *)malloc(BULK), *back = (uint8_t *)calloc(1, BULK), *there = device(BULK), *plane = NULL;
    fill(host, BULK, 9);
    OK(cudaMemcpy(there, host, BULK, cudaMemcpyHostToDevice));
    flip<<<64, 256>>>(there, BULK, 0x11);
    OK(cudaMemcpy(back, there, BULK, cudaMemcpyDeviceToHost));
    digest("blocking", back, BULK);
    OK(cudaMallocPitch((void **)&plane, &pitch, width, height));
    OK(cudaMemcpy2D(plane, pitch, host, 1024, width, height, cudaMemcpyHostToDevice));
    memset(back, 0, BULK);
    OK(cudaMemcpy2DAsync(back, 1200, plane, pitch, width - 100, height, cudaMemcpyDefault, cudaStreamPerThread));
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    digest("plane", back, 1200 * height);
    OK(cudaHostRegister(host, BULK, cudaHostRegisterDefault));
    OK(cudaMemcpyAsync(there, host, BULK, cudaMemcpyHostToDevice, 0));
    OK(cudaMemcpy(back, there, BULK, cudaMemcpyDeviceToHost));
    OK(cudaHostUnregister(host));
    digest("registered", back, BULK);
    OK(cudaFree(there));
    OK(cudaFree(plane));
    free(host);
    free(back);
}

static void stream_ordered_memory()
{
    cudaStream_t stream;
    uint8_t *host = pinned(4 << 20, 11), *back = pinned(4 << 20, 12);
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int turn = 0; turn < 30; turn++) {
        uint8_t *there = NULL;
        OK(cudaMallocAsync((void **)&there, 4 << 20, stream));
        OK(cudaMemcpyAsync(there, host, 4 << 20, cudaMemcpyHostToDevice, stream));
        flip<<<32, 256, 0, stream>>>(there, 4 << 20, (uint8_t)turn);
        OK(cudaMemcpyAsync(back, there, 4 << 20, cudaMemcpyDeviceToHost, stream));
        OK(cudaFreeAsync(there, stream));
    }
    OK(cudaStreamSynchronize(stream));
    digest("stream-ordered memory", back, 4 << 20);
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeHost(host));
    OK(cudaFreeHost(back));
}

static void graph()
{
    cudaStream_t stream, loading;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t program = NULL;
    uint8_t *host = pinned(4 << 20, 13), *back = pinned(4 << 20, 14), *there = device(4 << 20);
    uint8_t *bulk = pinned(BULK, 15), *bulk_there = device(BULK);
    size_t nodes = 0;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&loading, cudaStreamNonBlocking));
    memset(back, 0, 4 << 20);
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaMemcpyAsync(bulk_there, bulk, BULK, cudaMemcpyHostToDevice, loading));
    OK(cudaMemcpyAsync(there, host, 4 << 20, cudaMemcpyHostToDevice, stream));
    flip<<<32, 256, 0, stream>>>(there, 4 << 20, 0x7f);
    OK(cudaMemcpyAsync(back, there, SMALL, cudaMemcpyDeviceToHost, stream));
    OK(cudaMemcpyAsync(back + SMALL, there + SMALL, (4 << 20) - SMALL, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphGetNodes(graph, NULL, &nodes));
    printf("nodes: %zu\n", nodes);
    digest("before the graph runs", back, 4 << 20);
    OK(cudaGraphInstantiate(&program, graph, 0));
    for (int turn = 0; turn < 5; turn++) {
        host[turn] = (uint8_t)turn;
        OK(cudaMemcpyAsync(bulk_there, bulk, BULK, cudaMemcpyHostToDevice, loading));
        OK(cudaGraphLaunch(program, stream));
        OK(cudaStreamSynchronize(stream));
        digest("graph", back, 4 << 20);
    }
    OK(cudaStreamSynchronize(loading));
    OK(cudaGraphExecDestroy(program));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    printf("synchronise in a capture: %s\n", cudaGetErrorName(cudaStreamSynchronize(stream)));
    printf("end of that capture: %s\n", cudaGetErrorName(cudaStreamEndCapture(stream, &graph)));
    (void)cudaGetLastError();
}

static void errors()
{
    uint8_t *host = pinned(SMALL, 16), *there = device(SMALL);
    printf("bad direction: %s\n", cudaGetErrorName(cudaMemcpyAsync(there, host, SMALL, (cudaMemcpyKind)9, 0)));
    printf("null target: %s\n", cudaGetErrorName(cudaMemcpyAsync(NULL, host, SMALL, cudaMemcpyHostToDevice, 0)));
    printf("no bytes: %s\n", cudaGetErrorName(cudaMemcpyAsync(there, host, 0, cudaMemcpyHostToDevice, 0)));
    printf("bad pitch: %s\n", cudaGetErrorName(cudaMemcpy2D(there, 4, host, 8, 8, 2, cudaMemcpyHostToDevice)));
    printf("last error: %s\n", cudaGetErrorName(cudaGetLastError()));
    OK(cudaFreeHost(host));
    OK(cudaFree(there));
}

static void worker(int number, std::vector<uint8_t> *seen)
{
    uint8_t *host = pinned(2 << 20, 30 + number), *back = pinned(2 << 20, 40), *there = device(2 << 20);
    for (int turn = 0; turn < 20; turn++) {
        size_t count = turn % 2 ? SMALL : 2 << 20;
        OK(cudaMemcpyAsync(there, host, count, cudaMemcpyHostToDevice, 0));
        flip<<<16, 256>>>(there, 2 << 20, (uint8_t)(turn + number));
        OK(cudaMemcpyAsync(back, there, 2 << 20, cudaMemcpyDeviceToHost, 0));
    }
    OK(cudaStreamSynchronize(0));
    seen->assign(back, back + (2 << 20));
}

static void threads()
{
    std::vector<std::vector<uint8_t>> seen(4);
    std::vector<std::thread> workers;
    for (int number = 0; number < 4; number++)
        workers.emplace_back(worker, number, &seen[number]);
    for (std::thread &thread : workers)
        thread.join();
    for (const std::vector<uint8_t> &bytes : seen)
        digest("thread", bytes.data(), bytes.size());
}

static void work()
{
    every_kind_of_stream();
    blocking_and_shaped_copies();
    stream_ordered_memory();
    graph();
    errors();
    threads();
    OK(cudaDeviceSynchronize());
    must("no error is left", cudaGetLastError() == cudaSuccess);
}

int main(int count, char **arguments)
{
    cudaStream_t loading;
    OK(cudaStreamCreateWithFlags(&loading, cudaStreamNonBlocking));
    uint8_t *host = pinned(LOAD_BYTES, 50), *there = device(LOAD_BYTES);
    phases(count, arguments, work, [=] {
        // The client may be capturing meanwhile, and the calls here must not affect that.
        cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
        OK(cudaThreadExchangeStreamCaptureMode(&mode));
        for (int i = 0; i < LOADS_QUEUED; i++)
            OK(cudaMemcpyAsync(there, host, LOAD_BYTES, cudaMemcpyHostToDevice, loading));
        OK(cudaStreamSynchronize(loading));
    });
    printf("RESULT %s\n", wrong ? "wrong" : "good");
    return wrong;
}
