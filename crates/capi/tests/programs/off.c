/* Switched off by its options, or in a forked child, the layer returns an error that says so, and the driver copies. */
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { BYTES = 5 << 20 };

int main(void)
{
    unsigned char *in, *out;
    void *middle;
    CUstream stream;
    pid_t child;
    int status = -1;
    open_device();
    REQUIRE(overtake_open(NULL) == OVERTAKE_ERROR_OFF && strstr(overtake_last_error(), "enabled = off") != NULL);
    in = pinned_bytes(BYTES, 3), out = pinned_bytes(BYTES, 99), middle = on_device(BYTES), stream = new_stream();
    REQUIRE(overtake_set_stream_priority(stream, 3) == OVERTAKE_ERROR_OFF);
    OK(overtake_memcpy_async(middle, in, BYTES, OVERTAKE_COPY_HOST_TO_DEVICE, stream, 1));
    OK(overtake_memcpy_async(out, middle, BYTES, OVERTAKE_COPY_DEVICE_TO_HOST, stream, 7));
    OK(cuStreamSynchronize(stream));
    REQUIRE(memcmp(in, out, BYTES) == 0);
    child = fork();
    if (child == 0)
        _exit(overtake_open(NULL) == OVERTAKE_ERROR_OFF && strstr(overtake_last_error(), "after a fork") ? 0 : 1);
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    puts("ok");
    return 0;
}
