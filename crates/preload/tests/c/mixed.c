/* Bulk and small pinned copies side by side, the drop-in's main use. Every byte is verified. */
#define _POSIX_C_SOURCE 200809L
#include "client.h"

/* The small copies go by the stream that CUDA calls urgent. */
static void with_cuda_priorities(void)
{
    int least = 0, greatest = 0;
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    Traffic traffic = new_traffic();
    OK(cuStreamDestroy(traffic.urgent));
    OK(cuStreamCreateWithPriority(&traffic.urgent, CU_STREAM_NON_BLOCKING, greatest));
    printf("priorities: %016llx\n", (unsigned long long)run_traffic(&traffic, 10));
    free_traffic(&traffic);
}

/* Bulk on the stream that most programs use. */
static void on_the_default_stream(void)
{
    Traffic traffic = new_traffic();
    OK(cuStreamDestroy(traffic.bulk));
    traffic.bulk = NULL;
    uint64_t sum = run_traffic(&traffic, 10);
    traffic.bulk = new_stream();
    printf("default stream: %016llx\n", (unsigned long long)sum);
    free_traffic(&traffic);
}

int main(void)
{
    open_device();
    Traffic traffic = arm();
    printf("more: %016llx\n", (unsigned long long)run_traffic(&traffic, ROUNDS_THAT_ARM));
    free_traffic(&traffic);
    with_cuda_priorities();
    on_the_default_stream();
    close_device();
    return 0;
}
