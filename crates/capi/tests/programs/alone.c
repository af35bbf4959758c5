/* Copies have a priority of this program, and no copy of another stream is in flight: nothing has to yield to them. */
#include "expect.h"

enum { SMALL = 64 << 10, OTHERS = 10 };

int main(void)
{
    open_device();
    unsigned char *small = pinned_bytes(SMALL, 1);
    CUdeviceptr there = (CUdeviceptr)(uintptr_t)on_device(SMALL);
    CUstream worker = new_stream(), other = new_stream();
    for (int i = 0; i < OTHERS; i++)
        OK(cuMemcpyHtoDAsync(there, small, SMALL, other));
    OK(cuStreamSynchronize(other));
    OK(overtake_push_priority(5));
    OK(cuMemcpyHtoDAsync(there, small, SMALL, worker));
    OK(cuMemcpyHtoDAsync(there, small, SMALL, worker));
    OK(overtake_pop_priority());
    OK(cuStreamSynchronize(worker));
    puts("ok");
    return 0;
}
