/* When a copy reads pinned memory that a stream before it in the legacy stream's implicit order still writes: the
 * legacy stream's copy is submitted while that stream is held, and should read the stream's bytes. */
#define _GNU_SOURCE
#include <cuda.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpu.h"

enum { BYTES = 2 << 20, WRITTEN = 900000, SIZES = 4 };
enum { NOTHING, RECORD, WRITE, WAIT, BETWEENS };

static const size_t sizes[SIZES] = {16, 4096, 24576, 65536};
static const char *const betweens[BETWEENS] = {"nothing", "an event's record", "a write", "a wait for a done event"};

static volatile unsigned *gate;
static unsigned char *host, back[65536];
static CUdeviceptr source, target, word;
static CUevent written, done, recorded;
static CUstream writer, idle;

/* Whether the copy has read the earlier bytes. */
static int reads_early(CUstream before, int between, size_t bytes)
{
    memset(host, 0x11, BYTES);
    *gate = 0;
    OK(cuStreamWaitValue32(writer, (CUdeviceptr)gate, 1, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuMemcpyDtoHAsync(host, source, WRITTEN, writer));
    OK(cuEventRecord(written, writer));
    OK(cuStreamWaitEvent(before, written, 0));
    OK(cuMemcpyHtoDAsync(target + BYTES - 64, host + BYTES - 64, 4, before));
    if (between == RECORD)
        OK(cuEventRecord(recorded, CU_STREAM_LEGACY));
    else if (between == WRITE)
        OK(cuStreamWriteValue32(CU_STREAM_LEGACY, word, 1, CU_STREAM_WRITE_VALUE_DEFAULT));
    else if (between == WAIT)
        OK(cuStreamWaitEvent(CU_STREAM_LEGACY, done, 0));
    OK(cuMemcpyHtoDAsync(target, host, bytes, CU_STREAM_LEGACY));
    usleep(3000);
    *gate = 1;
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(back, target, bytes));
    return back[0] != 0x77;
}

static void make_all(void)
{
    void *memory;
    OK(cuMemHostAlloc(&memory, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    gate = memory;
    OK(cuMemHostAlloc((void **)&host, BYTES, 0));
    OK(cuMemAlloc(&source, BYTES));
    OK(cuMemAlloc(&target, BYTES));
    OK(cuMemAlloc(&word, 4096));
    OK(cuMemsetD8(source, 0x77, BYTES));
    OK(cuStreamCreate(&writer, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&idle, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&written, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&done, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&recorded, CU_EVENT_DISABLE_TIMING));
    OK(cuEventRecord(done, idle));
    OK(cuCtxSynchronize());
}

int main(void)
{
    CUstream blocking;
    use_first_gpu();
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    make_all();
    for (int per_thread = 0; per_thread < 2; per_thread++)
        for (int between = NOTHING; between < BETWEENS; between++)
            for (int size = 0; size < SIZES; size++) {
                int early = 0;
                for (int round = 0; round < 10; round++)
                    early += reads_early(per_thread ? CU_STREAM_PER_THREAD : blocking, between, sizes[size]);
                printf("behind a %s stream, %s in between, %5zu bytes: read early %d of 10\n",
                       per_thread ? "per-thread" : "blocking", betweens[between], sizes[size], early);
            }
    fflush(stdout);
    _exit(0);
}
