/* CUDA_LAUNCH_BLOCKING: a launch returns when its kernel is complete. Contexts open in no more time than otherwise, and
 * copies go as natively, pageable ones too. */
#define _GNU_SOURCE
#include <time.h>

#include "client.h"

/* A test of the queues that launches keep waiting sleeps for three seconds in each context, on the fastest machine too.
 * Two thirds of that are enough for the slowest. */
static const double SPAN_MAX = 6;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(void)
{
    CUcontext context = NULL;
    enum { ROUNDS = 3, BYTES = 8 * MIB };
    setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
    setenv("OVERTAKE_STAGING_THREADS", "3", 0); /* staging needs four processors otherwise */
    OK(cuInit(0));
    double begun = seconds();
    for (int i = 0; i < ROUNDS; i++) {
        OK(cuCtxCreate_v2(&context, 0, 0));
        if (i + 1 < ROUNDS)
            OK(cuCtxDestroy(context));
    }
    double span = seconds() - begun;
    if (span > SPAN_MAX)
        printf("%d contexts took %.3f s\n", ROUNDS, span);
    unsigned char *in = malloc(BYTES), *out = malloc(BYTES);
    REQUIRE(in != NULL && out != NULL);
    CUdeviceptr device = new_device_bytes(BYTES);
    for (unsigned int i = 0; i < 5; i++) {
        paint(in, BYTES, i);
        OK(cuMemcpyHtoD(device, in, BYTES));
        OK(cuMemcpyDtoH(out, device, BYTES));
        REQUIRE(memcmp(in, out, BYTES) == 0);
        nap_us(20000);
    }
    CUstream stream = new_stream();
    Gate gate = new_gate();
    store_word(gate.word, 1);
    fill_gpu_until(device_side(gate.word), 1, stream);
    printf("complete at its return: %d\n", cuStreamQuery(stream) == CUDA_SUCCESS);
    return 0;
}
