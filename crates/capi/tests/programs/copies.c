/* Copies through the C ABI: every byte arrives, the statistics count them, priorities are kept and taken away. */
#include "expect.h"

enum { BULK = 5 << 20, SMALL = 64 << 10, PITCH = 512, WIDTH = 300, HEIGHT = 40, BATCH = 6 };

/* With OVERTAKE=off every copy is the driver's, and no call fails. */
static int off;

static int priority_of(CUstream stream)
{
    int priority = -1;
    OK(overtake_stream_priority(stream, &priority));
    return priority;
}

static void there_and_back(size_t bytes, int kinds_known, int priority, CUstream stream)
{
    unsigned char *in = pinned_bytes(bytes, 3), *out = pinned_bytes(bytes, 99);
    void *middle = on_device(bytes), *second = on_device(bytes);
    int down = kinds_known ? OVERTAKE_COPY_HOST_TO_DEVICE : OVERTAKE_COPY_DEFAULT;
    int across = kinds_known ? OVERTAKE_COPY_DEVICE_TO_DEVICE : OVERTAKE_COPY_DEFAULT;
    int up = kinds_known ? OVERTAKE_COPY_DEVICE_TO_HOST : OVERTAKE_COPY_DEFAULT;
    OK(overtake_memcpy_async(middle, in, bytes, down, stream, priority));
    OK(overtake_memcpy_async(second, middle, bytes, across, stream, priority));
    OK(overtake_memcpy_async(out, second, bytes, up, stream, priority));
    OK(cuStreamSynchronize(stream));
    REQUIRE(memcmp(in, out, bytes) == 0);
    OK(cuMemFreeHost(in));
    OK(cuMemFreeHost(out));
    OK(cuMemFree((CUdeviceptr)(uintptr_t)middle));
    OK(cuMemFree((CUdeviceptr)(uintptr_t)second));
}

static void rectangles(CUstream stream, int priority)
{
    unsigned char *in = pinned_bytes(PITCH * HEIGHT, 5), *out = pinned_bytes(PITCH * HEIGHT, 77);
    unsigned char *guard = pinned_bytes(PITCH * HEIGHT, 77);
    void *middle = on_device(PITCH * HEIGHT);
    OK(overtake_memcpy_2d_async(middle, PITCH, in, PITCH, WIDTH, HEIGHT, OVERTAKE_COPY_HOST_TO_DEVICE, stream,
                                priority));
    OK(overtake_memcpy_2d_async(out, PITCH, middle, PITCH, WIDTH, HEIGHT, OVERTAKE_COPY_DEVICE_TO_HOST, stream,
                                priority));
    OK(cuStreamSynchronize(stream));
    for (size_t y = 0; y < HEIGHT; y++) {
        REQUIRE(memcmp(out + y * PITCH, in + y * PITCH, WIDTH) == 0);
        REQUIRE(memcmp(out + y * PITCH + WIDTH, guard + y * PITCH + WIDTH, PITCH - WIDTH) == 0);
    }
}

/* Rows whose total size leaves 64 bits: the driver refuses them, and copies nothing. */
static void rectangles_beyond_numbers(CUstream stream)
{
    size_t row = 2u << 20, rows = ((size_t)1 << 43) + 1;
    unsigned char *in = pinned_bytes(row, 5), *out = pinned_bytes(row, 77), *untouched = pinned_bytes(row, 77);
    void *middle = on_device(row);
    REQUIRE(overtake_memcpy_2d_async(middle, row, in, row, row, rows, OVERTAKE_COPY_HOST_TO_DEVICE, stream, 1) ==
            (int)CUDA_ERROR_INVALID_VALUE);
    REQUIRE(overtake_memcpy_2d_async(out, row, middle, row, row, rows, OVERTAKE_COPY_DEVICE_TO_HOST, stream, 1) ==
            (int)CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamSynchronize(stream));
    REQUIRE(memcmp(out, untouched, row) == 0);
}

static void batches(CUstream stream)
{
    void *targets[BATCH], *middles[BATCH];
    const void *sources[BATCH], *devices[BATCH];
    size_t sizes[BATCH];
    for (size_t i = 0; i < BATCH; i++) {
        sizes[i] = SMALL + 1000 * i;
        sources[i] = pinned_bytes(sizes[i], (unsigned)i);
        targets[i] = pinned_bytes(sizes[i], 200);
        devices[i] = middles[i] = on_device(sizes[i]);
    }
    OK(overtake_memcpy_batch_async(middles, sources, sizes, BATCH, stream, 3));
    OK(overtake_memcpy_batch_async(targets, devices, sizes, BATCH, stream, OVERTAKE_PRIORITY_BY_RULES));
    OK(overtake_memcpy_batch_async(NULL, NULL, NULL, 0, stream, 3));
    OK(cuStreamSynchronize(stream));
    for (size_t i = 0; i < BATCH; i++)
        REQUIRE(memcmp(targets[i], sources[i], sizes[i]) == 0);
}

static void stream_priorities(CUstream stream)
{
    OK(overtake_adopt_stream(stream, 6));
    REQUIRE(priority_of(stream) == (off ? 0 : 6));
    OK(overtake_set_stream_priority(stream, OVERTAKE_PRIORITY_LOWEST));
    REQUIRE(priority_of(stream) == (off ? 0 : 1));
    OK(overtake_release_stream(stream));
    REQUIRE(priority_of(stream) == OVERTAKE_PRIORITY_BY_RULES);
}

static struct overtake_statistics sums(void)
{
    struct overtake_statistics sums;
    memset(&sums, 0xee, sizeof sums);
    sums.struct_size = sizeof sums;
    OK(overtake_read_statistics(&sums));
    REQUIRE(sums.struct_size == sizeof sums && sums.stood_down == 0 && sums.errors == 0);
    return sums;
}

/* Copies that a rule leaves alone go natively in any number, and are counted. */
static void rules_that_pass(CUstream stream)
{
    static char report[1 << 16];
    struct overtake_statistics before = sums(), between, after;
    there_and_back(BULK, 1, OVERTAKE_PRIORITY_BY_RULES, stream);
    between = sums();
    REQUIRE(off || between.kernel_copies == before.kernel_copies + 2);
    OK(overtake_set_rules("[[rule]]\npriority = \"pass\"\n"));
    there_and_back(BULK, 1, OVERTAKE_PRIORITY_BY_RULES, stream);
    there_and_back(BULK, 0, OVERTAKE_PRIORITY_BY_RULES, stream);
    rectangles(stream, OVERTAKE_PRIORITY_BY_RULES);
    after = sums();
    REQUIRE(after.kernel_copies == between.kernel_copies && after.urgent_copies == between.urgent_copies);
    REQUIRE(off || after.passed_on_copies == between.passed_on_copies + 8);
    OK(overtake_report_json(report, sizeof report, NULL));
    REQUIRE((strstr(report, "\"reason\":\"left alone\",\"copies\":8") == NULL) == off);
    there_and_back(BULK, 1, OVERTAKE_PRIORITY_LOWEST, stream);
    REQUIRE(off || sums().kernel_copies == after.kernel_copies + 2);
    OK(overtake_set_rules(""));
}

/* A stream of another context: the layer of this one does not know it, and the driver answers. */
static void foreign_streams(void)
{
    CUcontext here = NULL, other = NULL;
    CUdevice device = 0;
    CUstream stream;
    unsigned char *in = pinned_bytes(SMALL, 1);
    void *target = on_device(SMALL);
    OK(cuCtxGetCurrent(&here));
    OK(cuCtxGetDevice(&device));
    OK(cuCtxCreate_v2(&other, 0, device));
    stream = new_stream();
    OK(cuCtxSetCurrent(here));
    REQUIRE(overtake_set_stream_priority(stream, 3) == (off ? OVERTAKE_OK : OVERTAKE_ERROR_INVALID_ARGUMENT));
    REQUIRE(overtake_memcpy_async(target, in, SMALL, OVERTAKE_COPY_HOST_TO_DEVICE, stream, 3) ==
            (int)cuMemcpyHtoDAsync((CUdeviceptr)(uintptr_t)target, in, SMALL, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuCtxDestroy(other));
    OK(cuCtxSetCurrent(here));
}

static void thread_priorities(void)
{
    int before = -1;
    OK(overtake_set_thread_priority(2, &before));
    REQUIRE(before == 0);
    OK(overtake_push_priority(5));
    OK(overtake_push_priority(7));
    OK(overtake_pop_priority());
    OK(overtake_set_thread_priority(5, &before));
    REQUIRE(before == (off ? 0 : 5));
    OK(overtake_pop_priority());
    OK(overtake_set_thread_priority(OVERTAKE_PRIORITY_BY_RULES, &before));
    REQUIRE(before == (off ? 0 : 2));
}

static uint64_t bytes_so_far(void)
{
    struct overtake_statistics now = sums();
    return now.urgent_bytes + now.kernel_bytes + now.engine_bytes + now.passed_on_bytes;
}

int main(void)
{
    CUstream stream, other;
    open_device();
    stream = new_stream();
    other = new_stream();
    off = getenv("OVERTAKE") != NULL;
    REQUIRE(strcmp(overtake_deployment(), off ? "off" : "c") == 0);
    REQUIRE(overtake_priorities() == 7);
    OK(overtake_open(NULL));
    there_and_back(BULK, 1, 1, stream);
    there_and_back(SMALL, 1, 7, other); /* copies of one stream alone never wait for one another */
    there_and_back(SMALL + 1, 0, OVERTAKE_PRIORITY_BY_RULES, stream);
    there_and_back(BULK + 3, 0, OVERTAKE_PRIORITY_BY_RULES, NULL);
    REQUIRE(off ? bytes_so_far() == 0 : bytes_so_far() >= 2u * (BULK + SMALL));
    rectangles(stream, 4);
    rectangles_beyond_numbers(stream);
    rules_that_pass(stream);
    batches(stream);
    stream_priorities(stream);
    thread_priorities();
    foreign_streams();
    OK(overtake_set_rules(""));
    OK(overtake_set_stream_priority(stream, 3));
    OK(overtake_close());
    REQUIRE(priority_of(stream) == 0); /* it opens anew, and knows of no stream */
    OK(overtake_close());
    OK(cuStreamDestroy(stream));
    OK(cuStreamDestroy(other));
    puts("ok");
    return 0;
}
