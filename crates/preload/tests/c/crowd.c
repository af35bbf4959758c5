/* Many threads, many streams, sizes of every class, special streams among them; every byte verified. Beside them a
 * thread that makes and destroys streams all the time. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

#include "client.h"

enum { THREADS = 8, STREAMS = 4, ROUNDS = 25, SPACE = 2 * MIB };

static CUcontext context;
static atomic_int stop;

typedef struct {
    uint64_t seed, sum;
} Task;

static size_t size_of_round(uint32_t *state)
{
    static const size_t sizes[] = {100, 4 * KIB, 24 * KIB, 32 * KIB, 64 * KIB, 300 * KIB, MIB, SPACE};
    return sizes[next_random(state) % 8];
}

static void *work(void *argument)
{
    Task *task = argument;
    uint32_t state = (uint32_t)task->seed + 1;
    CUstream streams[STREAMS + 1] = {0};
    unsigned char *in[STREAMS + 1], *out[STREAMS + 1];
    CUdeviceptr device[STREAMS + 1];
    size_t bytes[STREAMS + 1];
    OK(cuCtxSetCurrent(context));
    for (int i = 0; i <= STREAMS; i++) {
        streams[i] = i == STREAMS ? CU_STREAM_PER_THREAD : new_stream();
        in[i] = new_pinned_bytes(SPACE), out[i] = new_pinned_bytes(SPACE), device[i] = new_device_bytes(SPACE);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i <= STREAMS; i++) {
            bytes[i] = size_of_round(&state);
            paint(in[i], bytes[i], next_random(&state));
            OK(cuMemcpyHtoDAsync(device[i], in[i], bytes[i], streams[i]));
            OK(cuMemcpyDtoHAsync(out[i], device[i], bytes[i], streams[i]));
        }
        for (int i = STREAMS; i >= 0; i--) {
            OK(cuStreamSynchronize(streams[i]));
            REQUIRE(memcmp(in[i], out[i], bytes[i]) == 0);
            task->sum = mix(task->sum, checksum(out[i], bytes[i]));
        }
    }
    for (int i = 0; i <= STREAMS; i++) {
        if (i < STREAMS)
            OK(cuStreamDestroy(streams[i]));
        OK(cuMemFreeHost(in[i]));
        OK(cuMemFreeHost(out[i]));
        OK(cuMemFree(device[i]));
    }
    return NULL;
}

/* Streams that die with copies in them: the driver finishes those. */
static void *make_and_destroy(void *argument)
{
    OK(cuCtxSetCurrent(context));
    unsigned char *in = new_pinned_bytes(MIB);
    CUdeviceptr device = new_device_bytes(MIB);
    for (int i = 0; !atomic_load(&stop); i++) {
        CUstream stream = new_stream();
        OK(cuMemcpyHtoDAsync(device, in, i % 2 == 0 ? MIB : 40 * KIB, stream));
        OK(cuStreamDestroy(stream));
        nap_us(500);
    }
    OK(cuCtxSynchronize());
    OK(cuMemFree(device));
    OK(cuMemFreeHost(in));
    return argument;
}

int main(void)
{
    pthread_t threads[THREADS], maker;
    Task tasks[THREADS];
    context = open_device();
    Traffic traffic = arm();
    REQUIRE(pthread_create(&maker, NULL, make_and_destroy, NULL) == 0);
    for (int i = 0; i < THREADS; i++) {
        tasks[i] = (Task){.seed = (uint64_t)i};
        REQUIRE(pthread_create(&threads[i], NULL, work, &tasks[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
        printf("thread %d: %016llx\n", i, (unsigned long long)tasks[i].sum);
    }
    atomic_store(&stop, 1);
    REQUIRE(pthread_join(maker, NULL) == 0);
    printf("and the first streams: %016llx\n", (unsigned long long)run_traffic(&traffic, 5));
    free_traffic(&traffic);
    close_device();
    return 0;
}
