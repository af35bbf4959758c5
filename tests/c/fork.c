/* A forked child has no device: its calls are refused, not hung. */
#define _POSIX_C_SOURCE 200809L
#include <sys/wait.h>
#include <unistd.h>

#include "device.h"

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
    close_device();
    return 0;
}
