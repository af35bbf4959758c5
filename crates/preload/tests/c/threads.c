/* A thousand threads, each with a few urgent copies in a default stream of its own, come and go beside bulk. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

#include "client.h"

enum { WAVES = 250, AT_ONCE = 4, BYTES = 40 * KIB };

typedef struct {
    CUcontext context;
    const Traffic *traffic;
    size_t place;
} Task;

static void *copy(void *argument)
{
    const Task *task = argument;
    const Traffic *traffic = task->traffic;
    size_t at = task->place * BYTES;
    OK(cuCtxSetCurrent(task->context));
    OK(cuMemcpyHtoDAsync(traffic->small_device + at, traffic->small_in + at, BYTES, CU_STREAM_PER_THREAD));
    OK(cuMemcpyDtoHAsync(traffic->small_out + at, traffic->small_device + at, BYTES, CU_STREAM_PER_THREAD));
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    return NULL;
}

static void wave(const Traffic *traffic, CUcontext context)
{
    pthread_t threads[AT_ONCE];
    Task tasks[AT_ONCE];
    OK(cuMemcpyHtoDAsync(traffic->device, traffic->in, TRAFFIC_BULK, traffic->bulk));
    OK(cuMemcpyDtoHAsync(traffic->out, traffic->device, TRAFFIC_BULK, traffic->bulk));
    for (size_t i = 0; i < AT_ONCE; i++) {
        tasks[i] = (Task){.context = context, .traffic = traffic, .place = i};
        REQUIRE(pthread_create(&threads[i], NULL, copy, &tasks[i]) == 0);
    }
    for (size_t i = 0; i < AT_ONCE; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    OK(cuStreamSynchronize(traffic->bulk));
}

int main(void)
{
    CUcontext context = NULL;
    open_device();
    OK(cuCtxGetCurrent(&context));
    Traffic traffic = arm();
    uint64_t sum = 0;
    for (int i = 0; i < WAVES; i++) {
        paint(traffic.small_in, AT_ONCE * BYTES, (uint64_t)i + 100);
        wave(&traffic, context);
        REQUIRE(memcmp(traffic.small_in, traffic.small_out, AT_ONCE * BYTES) == 0);
        sum = mix(sum, checksum(traffic.small_out, AT_ONCE * BYTES));
    }
    REQUIRE(memcmp(traffic.in, traffic.out, TRAFFIC_BULK) == 0);
    printf("%d waves: %016llx\n", WAVES, (unsigned long long)sum);
    free_traffic(&traffic);
    close_device();
    return 0;
}
