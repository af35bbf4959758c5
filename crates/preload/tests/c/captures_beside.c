/* One thread captures, in every mode; another one copies meanwhile in streams that do not capture, pinned and pageable,
 * asynchronous and, where the captured stream does not wait for the legacy one, blocking. None of its calls is one that
 * a capture forbids, so no capture is spoilt and every byte arrives. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>

#include "client.h"

enum { LARGE = 2 * MIB, PAGEABLE = 64 * KIB, SMALL = 16 * KIB, COPIES = 60 };

typedef struct {
    CUcontext context;
    CUstream bulk, urgent;
    CUdeviceptr device;
    unsigned char *in, *out, *pageable_in, *pageable_out;
    unsigned long wrong;
    int has_blocking; /* copies in the legacy stream */
} Copying;

static atomic_int has_copied;

/* Bulk that goes by kernel, small urgent copies beside it, and copies that return when they have been made. */
static void copy_some(Copying *it, uint64_t seed)
{
    paint(it->in, LARGE, seed);
    paint(it->pageable_in, PAGEABLE, seed + 1);
    OK(cuMemcpyHtoDAsync(it->device, it->in, LARGE, it->bulk));
    OK(cuMemcpyHtoDAsync(it->device + 2 * LARGE, it->in, SMALL, it->urgent));
    OK(cuMemcpyDtoHAsync(it->out, it->device, LARGE, it->bulk));
    OK(cuMemcpyDtoHAsync(it->out + LARGE, it->device + 2 * LARGE, SMALL, it->urgent));
    OK(cuMemcpyHtoDAsync(it->device + 3 * LARGE, it->pageable_in, PAGEABLE, it->urgent));
    OK(cuMemcpyDtoHAsync(it->pageable_out, it->device + 3 * LARGE, PAGEABLE, it->urgent));
    if (!it->has_blocking)
        return;
    OK(cuMemcpyHtoD(it->device + LARGE, it->in, LARGE));
    OK(cuMemcpyHtoD(it->device + LARGE, it->pageable_in, PAGEABLE));
    OK(cuMemcpyDtoH(it->pageable_out + PAGEABLE, it->device + LARGE, PAGEABLE));
}

/* Bytes of copies that are known to have ended. */
static void look(Copying *it)
{
    it->wrong += memcmp(it->out, it->in, LARGE) != 0 || memcmp(it->out + LARGE, it->in, SMALL) != 0;
    for (int i = 0; i <= it->has_blocking; i++)
        it->wrong += memcmp(it->pageable_out + i * PAGEABLE, it->pageable_in, PAGEABLE) != 0;
}

static void *copy(void *argument)
{
    Copying *it = argument;
    OK(cuCtxSetCurrent(it->context));
    for (uint64_t i = 0; i < COPIES; i++) {
        copy_some(it, i);
        nap_us(200);
    }
    atomic_store(&has_copied, 1);
    return NULL;
}

static void capture_beside(Copying *it, int mode, const char *name)
{
    CUstream stream = NULL;
    CUdeviceptr device = new_device_bytes(SMALL);
    unsigned char *host = new_pinned_bytes(SMALL);
    pthread_t thread;
    unsigned long spoilt = 0, wrong_nodes = 0;
    OK(cuStreamCreate(&stream, it->has_blocking ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
    atomic_store(&has_copied, 0);
    it->wrong = 0;
    REQUIRE(pthread_create(&thread, NULL, copy, it) == 0);
    while (!atomic_load(&has_copied)) {
        CUgraph graph = NULL;
        size_t nodes = 0;
        OK(cuStreamBeginCapture(stream, mode));
        int is_spoilt = cuMemcpyHtoDAsync(device, host, SMALL, stream) != CUDA_SUCCESS;
        nap_us(50);
        is_spoilt |= cuMemcpyDtoHAsync(host, device, SMALL, stream) != CUDA_SUCCESS;
        is_spoilt |= cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS;
        spoilt += (unsigned long)is_spoilt;
        if (graph != NULL) {
            if (cuGraphGetNodes(graph, NULL, &nodes) == CUDA_SUCCESS) /* not on the software GPU */
                wrong_nodes += nodes != 2;
            OK(cuGraphDestroy(graph));
        }
        nap_us(50);
    }
    REQUIRE(pthread_join(thread, NULL) == 0);
    OK(cuCtxSynchronize());
    look(it);
    printf("%s: %lu spoilt, %lu with other nodes, %lu wrong\n", name, spoilt, wrong_nodes, it->wrong);
    OK(cuStreamDestroy(stream));
    OK(cuMemFree(device));
    OK(cuMemFreeHost(host));
}

int main(void)
{
    Copying it = {.context = open_device(), .bulk = new_stream()};
    Traffic traffic = arm();
    int least = 0, greatest = 0;
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    OK(cuStreamCreateWithPriority(&it.urgent, CU_STREAM_NON_BLOCKING, greatest));
    it.device = new_device_bytes(4 * LARGE);
    it.in = new_pinned_bytes(LARGE), it.out = new_pinned_bytes(2 * LARGE);
    REQUIRE((it.pageable_in = malloc(PAGEABLE)) != NULL && (it.pageable_out = malloc(2 * PAGEABLE)) != NULL);
    for (it.has_blocking = 1; it.has_blocking >= 0; it.has_blocking--) {
        capture_beside(&it, CU_STREAM_CAPTURE_MODE_GLOBAL, "global");
        capture_beside(&it, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, "thread-local");
        capture_beside(&it, CU_STREAM_CAPTURE_MODE_RELAXED, "relaxed");
    }
    free_traffic(&traffic);
    return 0;
}
