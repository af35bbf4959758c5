/* A forked child has no device: its calls are refused and do not hang, and it ends, forked from any state. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device.h"

static atomic_int forked;

static void *call_until_forked(void *context)
{
    CUdeviceptr pointer = 0;
    OK(cuCtxSetCurrent(context));
    while (!atomic_load(&forked)) {
        OK(cuMemAlloc(&pointer, 4096));
        OK(cuMemFree(pointer));
    }
    return NULL;
}

/* For use after a thread's state was left behind, and before a sanitizer looks for the memory of the parent's
 * threads. */
static void leave_child(void)
{
    _exit(42);
}

/* The child ends by itself, with the state that a thread of the driver leaves behind. */
static void fork_beside_calls(void)
{
    int status = -1;
    pthread_t thread;
    CUcontext context = NULL;
    OK(cuCtxGetCurrent(&context));
    atomic_store(&forked, 0);
    REQUIRE(pthread_create(&thread, NULL, call_until_forked, context) == 0);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        alarm(10);
        REQUIRE(atexit(leave_child) == 0);
        exit(1);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    atomic_store(&forked, 1);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

int main(void)
{
    int status = -1, count = 0;
    open_device();
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        int refused = cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED &&
                      cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
                      cuStreamSynchronize(NULL) == CUDA_ERROR_NOT_INITIALIZED;
        _exit(refused ? 42 : 1);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    OK(cuDeviceGetCount(&count)); /* the parent goes on */
    for (int i = 0; i < 50; i++)
        fork_beside_calls();
    close_device();
    return 0;
}
