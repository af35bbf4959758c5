/* Programs that end natively and that a copy scheduler may hang. The first argument says which; each is armed first.
 *
 * a  a stream's kernel waits for a copy of another stream, while a copy of its own stands behind it
 * b  a kernel that fills every multiprocessor waits for data that comes behind (or at the end of) a bulk copy
 * c  more streams than hardware queues, each waiting for another; run with the connection variables set as well */
#define _DEFAULT_SOURCE
#include "client.h"

enum { HELD_BYTES = 8 * MIB, STREAMS = 40 };

static void wait_kernel(CUdeviceptr word, uint32_t value, CUstream stream)
{
    OK(cuLaunchKernel(load_kernel("soft_wait_u32"), 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){&word, &value}, NULL));
}

/* The copies of `busy` stand behind its kernel; that of `other` lets the kernel go with its last word. */
static void shared_channel(size_t held_bytes, size_t releasing_bytes, int to_device)
{
    CUstream busy = new_stream(), other = new_stream();
    unsigned char *in = new_pinned_bytes(HELD_BYTES), *release = new_pinned_bytes(HELD_BYTES);
    CUdeviceptr device = new_device_bytes(HELD_BYTES), flags = new_device_bytes(HELD_BYTES);
    paint(in, HELD_BYTES, 1);
    memset(release, 7, HELD_BYTES);
    OK(cuMemsetD8(flags, 0, HELD_BYTES));
    OK(cuCtxSynchronize());
    wait_kernel(flags + releasing_bytes - 4, 0x07070707, busy);
    if (to_device)
        OK(cuMemcpyHtoDAsync(device, in, held_bytes, busy));
    else
        OK(cuMemcpyDtoHAsync(in, device, held_bytes, busy));
    nap_us(300); /* at once it may share a hardware queue with what is stuck, and then it does not end natively */
    OK(cuMemcpyHtoDAsync(flags, release, releasing_bytes, other));
    OK(cuStreamSynchronize(busy));
    OK(cuStreamSynchronize(other));
    printf("a: %zu behind the kernel, %zu for it: ended\n", held_bytes, releasing_bytes);
    OK(cuStreamDestroy(busy));
    OK(cuStreamDestroy(other));
    OK(cuMemFreeHost(in));
    OK(cuMemFreeHost(release));
    OK(cuMemFree(device));
    OK(cuMemFree(flags));
}

static void hazard_a(Traffic *traffic)
{
    static const size_t sizes[] = {40 * KIB, MIB, HELD_BYTES};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int to_device = 0; to_device < 2; to_device++) {
                shared_channel(sizes[i], sizes[j], to_device);
                traffic_round(traffic, 1);
            }
}

static void full_gpu(size_t bulk_bytes, int behind)
{
    CUstream full = new_stream(), data = new_stream();
    unsigned char *in = new_pinned_bytes(HELD_BYTES);
    uint32_t *one = new_pinned_bytes(64 * KIB);
    CUdeviceptr device = new_device_bytes(HELD_BYTES), word = new_device_bytes(64 * KIB);
    memset(in, 9, HELD_BYTES);
    memset(one, 9, 64 * KIB);
    OK(cuMemsetD8(device, 0, HELD_BYTES));
    OK(cuMemsetD8(word, 0, 64 * KIB));
    OK(cuCtxSynchronize());
    fill_gpu_until(behind ? word + 64 * KIB - 4 : device + bulk_bytes - 4, 0x09090909, full);
    nap_us(2000); /* it has the GPU before the copy comes */
    OK(cuMemcpyHtoDAsync(device, in, bulk_bytes, data));
    if (behind)
        OK(cuMemcpyHtoDAsync(word, one, 64 * KIB, data));
    OK(cuStreamSynchronize(full));
    OK(cuStreamSynchronize(data));
    printf("b: %zu, %s: ended\n", bulk_bytes, behind ? "behind a bulk copy" : "at its end");
    OK(cuStreamDestroy(full));
    OK(cuStreamDestroy(data));
    OK(cuMemFreeHost(in));
    OK(cuMemFreeHost(one));
    OK(cuMemFree(device));
    OK(cuMemFree(word));
}

static void hazard_b(Traffic *traffic)
{
    static const size_t sizes[] = {40 * KIB, MIB, 5 * MIB, HELD_BYTES};
    for (int i = 0; i < 4; i++)
        for (int behind = 0; behind < 2; behind++) {
            full_gpu(sizes[i], behind);
            printf("%016llx\n", (unsigned long long)traffic_round(traffic, 1));
        }
}

/* Each stream waits for the one before it, which was submitted before it: whatever the queues, this ends. */
static void chain_of_streams(Traffic *traffic)
{
    CUstream streams[STREAMS];
    CUevent events[STREAMS];
    size_t all = TRAFFIC_EACH * TRAFFIC_BULK;
    for (int i = 0; i < STREAMS; i++) {
        streams[i] = new_stream();
        OK(cuEventCreate(&events[i], CU_EVENT_DISABLE_TIMING));
    }
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < STREAMS; i++) {
            if (i > 0)
                OK(cuStreamWaitEvent(streams[i], events[i - 1], 0));
            size_t bytes = i % 3 == 0 ? TRAFFIC_BULK : i % 3 == 1 ? 40 * KIB : all;
            OK(cuMemcpyHtoDAsync(traffic->device, traffic->in, bytes, streams[i]));
            OK(cuMemcpyDtoHAsync(traffic->out, traffic->device, bytes, streams[i]));
            OK(cuEventRecord(events[i], streams[i]));
        }
    OK(cuCtxSynchronize());
    printf("c: chain %016llx\n", (unsigned long long)checksum(traffic->out, all));
    for (int i = 0; i < STREAMS; i++) {
        OK(cuStreamDestroy(streams[i]));
        OK(cuEventDestroy(events[i]));
    }
}

/* Every stream is held until a copy in the last one, submitted before all of them, has been seen by the CPU. */
static void crowd_behind_a_gate(Traffic *traffic)
{
    CUstream streams[STREAMS];
    CUevent event = NULL;
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuMemcpyHtoDAsync(traffic->device, traffic->in, TRAFFIC_BULK, traffic->bulk));
    OK(cuMemcpyDtoHAsync(traffic->out, traffic->device, TRAFFIC_BULK, traffic->bulk));
    OK(cuEventRecord(event, traffic->bulk));
    for (int i = 0; i < STREAMS; i++) {
        streams[i] = new_stream();
        OK(cuStreamWaitEvent(streams[i], event, 0));
        OK(cuMemcpyDtoHAsync(traffic->out, traffic->device, i % 2 == 0 ? TRAFFIC_BULK : 40 * KIB, streams[i]));
    }
    OK(cuEventSynchronize(event));
    OK(cuCtxSynchronize());
    printf("c: crowd %016llx\n", (unsigned long long)checksum(traffic->out, TRAFFIC_BULK));
    for (int i = 0; i < STREAMS; i++)
        OK(cuStreamDestroy(streams[i]));
    OK(cuEventDestroy(event));
}

static void hazard_c(Traffic *traffic)
{
    for (int i = 0; i < 3; i++) {
        chain_of_streams(traffic);
        crowd_behind_a_gate(traffic);
        printf("%016llx\n", (unsigned long long)traffic_round(traffic, 2));
    }
}

int main(int count, char **arguments)
{
    REQUIRE(count >= 2);
    for (int i = 2; i < count; i++) /* as applications do that choose their connections themselves */
        REQUIRE(putenv(arguments[i]) == 0);
    open_device();
    load_kernel("soft_wait_u32");
    Traffic traffic = arm();
    if (*arguments[1] == 'a')
        hazard_a(&traffic);
    else if (*arguments[1] == 'b')
        hazard_b(&traffic);
    else
        hazard_c(&traffic);
    free_traffic(&traffic);
    close_device();
    return 0;
}
