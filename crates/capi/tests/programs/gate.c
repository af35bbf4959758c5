/* The thread's default stream, or a blocking stream, waits for a word that this thread sets later. No asynchronous call
 * of the library may wait for it: not the first one, which opens the layer, and none after it. Each case is a process
 * of its own. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { SMALL = 64 << 10, LARGE = 4 << 20, PATIENCE_S = 12 };

enum { LEGACY, BLOCKING, PER_THREAD, PLACES };
enum { FIRST_COPY, OPEN, QUEUE, ADOPT, LATER_COPY, CASES };

static void late(int signal)
{
    static const char text[] = "a call of the library waits for work that it must not wait for\n";
    (void)signal;
    (void)!write(2, text, sizeof text - 1);
    _exit(3);
}

/* Bulk and urgent copies, each in a stream of its own. */
static void copies(void *device, unsigned char *host, CUstream bulk)
{
    CUstream urgent = new_stream();
    for (int i = 0; i < 3; i++) {
        OK(overtake_memcpy_async(device, host, SMALL, OVERTAKE_COPY_HOST_TO_DEVICE, urgent, 5));
        OK(overtake_memcpy_async(device, host, LARGE, OVERTAKE_COPY_HOST_TO_DEVICE, bulk, 1));
        OK(overtake_memcpy_async(host, device, LARGE, OVERTAKE_COPY_DEVICE_TO_HOST, bulk, 1));
        OK(overtake_memcpy_async(host, device, SMALL, OVERTAKE_COPY_DEVICE_TO_HOST, urgent, 4));
    }
}

static void run(int place, int what)
{
    CUstream blocking = NULL;
    struct overtake_copy_queue *queue = NULL;
    open_device();
    CUstream stream = new_stream();
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    unsigned char *host = pinned_bytes(LARGE, 1);
    _Atomic unsigned *word = (_Atomic unsigned *)pinned_bytes(4096, 0);
    void *device = on_device(LARGE);
    CUdeviceptr seen = 0;
    *word = 0;
    OK(cuMemHostGetDevicePointer(&seen, (void *)word, 0));
    if (what == LATER_COPY) {
        OK(overtake_open(NULL));
        OK(overtake_memcpy_async(device, host, SMALL, OVERTAKE_COPY_HOST_TO_DEVICE, stream, 5));
        OK(cuCtxSynchronize());
    }
    CUstream waits = place == LEGACY ? CU_STREAM_LEGACY : place == PER_THREAD ? CU_STREAM_PER_THREAD : blocking;
    OK(cuStreamWaitValue32(waits, seen, 1, CU_STREAM_WAIT_VALUE_GEQ));
    signal(SIGALRM, late);
    alarm(PATIENCE_S);
    switch (what) {
    case FIRST_COPY:
    case LATER_COPY:
        copies(device, host, stream);
        break;
    case OPEN:
        OK(overtake_open(NULL));
        break;
    case QUEUE:
        OK(overtake_copy_queue_open(stream, 1, 10, &queue));
        break;
    case ADOPT:
        OK(overtake_adopt_stream(stream, 3));
        break;
    }
    *word = 1;
    OK(cuStreamSynchronize(waits));
    OK(cuStreamSynchronize(stream));
    alarm(0);
    if (queue != NULL)
        OK(overtake_copy_queue_close(queue));
    _exit(0);
}

int main(void)
{
    int wrong = 0;
    for (int place = 0; place < PLACES; place++) {
        for (int what = 0; what < CASES; what++) {
            int status = -1;
            pid_t child = fork();
            REQUIRE(child >= 0);
            if (child == 0)
                run(place, what);
            REQUIRE(waitpid(child, &status, 0) == child);
            if (status != 0)
                fprintf(stderr, "stream %d, case %d: status %x\n", place, what, status);
            wrong += status != 0;
        }
    }
    if (wrong == 0)
        puts("ok");
    return wrong;
}
