/* Threads that are cancelled while they copy: the thread ends at one of its own cancellation points, and the program
 * goes on. And a program whose floating-point exceptions trap, which no library may cause in its name: the driver of an
 * H100 does, natively too, so there they do not trap. */
#define _GNU_SOURCE
#include <fenv.h>
#include <pthread.h>

#include "client.h"

enum { BYTES = 8 * MIB, PLACES = 8, THREADS = 24 };

static CUcontext context;
static CUdeviceptr device;
static unsigned char *in;
static atomic_int copying;

static void *copy(void *argument)
{
    OK(cuCtxSetCurrent(context));
    atomic_store(&copying, 1);
    for (int i = 0; i < PLACES; i++)
        OK(cuMemcpyHtoD(device, in, BYTES));
    while (argument != NULL)
        pthread_testcancel();
    return NULL;
}

int main(void)
{
    setenv("OVERTAKE_STAGING_THREADS", "3", 0); /* staging needs four processors otherwise */
    context = open_device();
    device = new_device_bytes(BYTES);
    in = malloc(BYTES);
    REQUIRE(in != NULL);
    memset(in, 1, BYTES);
    for (int i = 0; i < 4; i++) {
        OK(cuMemcpyHtoD(device, in, BYTES));
        nap_us(20000);
    }
    int cancelled = 0;
    for (long i = 0; i < THREADS; i++) {
        pthread_t thread;
        void *result = NULL;
        atomic_store(&copying, 0);
        REQUIRE(pthread_create(&thread, NULL, copy, &copying) == 0);
        while (atomic_load(&copying) == 0)
            nap_us(50);
        nap_us(i * 700);
        REQUIRE(pthread_cancel(thread) == 0);
        REQUIRE(pthread_join(thread, &result) == 0);
        cancelled += result == PTHREAD_CANCELED;
    }
    printf("cancelled: %d\n", cancelled);
#ifdef SOFTWARE_GPU
    feenableexcept(FE_INEXACT | FE_OVERFLOW | FE_DIVBYZERO | FE_INVALID);
#endif
    Traffic traffic = arm();
    copy(NULL);
    fedisableexcept(FE_ALL_EXCEPT);
    free_traffic(&traffic);
    free(in);
    OK(cuMemFree(device));
    close_device();
    printf("the program goes on\n");
    return 0;
}
