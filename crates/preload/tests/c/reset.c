/* Copies after a reset of the primary context, and none that are prioritised before it: what the report has moved is
 * the work of a layer that has opened again. */
#define _POSIX_C_SOURCE 200809L
#include "client.h"

int main(void)
{
    CUcontext context = NULL, again = NULL;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    CODE(cuDevicePrimaryCtxReset(0));
    OK(cuDevicePrimaryCtxRetain(&again, 0));
    OK(cuCtxSetCurrent(again));
    Traffic traffic = arm();
    printf("%016llx\n", (unsigned long long)traffic_round(&traffic, 2));
    CODE(cuDevicePrimaryCtxRelease(0));
    printf("%016llx\n", (unsigned long long)traffic_round(&traffic, 3));
    CODE(cuDevicePrimaryCtxReset(0));
    CODE(cuDevicePrimaryCtxRelease(0));
    CODE(cuCtxSetCurrent(NULL));
    return 0;
}
