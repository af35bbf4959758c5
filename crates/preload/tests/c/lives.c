/* Contexts that come and go under the drop-in: a second one, its end with copies in flight, the primary one reset and
 * used again. */
#define _POSIX_C_SOURCE 200809L
#include "client.h"

static void primary(const char *what)
{
    open_device();
    Traffic traffic = arm();
    free_traffic(&traffic);
    close_device();
    printf("%s\n", what);
}

/* No memory is freed: the end of the context takes all of it, with copies in flight. */
static void own_context(int in_flight)
{
    CUcontext context = NULL;
    OK(cuCtxCreate_v2(&context, 0, 0));
    Traffic traffic = arm();
    if (in_flight)
        send_traffic(&traffic);
    CODE(cuCtxDestroy(context));
    CODE(cuMemcpyHtoDAsync(traffic.device, traffic.in, TRAFFIC_BULK, NULL));
}

/* Two contexts of one device at once, and copies that name a stream of the one that is not current. */
static void two_at_once(void)
{
    CUcontext first = NULL, second = NULL;
    OK(cuCtxCreate_v2(&first, 0, 0));
    Traffic one = arm();
    OK(cuCtxCreate_v2(&second, 0, 0));
    Traffic two = arm();
    for (int i = 0; i < 5; i++) {
        OK(cuCtxSetCurrent(first));
        send_traffic(&one);
        OK(cuCtxSetCurrent(second));
        send_traffic(&two);
        OK(cuCtxSynchronize());
        OK(cuCtxSetCurrent(first));
        OK(cuCtxSynchronize());
    }
    printf("%016llx\n", (unsigned long long)traffic_round(&one, 1));
    OK(cuCtxSetCurrent(second));
    printf("%016llx\n", (unsigned long long)traffic_round(&two, 2));
    OK(cuCtxDestroy(first));
    printf("%016llx\n", (unsigned long long)traffic_round(&two, 3));
    OK(cuCtxDestroy(second));
}

static void reset(void)
{
    open_device();
    arm();
    CODE(cuDevicePrimaryCtxReset(0));
    CODE(cuDevicePrimaryCtxRelease(0));
    CODE(cuCtxSetCurrent(NULL));
}

int main(void)
{
    OK(cuInit(0));
    primary("first life");
    primary("second life");
    own_context(0);
    own_context(1);
    two_at_once();
    reset();
    primary("after the reset");
    return 0;
}
