/* A context that is destroyed, bulk under way in it included, while other threads make calls that may block in another
 * context: a thread in such a call must neither end the layer of the destroyed context nor wait for it. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>

#include "client.h"

enum { LIVES = 25, OTHERS = 2, BYTES = 256 * KIB };

static atomic_int over;
static CUcontext primary;

/* Allocates, copies and frees; a free is a call in which the driver may keep other threads out. */
static void *others(void *unused)
{
    unsigned char *host = NULL;
    (void)unused;
    OK(cuCtxSetCurrent(primary));
    OK(cuMemHostAlloc((void **)&host, BYTES, 0));
    memset(host, 0x5a, BYTES);
    while (!atomic_load(&over)) {
        CUdeviceptr device = 0;
        void *pinned = NULL;
        OK(cuMemAlloc(&device, BYTES));
        OK(cuMemHostAlloc(&pinned, BYTES, 0));
        OK(cuMemcpyHtoD(device, host, BYTES));
        OK(cuMemcpyDtoH(pinned, device, BYTES));
        REQUIRE(memcmp(host, pinned, BYTES) == 0);
        OK(cuMemFreeHost(pinned));
        OK(cuMemFree(device));
    }
    OK(cuMemFreeHost(host));
    return NULL;
}

/* Bulk and small copies first, so that both kinds are known; then the context goes with bulk under way. */
static uint64_t life(uint64_t seed)
{
    CUcontext context = NULL;
    OK(cuCtxCreate_v2(&context, 0, 0));
    Traffic traffic = new_traffic();
    uint64_t sum = traffic_round(&traffic, seed);
    send_traffic(&traffic);
    OK(cuCtxDestroy(context));
    return sum;
}

int main(void)
{
    pthread_t threads[OTHERS];
    uint64_t sum = 0;
    open_device();
    OK(cuCtxGetCurrent(&primary));
    Traffic traffic = arm();
    for (int i = 0; i < OTHERS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, others, NULL) == 0);
    for (uint64_t seed = 1; seed <= LIVES; seed++)
        sum = mix(sum, life(seed));
    atomic_store(&over, 1);
    for (int i = 0; i < OTHERS; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    OK(cuCtxSetCurrent(primary));
    printf("%016llx\n", (unsigned long long)sum);
    printf("%016llx\n", (unsigned long long)traffic_round(&traffic, LIVES));
    free_traffic(&traffic);
    close_device();
    return 0;
}
