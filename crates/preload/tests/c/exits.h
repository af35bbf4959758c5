/* Ends of every sort while the device is busy. Define _GNU_SOURCE before anything is included. */
#ifndef EXITS_H
#define EXITS_H

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "client.h"

static Traffic traffic;
static CUcontext context;

static void *copies_of_a_late_thread(void *argument)
{
    (void)argument;
    CODE(cuCtxSetCurrent(context));
    CODE(cuMemcpyHtoDAsync(traffic.device, traffic.in, TRAFFIC_BULK, traffic.bulk));
    CODE(cuMemcpyDtoHAsync(traffic.small_out, traffic.small_device, TRAFFIC_SMALL, traffic.urgent));
    CODE(cuCtxSynchronize());
    return NULL;
}

/* Copies after main has returned. Prints codes only: drivers differ in the parts that are left by then. */
static void copies_at_exit(void)
{
    unsigned char byte = 0;
    CODE(cuCtxSetCurrent(context)); /* on some drivers the current context is lost with the thread's data */
    CODE(cuMemcpyHtoD(traffic.device, &byte, 1));
    CODE(cuMemcpyHtoDAsync(traffic.device, traffic.in, TRAFFIC_BULK, traffic.bulk));
    CODE(cuMemcpyHtoDAsync(traffic.small_device, traffic.small_in, TRAFFIC_SMALL, traffic.urgent));
    CODE(cuStreamSynchronize(traffic.urgent));
    CODE(cuStreamSynchronize(traffic.bulk));
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, copies_of_a_late_thread, NULL) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    CODE(cuStreamDestroy(traffic.urgent));
    CODE(cuMemFreeHost(traffic.in));
    CODE(cuDevicePrimaryCtxRelease(0));
    fflush(stdout);
}

static int destructor_copies;

__attribute__((destructor)) static void late(void)
{
    if (destructor_copies)
        copies_at_exit();
}

static void *exit_from_here(void *argument)
{
    (void)argument;
    OK(cuCtxSetCurrent(context));
    OK(cuMemcpyHtoDAsync(traffic.device, traffic.in, TRAFFIC_BULK, traffic.bulk));
    exit(9);
}

/* Threads that have their memory: a driver that ends refuses allocations too. */
static atomic_int prepared;

/* Until the driver refuses a copy: it does so in a thread that still copies when the process has begun to end. */
static void *copy_until_refused(void *argument)
{
    (void)argument;
    OK(cuCtxSetCurrent(context));
    Traffic mine = new_traffic();
    atomic_fetch_add(&prepared, 1);
    CUresult result = CUDA_SUCCESS;
    while (result == CUDA_SUCCESS) {
        result = cuMemcpyHtoDAsync(mine.device, mine.in, TRAFFIC_BULK, mine.bulk);
        if (result == CUDA_SUCCESS)
            result = cuMemcpyDtoHAsync(mine.small_out, mine.small_device, TRAFFIC_SMALL, mine.urgent);
        if (result == CUDA_SUCCESS)
            result = cuStreamSynchronize(mine.urgent);
    }
    return NULL;
}

static pthread_t start(void *(*run)(void *))
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, run, NULL) == 0);
    return thread;
}

static void *finish_after_main(void *argument)
{
    (void)argument;
    nap_us(20000);
    OK(cuCtxSetCurrent(context));
    printf("thread: %016llx\n", (unsigned long long)traffic_round(&traffic, 5));
    exit(12);
}

static void leave(const char *way)
{
    if (strcmp(way, "return") == 0)
        return;
    if (strcmp(way, "exit") == 0)
        exit(6);
    if (strcmp(way, "_exit") == 0)
        _exit(7);
    if (strcmp(way, "quick_exit") == 0)
        quick_exit(8);
    if (strcmp(way, "atexit") == 0)
        REQUIRE(atexit(copies_at_exit) == 0);
    else if (strcmp(way, "destructor") == 0)
        destructor_copies = 1;
    else if (strcmp(way, "thread") == 0)
        REQUIRE(pthread_join(start(exit_from_here), NULL) == 0);
    else if (strcmp(way, "others") == 0) {
        start(copy_until_refused);
        start(copy_until_refused);
        while (atomic_load(&prepared) < 2)
            nap_us(100);
        nap_us(30000);
        exit(10);
    } else if (strcmp(way, "pthread_exit") == 0) {
        start(finish_after_main);
        pthread_exit(NULL);
    } else if (strcmp(way, "abort") == 0)
        abort();
    else if (strcmp(way, "segv") == 0)
        *(volatile int *)(uintptr_t)8 = 1;
    else if (strcmp(way, "kill") == 0)
        raise(SIGKILL);
    else if (strcmp(way, "term") == 0)
        raise(SIGTERM);
    else if (strcmp(way, "closed") == 0) {
        free_traffic(&traffic);
        close_device();
    } else
        REQUIRE(!"a known way");
}

#endif
