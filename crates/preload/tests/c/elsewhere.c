/* Copies that come to no layer: in streams of a context that is not current, without a context, and in the default
 * stream of a thread that is ending. The driver's answers are the native ones, and each copy is counted. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

#include "client.h"
#include "unlisted.h"

static CUcontext context;
static Traffic traffic;
static pthread_key_t key;

static void copies(const char *where, CUstream stream)
{
    CUresult up = cuMemcpyHtoDAsync(traffic.small_device, traffic.small_in, TRAFFIC_SMALL, stream);
    CUresult down = cuMemcpyDtoHAsync(traffic.small_out, traffic.small_device, TRAFFIC_SMALL, stream);
    printf("%s: %u %u\n", where, up, down);
}

static void at_the_end(void *unused)
{
    (void)unused;
    /* A driver may have forgotten by now which context was current. */
    copies("at a thread's end", CU_STREAM_PER_THREAD);
}

static void *thread(void *unused)
{
    OK(cuCtxSetCurrent(context));
    REQUIRE(pthread_setspecific(key, &key) == 0);
    copies("in a thread", CU_STREAM_PER_THREAD);
    return unused;
}

int main(void)
{
    CUcontext other = NULL;
    pthread_t ending;
    /* In a lull a copy goes natively before the layer looks where it belongs. */
    set_unlisted("lull=off");
    open_device();
    OK(cuCtxGetCurrent(&context));
    traffic = arm();
    CUstream fresh = new_stream();
    OK(cuCtxCreate_v2(&other, 0, 0));
    copies("elsewhere, a known stream", traffic.urgent);
    copies("elsewhere, a new stream", fresh);
    /* Each takes one off the stack of contexts. */
    for (CUcontext left = other; left != NULL;) {
        OK(cuCtxSetCurrent(NULL));
        OK(cuCtxGetCurrent(&left));
    }
    copies("nowhere, a known stream", traffic.urgent);
    copies("nowhere, the default stream", NULL);
    OK(cuCtxSetCurrent(context));
    REQUIRE(pthread_key_create(&key, at_the_end) == 0);
    REQUIRE(pthread_create(&ending, NULL, thread, NULL) == 0);
    REQUIRE(pthread_join(ending, NULL) == 0);
    OK(cuCtxSynchronize());
    printf("still sound: %016llx\n", (unsigned long long)traffic_round(&traffic, 3));
    OK(cuStreamDestroy(fresh));
    free_traffic(&traffic);
    OK(cuCtxDestroy(other));
    OK(cuCtxSetCurrent(context));
    close_device();
    return 0;
}
