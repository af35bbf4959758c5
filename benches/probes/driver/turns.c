/* In which order copies to the host, and the writes behind them, land when several streams want the engine. */
#define _GNU_SOURCE
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu.h"
#include "clock.h"

enum { SMALL = 65536, REQUEST = 16 << 20, REQUESTS = 5, STREAMS = 8, URGENT = 3, ROUNDS = 3 };
enum { LANDINGS = STREAMS * REQUESTS + URGENT };

static const char noop_ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry noop() { ret; }\n";
static volatile unsigned char *sink;
static volatile unsigned *words;
static CUdeviceptr source;
static CUstream bulk[STREAMS], urgent[URGENT];
static CUfunction noop;

struct landing {
    char name[16];
    double at_us;
    volatile unsigned char *byte;
    volatile unsigned *word;
};

struct scene {
    const char *name;
    int streams, requests, kernels, urgent, copies;
    size_t chunk;
    double late_us;
};

static struct landing all[2 * LANDINGS + 64];
static int count;

static void expect(const char *name, volatile unsigned char *byte, volatile unsigned *word)
{
    struct landing *landing = &all[count++];
    snprintf(landing->name, sizeof landing->name, "%s", name);
    landing->at_us = 0, landing->byte = byte, landing->word = word;
}

static void request(const struct scene *scene, int stream, int number)
{
    int index = stream * REQUESTS + number;
    char name[32];
    if (scene->kernels)
        OK(cuLaunchKernel(noop, 1, 1, 1, 1, 1, 1, 0, bulk[stream], NULL, NULL));
    volatile unsigned char *target = sink + (size_t)index * REQUEST;
    for (size_t at = 0; at < REQUEST; at += scene->chunk)
        OK(cuMemcpyDtoHAsync((void *)(target + at), source, scene->chunk, bulk[stream]));
    OK(cuStreamWriteValue32(bulk[stream], (CUdeviceptr)(words + index), 1, CU_STREAM_WRITE_VALUE_DEFAULT));
    snprintf(name, sizeof name, "%c%d", 'a' + stream, number);
    expect(name, target + REQUEST - 1, NULL);
    snprintf(name, sizeof name, "%c%dw", 'a' + stream, number);
    expect(name, NULL, words + index);
}

static void small(const struct scene *scene, int stream)
{
    char name[32];
    for (int copy = 0; copy < scene->copies; copy++) {
        volatile unsigned char *target = sink + (size_t)STREAMS * REQUESTS * REQUEST + (stream * 16 + copy) * SMALL;
        OK(cuMemcpyDtoHAsync((void *)target, source, SMALL, urgent[stream]));
        snprintf(name, sizeof name, "U%d.%d", stream, copy);
        expect(name, target + SMALL - 1, NULL);
    }
    OK(cuStreamWriteValue32(urgent[stream], (CUdeviceptr)(words + STREAMS * REQUESTS + stream), 1,
                            CU_STREAM_WRITE_VALUE_DEFAULT));
    snprintf(name, sizeof name, "U%dw", stream);
    expect(name, NULL, words + STREAMS * REQUESTS + stream);
}

static int earlier(const void *left, const void *right)
{
    const struct landing *one = left, *other = right;
    return one->at_us < other->at_us ? -1 : one->at_us > other->at_us;
}

static void show(const struct scene *scene)
{
    count = 0;
    memset((void *)sink, 0, (size_t)REQUEST * STREAMS * REQUESTS + (size_t)SMALL * 16 * URGENT);
    memset((void *)words, 0, 4096);
    double start_us = now_us();
    for (int number = 0; number < scene->requests; number++)
        for (int stream = 0; stream < scene->streams; stream++)
            request(scene, stream, number);
    double submitted_us = now_us() - start_us;
    pause_us(scene->late_us - submitted_us);
    double urgent_us = now_us() - start_us;
    for (int stream = 0; stream < scene->urgent; stream++)
        small(scene, stream);
    int left = count;
    while (left > 0 && now_us() - start_us < 100000)
        for (int at = 0; at < count; at++)
            if (all[at].at_us == 0 && (all[at].byte ? *all[at].byte : *all[at].word))
                all[at].at_us = now_us() - start_us, left--;
    OK(cuCtxSynchronize());
    qsort(all, count, sizeof *all, earlier);
    printf("%s; submitted by %.0f, urgent at %.0f:", scene->name, submitted_us, urgent_us);
    for (int at = 0; at < count; at++)
        if (all[at].at_us > urgent_us - 700 || at + 1 == count)
            printf(" %s@%.0f", all[at].name, all[at].at_us);
    printf("\n");
}

static void make_all(void)
{
    CUmodule module;
    use_first_gpu();
    OK(cuModuleLoadData(&module, noop_ptx));
    OK(cuModuleGetFunction(&noop, module, "noop"));
    OK(cuMemHostAlloc((void **)&words, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemHostAlloc((void **)&sink, (size_t)REQUEST * STREAMS * REQUESTS + (size_t)SMALL * 16 * URGENT,
                      CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemAlloc(&source, REQUEST));
    OK(cuMemsetD8(source, 0x77, REQUEST));
    for (int stream = 0; stream < STREAMS; stream++)
        OK(cuStreamCreate(&bulk[stream], CU_STREAM_NON_BLOCKING));
    for (int stream = 0; stream < URGENT; stream++)
        OK(cuStreamCreate(&urgent[stream], CU_STREAM_NON_BLOCKING));
    OK(cuLaunchKernel(noop, 1, 1, 1, 1, 1, 1, 0, bulk[0], NULL, NULL));
    OK(cuCtxSynchronize());
}

int main(void)
{
    static const struct scene scenes[] = {
        {"1 stream", 1, 5, 0, 1, 1, REQUEST, 420},
        {"2 streams", 2, 5, 0, 1, 1, REQUEST, 720},
        {"3 streams", 3, 5, 0, 1, 1, REQUEST, 720},
        {"4 streams", 4, 4, 0, 1, 1, REQUEST, 720},
        {"8 streams", 8, 2, 0, 1, 1, REQUEST, 720},
        {"1 stream, kernels", 1, 5, 1, 1, 1, REQUEST, 420},
        {"2 streams, kernels", 2, 5, 1, 1, 1, REQUEST, 720},
        {"4 streams, kernels, chunks", 4, 4, 1, 1, 1, 2 << 20, 720},
        {"8 streams, kernels, chunks", 8, 2, 1, 1, 1, 2 << 20, 720},
        {"2 streams, 4 urgent", 2, 5, 0, 1, 4, REQUEST, 720},
        {"2 streams, 3 urgent streams of 2", 2, 5, 0, 3, 2, REQUEST, 720},
    };
    make_all();
    for (int warm = 0; warm < 2; warm++) {
        show(&scenes[0]);
    }
    for (size_t scene = 0; scene < sizeof scenes / sizeof *scenes; scene++)
        for (int round = 0; round < ROUNDS; round++)
            show(&scenes[scene]);
    fflush(stdout);
    _exit(0);
}
