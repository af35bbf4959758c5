/* Error codes of invalid copies, before the drop-in has opened and after; and the sticky error at the end. */
#define _POSIX_C_SOURCE 200809L
#include "client.h"

static void wrong_addresses(Traffic *traffic)
{
    unsigned char *in = traffic->in;
    CUdeviceptr device = traffic->device, nowhere = 64;
    CODE(cuMemcpyHtoD(nowhere, in, TRAFFIC_BULK));
    CODE(cuMemcpyHtoD(0, in, TRAFFIC_SMALL));
    CODE(cuMemcpyDtoH(traffic->out, nowhere, TRAFFIC_SMALL));
    CODE(cuMemcpyDtoD(nowhere, device, TRAFFIC_SMALL));
    CODE(cuMemcpyHtoDAsync(nowhere, in, TRAFFIC_BULK, traffic->bulk));
    CODE(cuMemcpyHtoDAsync(nowhere, in, TRAFFIC_SMALL, traffic->urgent));
    CODE(cuMemcpyDtoHAsync(traffic->out, nowhere, TRAFFIC_BULK, traffic->bulk));
    CODE(cuMemcpyDtoHAsync(traffic->small_out, nowhere, TRAFFIC_SMALL, traffic->urgent));
    CODE(cuMemsetD8(nowhere, 0, 5));
    CODE(cuMemsetD8Async(nowhere, 0, 5, traffic->bulk));
}

static void wrong_sizes(Traffic *traffic)
{
    size_t all = (size_t)TRAFFIC_EACH * TRAFFIC_BULK;
    CODE(cuMemcpyHtoD(traffic->device, traffic->in, 0));
    CODE(cuMemcpyHtoDAsync(traffic->device, traffic->in, 0, traffic->bulk));
    CODE(cuMemcpyDtoHAsync(traffic->out, traffic->device, 0, traffic->urgent));
    CODE(cuMemcpyHtoDAsync(traffic->device + all - 100, traffic->in, 4096 * 1024, traffic->bulk));
    CODE(cuMemcpyHtoD(traffic->device + all - 100, traffic->in, 4096 * 1024));
    CODE(cuMemcpyDtoHAsync(traffic->out, traffic->device + all - 100, 4096 * 1024, traffic->bulk));
    CODE(cuMemcpyHtoDAsync(traffic->device, traffic->in, (size_t)1 << 60, traffic->bulk));
}

static void wrong_streams(Traffic *traffic)
{
    CUDA_MEMCPY2D rows;
    memset(&rows, 0, sizeof rows);
    rows.srcMemoryType = CU_MEMORYTYPE_HOST, rows.srcHost = traffic->in, rows.srcPitch = 100;
    rows.dstMemoryType = CU_MEMORYTYPE_DEVICE, rows.dstDevice = traffic->device, rows.dstPitch = 100;
    rows.WidthInBytes = 101, rows.Height = 20000;
    CODE(cuMemcpy2DUnaligned(&rows));
    CODE(cuMemcpy2DAsync(&rows, traffic->bulk));
    rows.srcMemoryType = 77;
    CODE(cuMemcpy2DUnaligned(&rows));
    CODE(cuMemcpy2DAsync(&rows, traffic->bulk));
    CODE(cuMemHostUnregister(traffic->small_in + 1));
    CODE(cuMemFree(traffic->device + 1));
}

/* The output of a batch with a wrong copy: its index, or that it is unknown. */
static void wrong_batches(Traffic *traffic)
{
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    size_t index = 0, failed = 77, sizes[3] = {TRAFFIC_BULK, 0, TRAFFIC_SMALL};
    CUdeviceptr targets[3] = {traffic->device, traffic->device + TRAFFIC_BULK, traffic->small_device};
    CUdeviceptr sources[3] = {(CUdeviceptr)(uintptr_t)traffic->in, (CUdeviceptr)(uintptr_t)traffic->in,
                              (CUdeviceptr)(uintptr_t)traffic->small_in};
    CODE(cuMemcpyBatchAsync_v1(targets, sources, sizes, 3, &attributes, &index, 1, &failed, traffic->bulk));
    printf("failed: %zu\n", failed);
    CODE(cuMemcpyBatchAsync_v2(targets, sources, sizes, 3, &attributes, &index, 1, traffic->bulk));
    sizes[1] = 5;
    attributes.srcAccessOrder = 99;
    CODE(cuMemcpyBatchAsync_v1(targets, sources, sizes, 3, &attributes, &index, 1, &failed, traffic->bulk));
    CODE(cuMemcpyBatchAsync_v2(targets, sources, sizes, 3, &attributes, &index, 1, traffic->bulk));
    CODE(cuMemcpyBatchAsync_v2(targets, sources, sizes, 0, &attributes, &index, 1, traffic->bulk));
}

static void all(Traffic *traffic)
{
    wrong_addresses(traffic);
    wrong_sizes(traffic);
    wrong_streams(traffic);
    wrong_batches(traffic);
    OK(cuCtxSynchronize());
    printf("still sound: %016llx\n", (unsigned long long)traffic_round(traffic, 3));
}

static void without_a_context(Traffic *traffic)
{
    CUcontext context = NULL;
    CUstream stream = NULL;
    OK(cuCtxPopCurrent(&context));
    CODE(cuMemcpyHtoD(traffic->device, traffic->in, TRAFFIC_BULK));
    CODE(cuMemcpyHtoDAsync(traffic->device, traffic->in, TRAFFIC_BULK, NULL));
    CODE(cuMemcpyHtoDAsync(traffic->device, traffic->in, TRAFFIC_BULK, CU_STREAM_PER_THREAD));
    CODE(cuStreamCreate(&stream, 0));
    OK(cuCtxPushCurrent(context));
}

/* A kernel writes to unmapped memory: every later call returns that error. */
static void sticky(Traffic *traffic)
{
    CUdeviceptr nowhere = 4096;
    uint32_t value = 1;
    OK(cuLaunchKernel(load_kernel("soft_store_u32"), 1, 1, 1, 1, 1, 1, 0, traffic->bulk,
                      (void *[]){&nowhere, &value}, NULL));
    CODE(cuStreamSynchronize(traffic->bulk));
    CODE(cuMemcpyHtoDAsync(traffic->device, traffic->in, TRAFFIC_BULK, traffic->bulk));
    CODE(cuMemcpyHtoDAsync(traffic->small_device, traffic->small_in, TRAFFIC_SMALL, traffic->urgent));
    CODE(cuMemcpyDtoHAsync(traffic->small_out, traffic->small_device, TRAFFIC_SMALL, traffic->urgent));
    CODE(cuMemcpyHtoD(traffic->device, traffic->in, TRAFFIC_BULK));
    CODE(cuMemcpyDtoH(traffic->small_out, traffic->small_device, TRAFFIC_SMALL));
    CODE(cuStreamQuery(traffic->urgent));
    CODE(cuCtxSynchronize());
}

int main(void)
{
    unsigned char early = 0;
    CODE(cuMemcpyHtoD(4096, &early, 1));
    CODE(cuMemcpyHtoDAsync(4096, &early, 1, NULL));
    open_device();
    Traffic traffic = new_traffic();
    all(&traffic);
    free_traffic(&traffic);
    traffic = arm();
    all(&traffic);
    without_a_context(&traffic);
    sticky(&traffic);
    return 0;
}
