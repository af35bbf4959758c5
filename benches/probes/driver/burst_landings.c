/* Where a burst of small copies lands between large ones: to the host, so that the CPU sees each of them land without
 * anything in a stream that says so. */
#define _GNU_SOURCE
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpu.h"
#include "clock.h"

enum { SMALL = 65536, COPIES_MAX = 64, BULK = 256 << 20, BULKS = 7, STREAMS = 3, ROUNDS = 4 };

static volatile unsigned char *landing;
static volatile unsigned *words;
static unsigned char *sink;
static CUdeviceptr source, bulk_source;
static CUstream bulk, urgent[STREAMS];

/* Word 0..BULKS-1: bulk; BULKS..: the urgent streams'. */
static void write_word(CUstream stream, int word)
{
    OK(cuStreamWriteValue32(stream, (CUdeviceptr)(words + word), 1, CU_STREAM_WRITE_VALUE_DEFAULT));
}

struct burst {
    const char *name;
    int copies, streams, write_each;
    double pause_after_first_us, chunk;
};

static void show(const struct burst *burst, double late_us)
{
    double landed[COPIES_MAX] = {0}, words_at[BULKS + STREAMS] = {0};
    memset((void *)landing, 0, (size_t)SMALL * COPIES_MAX);
    memset((void *)words, 0, 4096);
    size_t chunk = burst->chunk > 0 ? (size_t)burst->chunk : BULK;
    for (int request = 0; request < BULKS; request++) {
        for (size_t at = 0; at < BULK; at += chunk)
            OK(cuMemcpyDtoHAsync(sink + at, bulk_source + at, chunk < BULK - at ? chunk : BULK - at, bulk));
        write_word(bulk, request);
    }
    pause_us(late_us);
    double start_us = now_us();
    for (int copy = 0; copy < burst->copies; copy++) {
        size_t at = (size_t)copy * SMALL;
        int stream = copy % burst->streams;
        OK(cuMemcpyDtoHAsync((void *)(landing + at), source + at, SMALL, urgent[stream]));
        if (burst->write_each || copy + burst->streams >= burst->copies)
            write_word(urgent[stream], BULKS + stream);
        if (copy == 0 && burst->pause_after_first_us > 0)
            pause_us(burst->pause_after_first_us);
    }
    double submitted_us = now_us() - start_us;
    int left = burst->copies + BULKS + burst->streams;
    while (left > 0 && now_us() - start_us < 200000) {
        double time_us = now_us() - start_us;
        for (int copy = 0; copy < burst->copies; copy++)
            if (landed[copy] == 0 && landing[(size_t)copy * SMALL + SMALL - 1])
                landed[copy] = time_us, left--;
        for (int word = 0; word < BULKS + burst->streams; word++)
            if (words_at[word] == 0 && words[word])
                words_at[word] = time_us, left--;
    }
    OK(cuCtxSynchronize());
    printf("%s: submitted in %.0f us; landed", burst->name, submitted_us);
    for (int copy = 0; copy < burst->copies; copy++) {
        int last = copy;
        while (last + 1 < burst->copies && landed[last + 1] - landed[last] < 100)
            last++;
        printf(" %d-%d at %.0f-%.0f", copy, last, landed[copy], landed[last]);
        copy = last;
    }
    printf("; words");
    for (int word = BULKS; word < BULKS + burst->streams; word++)
        printf(" %.0f", words_at[word]);
    printf("; bulk");
    for (int word = 0; word < BULKS; word++)
        printf(" %.0f", words_at[word]);
    printf("\n");
}

static void make_all(void)
{
    use_first_gpu();
    OK(cuMemHostAlloc((void **)&words, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemHostAlloc((void **)&landing, (size_t)SMALL * COPIES_MAX, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemHostAlloc((void **)&sink, BULK, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemAlloc(&source, (size_t)SMALL * COPIES_MAX));
    OK(cuMemAlloc(&bulk_source, BULK));
    OK(cuMemsetD8(source, 0x77, (size_t)SMALL * COPIES_MAX));
    OK(cuStreamCreate(&bulk, CU_STREAM_NON_BLOCKING));
    for (int stream = 0; stream < STREAMS; stream++)
        OK(cuStreamCreate(&urgent[stream], CU_STREAM_NON_BLOCKING));
    OK(cuCtxSynchronize());
}

int main(void)
{
    static const struct burst bursts[] = {
        {"1 copy", 1, 1, 0, 0, 0},
        {"2 copies", 2, 1, 0, 0, 0},
        {"3 copies", 3, 1, 0, 0, 0},
        {"8 copies", 8, 1, 0, 0, 0},
        {"64 copies", 64, 1, 0, 0, 0},
        {"64 copies, 1 ms after the first", 64, 1, 0, 1000, 0},
        {"2 copies, 1 ms after the first", 2, 1, 0, 1000, 0},
        {"64 copies, bulk in 2 MiB", 64, 1, 0, 0, 2 << 20},
        {"2 copies, bulk in 2 MiB", 2, 1, 0, 0, 2 << 20},
        {"8 copies, each with a write", 8, 1, 1, 0, 0},
        {"3 copies in 3 streams", 3, 3, 0, 0, 0},
        {"2 copies in 2 streams", 2, 2, 0, 0, 0},
        {"64 copies in 3 streams", 64, 3, 0, 0, 0},
    };
    make_all();
    for (size_t burst = 0; burst < sizeof bursts / sizeof *bursts; burst++)
        for (int round = 0; round < ROUNDS; round++)
            show(&bursts[burst], 6000 + 700 * round);
    fflush(stdout);
    _exit(0);
}
