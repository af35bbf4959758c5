/* Programs that end natively and that a copy scheduler may hang. The first argument chooses one; each is armed first.
 *
 * a  a stream's kernel waits for a copy of another stream, while a copy of its own stands behind it
 * b  a kernel that fills every multiprocessor waits for data that comes behind (or at the end of) a bulk copy; with a
 *    driver call that may wait for the device, named by the second argument, made in between
 * c  more streams than hardware queues, each waiting for another; run with the connection variables set as well
 * d  memory that copies use is freed in stream order while a kernel fills every multiprocessor; with the second
 *    argument `held` the copies cannot begin yet when it is freed
 * e  streams are made while a kernel waits for later work, as many as natively never wait for it */
#define _DEFAULT_SOURCE
#include "client.h"

enum { HELD_BYTES = 8 * MIB, STREAMS = 40, ROOM = 30 };

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
    nap_us(300); /* at once it may share a hardware queue with stuck work, and then it does not end natively */
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

/* A driver call that may wait for the device, made while the kernel waits for the copy. */
typedef enum {
    NO_CALL, FREE_DEVICE, FREE_HOST, UNREGISTER, REGISTER, ALLOCATE, PIN, LOAD_MODULE, COPY, LAUNCH, CALLS
} Call;

static const char *const call_names[] = {"nothing", "cuMemFree",      "cuMemFreeHost", "cuMemHostUnregister",
                                         "cuMemHostRegister", "cuMemAlloc", "cuMemHostAlloc", "cuModuleLoadData",
                                         "cuMemcpyHtoD", "cuLaunchKernel"};

typedef struct {
    CUdeviceptr device;
    CUstream stream;
    void *pinned, *registered;
    unsigned char *plain;
} Spare;

static Spare new_spare(Call call)
{
    Spare spare = {.device = new_device_bytes(MIB), .pinned = new_pinned_bytes(MIB), .plain = new_bytes(MIB, 4)};
    spare.registered = aligned_alloc(4096, MIB);
    spare.stream = new_stream();
    REQUIRE(spare.registered != NULL);
    if (call != REGISTER)
        OK(cuMemHostRegister(spare.registered, MIB, 0));
    return spare;
}

static void make(Call call, Spare *spare)
{
    CUmodule module = NULL;
    if (call == FREE_DEVICE)
        OK(cuMemFree(spare->device));
    else if (call == FREE_HOST)
        OK(cuMemFreeHost(spare->pinned));
    else if (call == UNREGISTER)
        OK(cuMemHostUnregister(spare->registered));
    else if (call == REGISTER)
        OK(cuMemHostRegister(spare->registered, MIB, 0));
    else if (call == ALLOCATE) {
        CUdeviceptr more = new_device_bytes(64 * MIB);
        OK(cuMemFree(more));
    } else if (call == PIN)
        OK(cuMemFreeHost(new_pinned_bytes(8 * MIB)));
    else if (call == LOAD_MODULE) {
        OK(cuModuleLoadData(&module, kernels_text()));
        OK(cuModuleUnload(module));
    } else if (call == COPY)
        OK(cuMemcpyHtoD(spare->device, spare->plain, MIB));
    else if (call == LAUNCH) /* its first launch, which may load it */
        OK(cuLaunchKernel(load_kernel("soft_noop"), 1, 1, 1, 1, 1, 1, 0, spare->stream, NULL, NULL));
}

static void free_spare(Call call, Spare *spare)
{
    if (call != FREE_DEVICE)
        OK(cuMemFree(spare->device));
    if (call != FREE_HOST)
        OK(cuMemFreeHost(spare->pinned));
    if (call != UNREGISTER)
        OK(cuMemHostUnregister(spare->registered));
    OK(cuStreamSynchronize(spare->stream));
    OK(cuStreamDestroy(spare->stream));
    free(spare->registered);
    free(spare->plain);
}

static void full_gpu(size_t bulk_bytes, int behind, Call call)
{
    CUstream full = new_stream(), data = new_stream();
    unsigned char *in = new_pinned_bytes(HELD_BYTES);
    uint32_t *one = new_pinned_bytes(64 * KIB);
    CUdeviceptr device = new_device_bytes(HELD_BYTES), word = new_device_bytes(64 * KIB);
    Spare spare = new_spare(call);
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
    make(call, &spare);
    OK(cuStreamSynchronize(full));
    OK(cuStreamSynchronize(data));
    printf("b: %zu, %s, %s: ended\n", bulk_bytes, behind ? "behind a bulk copy" : "at its end", call_names[call]);
    free_spare(call, &spare);
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
            full_gpu(sizes[i], behind, NO_CALL);
            printf("%016llx\n", (unsigned long long)traffic_round(traffic, 1));
        }
}

/* One call only: after a few rescues the drop-in uses no kernels, and the test would have no object. */
static void hazard_b_with_call(Traffic *traffic, const char *name)
{
    for (Call call = NO_CALL; call < CALLS; call++)
        if (strcmp(call_names[call], name) == 0) {
            full_gpu(HELD_BYTES, 0, call);
            printf("%016llx\n", (unsigned long long)traffic_round(traffic, 1));
            return;
        }
    REQUIRE(!"a known call");
}

/* Each stream waits for the one before it, which was submitted before it: with any hardware queues this ends. */
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

static void hazard_d(Traffic *traffic, int is_held)
{
    CUstream full = new_stream(), data = new_stream(), other = new_stream();
    unsigned char *in = new_pinned_bytes(HELD_BYTES), *out = new_pinned_bytes(HELD_BYTES);
    uint32_t *one = new_pinned_bytes(64 * KIB);
    CUdeviceptr passing = 0, word = new_device_bytes(64 * KIB);
    Gate gate = new_gate();
    paint(in, HELD_BYTES, 7);
    memset(out, 0, HELD_BYTES);
    memset(one, 9, 64 * KIB);
    OK(cuMemsetD8(word, 0, 64 * KIB));
    OK(cuMemAllocAsync(&passing, HELD_BYTES, data));
    OK(cuCtxSynchronize());
    fill_gpu_until(word + 64 * KIB - 4, 0x09090909, full);
    nap_us(2000); /* it has the GPU before the copies come */
    if (is_held)
        hold(gate, data);
    OK(cuMemcpyHtoDAsync(passing, in, HELD_BYTES, data));
    OK(cuMemcpyDtoHAsync(out, passing, HELD_BYTES, data));
    OK(cuMemFreeAsync(passing, data));
    nap_us(1000);
    open_gate(gate);
    nap_us(60000);
    /* A copy that does not need the multiprocessors need not wait for them. */
    printf("d: %s\n", is_held ? "held" : cuStreamQuery(data) == CUDA_SUCCESS ? "copied" : "waits");
    OK(cuMemcpyHtoDAsync(word, one, 64 * KIB, other));
    OK(cuStreamSynchronize(full));
    OK(cuStreamSynchronize(data));
    printf("%d, %016llx\n", memcmp(in, out, HELD_BYTES), (unsigned long long)traffic_round(traffic, 1));
    OK(cuStreamDestroy(full));
    OK(cuStreamDestroy(data));
    OK(cuStreamDestroy(other));
    OK(cuMemFreeHost(in));
    OK(cuMemFreeHost(out));
    OK(cuMemFreeHost(one));
    OK(cuMemFree(word));
    free_gate(gate);
}

static void hazard_e(Traffic *traffic)
{
    CUstream waiting = new_stream(), streams[ROOM];
    Gate gate = new_gate();
    wait_kernel(device_side(gate.word), 1, waiting);
    for (int i = 0; i < ROOM; i++)
        streams[i] = new_stream();
    OK(cuMemcpyHtoDAsync(traffic->small_device, traffic->small_out, TRAFFIC_SMALL, streams[ROOM - 1]));
    OK(cuStreamSynchronize(streams[ROOM - 1]));
    open_gate(gate);
    OK(cuStreamSynchronize(waiting));
    printf("e: %d streams made while a kernel waits: ended\n", ROOM);
    for (int i = 0; i < ROOM; i++)
        OK(cuStreamDestroy(streams[i]));
    OK(cuStreamDestroy(waiting));
    free_gate(gate);
    printf("%016llx\n", (unsigned long long)traffic_round(traffic, 1));
}

int main(int count, char **arguments)
{
    REQUIRE(count >= 2);
    while (strchr(arguments[count - 1], '=') != NULL) /* as applications do that choose their connections themselves */
        REQUIRE(putenv(arguments[--count]) == 0);
    if (count > 2 && strcmp(arguments[2], "cuLaunchKernel") == 0) /* the software GPU does so when asked to */
        REQUIRE(setenv("OVERTAKE_SOFT_LOADING", "lazy", 1) == 0);
    open_device();
    load_kernel("soft_wait_u32");
    Traffic traffic = arm();
    if (*arguments[1] == 'a')
        hazard_a(&traffic);
    else if (*arguments[1] == 'c')
        hazard_c(&traffic);
    else if (*arguments[1] == 'd')
        hazard_d(&traffic, count > 2);
    else if (*arguments[1] == 'e')
        hazard_e(&traffic);
    else if (count == 2)
        hazard_b(&traffic);
    else
        hazard_b_with_call(&traffic, arguments[2]);
    free_traffic(&traffic);
    close_device();
    return 0;
}
