/* Video frames: eight streams without priority, each with a thread that uploads 60 frames a second of 1080p NV12 from
 * pinned memory into pitched memory and fetches a small result behind each. A sample is the time from the call of the
 * upload until the result is there. Idle and loaded phases take turns; in a loaded one another stream copies 256 MiB at
 * a time.
 *
 * Each frame carries its number in its last row, and the result is that row: a result that holds another number, or
 * comes before its frame, is counted as wrong. The last line of the output is a JSON object. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "found.h"

enum {
    WIDTH = 1920,
    ROWS = 1080 * 3 / 2,
    PITCH = 2048,
    FRAMES_PER_S = 60,
    STREAMS_MAX = 64,
    ROUNDS_MAX = 64,
    SAMPLES_MAX = 1 << 16,
    QUEUED = 4
};

static const double WARM_S = 0.1;

static struct {
    __typeof__(&cuCtxSetCurrent) set_current;
    __typeof__(&cuMemcpy2DAsync) upload;
    __typeof__(&cuMemcpyHtoDAsync) to_device;
    __typeof__(&cuMemcpyDtoHAsync) to_host;
    __typeof__(&cuStreamSynchronize) wait;
    __typeof__(&cuEventRecord) record;
    __typeof__(&cuEventQuery) query;
} call;

typedef struct {
    double us[SAMPLES_MAX];
    size_t count;
} Samples;

/* The state that the threads of the frames and the thread of the bulk copies share in each phase. */
typedef struct {
    pthread_barrier_t begins, ends;
    double from_ns, until_ns;
    int loaded, recorded, over;
} Phase;

typedef struct {
    Phase *phase;
    CUcontext context;
    CUstream stream;
    CUdeviceptr surface;
    unsigned char *frame, *result;
    double offset_ns;
    uint32_t number;
    size_t wrong;
    Samples idle, loaded;
} Camera;

typedef struct {
    CUstream stream;
    CUevent queued[QUEUED];
    CUdeviceptr there;
    void *host;
    size_t bytes;
} Bulk;

static void sleep_until(double at_ns)
{
    struct timespec time = {(time_t)(at_ns / 1e9), 0};
    time.tv_nsec = (long)(at_ns - (double)time.tv_sec * 1e9);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static void *pinned(size_t bytes)
{
    void *host = NULL;
    ok(FUNCTION(cuMemHostAlloc)(&host, bytes, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
    memset(host, 0x5a, bytes);
    return host;
}

static CUdeviceptr device(size_t bytes)
{
    CUdeviceptr there = 0;
    ok(FUNCTION(cuMemAlloc)(&there, bytes), "cuMemAlloc");
    return there;
}

static CUstream stream(void)
{
    CUstream made = NULL;
    ok(FUNCTION(cuStreamCreate)(&made, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    return made;
}

/* Copies one frame to the device and its last row back. */
static double one_frame_us(Camera *camera)
{
    const size_t last = (size_t)(ROWS - 1);
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = camera->frame, .srcPitch = WIDTH,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = camera->surface, .dstPitch = PITCH,
                          .WidthInBytes = WIDTH, .Height = ROWS};
    camera->number++;
    memcpy(camera->frame + last * WIDTH, &camera->number, sizeof camera->number);
    double began = now_ns();
    CUresult status = call.upload(&copy, camera->stream);
    status |= call.to_host(camera->result, camera->surface + last * PITCH, WIDTH, camera->stream);
    status |= call.wait(camera->stream);
    double taken_us = (now_ns() - began) / 1e3;
    ok(status, "a frame");
    camera->wrong += memcmp(camera->result, camera->frame + last * WIDTH, WIDTH) != 0;
    return taken_us;
}

static void keep(Samples *samples, double us)
{
    if (samples->count < SAMPLES_MAX)
        samples->us[samples->count++] = us;
}

static void *film(void *argument)
{
    Camera *camera = argument;
    Phase *phase = camera->phase;
    ok(call.set_current(camera->context), "cuCtxSetCurrent");
    for (;;) {
        pthread_barrier_wait(&phase->begins);
        if (phase->over)
            return NULL;
        double due_ns = phase->from_ns + camera->offset_ns;
        while (due_ns < phase->until_ns) {
            sleep_until(due_ns);
            double us = one_frame_us(camera);
            if (phase->recorded)
                keep(phase->loaded ? &camera->loaded : &camera->idle, us);
            /* A frame that is late is dropped, as a camera would drop it. */
            while ((due_ns += 1e9 / FRAMES_PER_S) < now_ns())
                ;
        }
        pthread_barrier_wait(&phase->ends);
    }
}

/* Keeps `QUEUED` bulk copies queued until `until_ns`; returns their rate. */
static double bulk_until(Bulk *bulk, double until_ns)
{
    size_t made = 0, done = 0;
    double began = now_ns();
    while (now_ns() < until_ns) {
        while (made - done < QUEUED) {
            ok(call.to_device(bulk->there, bulk->host, bulk->bytes, bulk->stream), "a bulk copy");
            ok(call.record(bulk->queued[made++ % QUEUED], bulk->stream), "cuEventRecord");
        }
        CUresult status = call.query(bulk->queued[done % QUEUED]);
        if (status == CUDA_SUCCESS)
            done++;
        else if (status != CUDA_ERROR_NOT_READY)
            ok(status, "cuEventQuery");
        else
            sleep_until(now_ns() + 2e5);
    }
    ok(call.wait(bulk->stream), "cuStreamSynchronize");
    return (double)made * (double)bulk->bytes / (now_ns() - began);
}

/* One phase of all threads; returns the rate of the bulk copies in GB/s. */
static double run_phase(Phase *phase, Bulk *bulk, double seconds, int loaded, int recorded)
{
    double rate = 0;
    phase->loaded = loaded, phase->recorded = recorded;
    phase->from_ns = now_ns() + 5e6;
    phase->until_ns = phase->from_ns + seconds * 1e9;
    pthread_barrier_wait(&phase->begins);
    if (loaded)
        rate = bulk_until(bulk, phase->until_ns);
    pthread_barrier_wait(&phase->ends);
    return rate;
}

static void open_camera(Camera *camera, Phase *phase, CUcontext context, double offset_ns)
{
    camera->phase = phase, camera->context = context, camera->offset_ns = offset_ns;
    camera->stream = stream();
    camera->surface = device((size_t)PITCH * ROWS);
    camera->frame = pinned((size_t)WIDTH * ROWS);
    camera->result = pinned(WIDTH);
}

static Bulk open_bulk(size_t bytes)
{
    Bulk bulk = {.stream = stream(), .there = device(bytes), .host = pinned(bytes), .bytes = bytes};
    for (int i = 0; i < QUEUED; i++)
        ok(FUNCTION(cuEventCreate)(&bulk.queued[i], CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    return bulk;
}

static CUcontext opened(void)
{
    CUcontext context = NULL;
    ok(FUNCTION(cuInit)(0), "cuInit");
    ok(FUNCTION(cuDevicePrimaryCtxRetain)(&context, 0), "cuDevicePrimaryCtxRetain");
    call.set_current = FUNCTION(cuCtxSetCurrent), call.upload = FUNCTION(cuMemcpy2DAsync);
    call.to_device = FUNCTION(cuMemcpyHtoDAsync), call.to_host = FUNCTION(cuMemcpyDtoHAsync);
    call.wait = FUNCTION(cuStreamSynchronize), call.record = FUNCTION(cuEventRecord);
    call.query = FUNCTION(cuEventQuery);
    ok(call.set_current(context), "cuCtxSetCurrent");
    return context;
}

static void print_samples(const char *name, Camera *const *cameras, int count, size_t offset)
{
    const char *between = "";
    printf("\"%s\": [", name);
    for (int i = 0; i < count; i++) {
        const Samples *samples = (const Samples *)((const char *)cameras[i] + offset);
        for (size_t j = 0; j < samples->count; j++, between = ", ")
            printf("%s%.1f", between, samples->us[j]);
    }
    printf("], ");
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void print_result(Camera *const *cameras, int count, double *rates, int rounds, double alone)
{
    char name[128] = "";
    int version = 0;
    size_t wrong = 0;
    for (int i = 0; i < count; i++)
        wrong += cameras[i]->wrong;
    qsort(rates, (size_t)rounds, sizeof *rates, ascending);
    ok(FUNCTION(cuDeviceGetName)(name, sizeof name, 0), "cuDeviceGetName");
    ok(FUNCTION(cuDriverGetVersion)(&version), "cuDriverGetVersion");
    printf("{\"script\": \"frames\", \"device\": \"%s\", \"cuda\": %d, \"rows\": [{\"case\": \"%d streams\", ", name,
           version, count);
    print_samples("idle_us", cameras, count, offsetof(Camera, idle));
    print_samples("loaded_us", cameras, count, offsetof(Camera, loaded));
    printf("\"bulk_gbs\": %.2f, \"bulk_alone_gbs\": %.2f, \"bytes_ok\": %s}]}\n", rates[rounds / 2], alone,
           wrong == 0 ? "true" : "false");
}

static void start_cameras(Camera **cameras, pthread_t *threads, int count, Phase *phase, CUcontext context)
{
    pthread_barrier_init(&phase->begins, NULL, (unsigned)count + 1);
    pthread_barrier_init(&phase->ends, NULL, (unsigned)count + 1);
    for (int i = 0; i < count; i++) {
        cameras[i] = calloc(1, sizeof *cameras[i]);
        open_camera(cameras[i], phase, context, 1e9 / FRAMES_PER_S * i / count);
        pthread_create(&threads[i], NULL, film, cameras[i]);
    }
}

static void end_cameras(const pthread_t *threads, int count, Phase *phase)
{
    phase->over = 1;
    pthread_barrier_wait(&phase->begins);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

int main(int count, char **arguments)
{
    int rounds = count > 1 ? atoi(arguments[1]) : 3, streams = count > 4 ? atoi(arguments[4]) : 8;
    double seconds = count > 2 ? atof(arguments[2]) : 0.5, rates[ROUNDS_MAX];
    size_t bulk_bytes = (size_t)(count > 3 ? atoi(arguments[3]) : 256) << 20;
    if (rounds < 1 || rounds > ROUNDS_MAX || seconds <= 0 || bulk_bytes == 0 || streams < 1 || streams > STREAMS_MAX) {
        fprintf(stderr, "usage: frames [rounds] [seconds of a phase] [MiB of a bulk copy] [streams]\n");
        return 2;
    }
    static Phase phase;
    CUcontext context = opened();
    Camera *cameras[STREAMS_MAX];
    pthread_t threads[STREAMS_MAX];
    Bulk bulk = open_bulk(bulk_bytes);
    start_cameras(cameras, threads, streams, &phase, context);
    run_phase(&phase, &bulk, WARM_S, 0, 0);
    run_phase(&phase, &bulk, WARM_S, 1, 0);
    for (int round = 0; round < rounds; round++) {
        run_phase(&phase, &bulk, seconds, 0, 1);
        rates[round] = run_phase(&phase, &bulk, seconds, 1, 1);
    }
    double alone = bulk_until(&bulk, now_ns() + WARM_S * 1e9);
    end_cameras(threads, streams, &phase);
    print_result(cameras, streams, rates, rounds, alone);
    return 0;
}
