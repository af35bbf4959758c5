/* The cost of one call for a program that never contends: small copies, sets and launches on one stream, in groups that
 * never fill it. Only the calls are timed, not the waiting. Prints one JSON object: per kind of call the median and
 * the minimum over the groups, in nanoseconds a call. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "../found.h"

enum { GROUP = 200, GROUPS_MAX = 4000 };

typedef struct {
    __typeof__(&cuMemcpyHtoDAsync) to_device;
    __typeof__(&cuMemcpyDtoHAsync) to_host;
    __typeof__(&cuMemcpyAsync) any_way;
    __typeof__(&cuMemsetD8Async) set;
    __typeof__(&cuStreamSynchronize) wait;
    __typeof__(&cuLaunchKernel) launch;
    CUfunction nothing;
    CUdeviceptr there;
    void *host;
    CUstream stream;
} Bench;

typedef CUresult (*Call)(const Bench *);

static CUresult to_device_4k(const Bench *bench)
{
    return bench->to_device(bench->there, bench->host, 4096, bench->stream);
}

static CUresult to_device_64k(const Bench *bench)
{
    return bench->to_device(bench->there, bench->host, 65536, bench->stream);
}

static CUresult to_host_4k(const Bench *bench)
{
    return bench->to_host(bench->host, bench->there, 4096, bench->stream);
}

static CUresult any_way_4k(const Bench *bench)
{
    return bench->any_way(bench->there, (CUdeviceptr)(uintptr_t)bench->host, 4096, bench->stream);
}

static CUresult set_4k(const Bench *bench)
{
    return bench->set(bench->there, 7, 4096, bench->stream);
}

static CUresult launch(const Bench *bench)
{
    return bench->launch(bench->nothing, 1, 1, 1, 1, 1, 1, 0, bench->stream, NULL, NULL);
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void measure(const char *name, Call call, const Bench *bench, int groups, const char *end)
{
    static double call_ns[GROUPS_MAX];
    for (int group = -2; group < groups; group++) {
        CUresult status = CUDA_SUCCESS;
        double began = now_ns();
        for (int i = 0; i < GROUP; i++)
            status |= call(bench);
        double taken = now_ns() - began;
        ok(status, name);
        ok(bench->wait(bench->stream), "cuStreamSynchronize");
        if (group >= 0)
            call_ns[group] = taken / GROUP;
    }
    qsort(call_ns, (size_t)groups, sizeof call_ns[0], ascending);
    printf("\"%s\": {\"median_ns\": %.1f, \"min_ns\": %.1f}%s", name, call_ns[groups / 2], call_ns[0], end);
}

/* A kernel that both kinds of device know. */
static CUfunction kernel(void)
{
    static char text[65536];
    CUmodule module = NULL;
    CUfunction function = NULL;
    FILE *file = fopen(KERNELS_PTX, "rb");
    if (file == NULL || fread(text, 1, sizeof text - 1, file) == 0) {
        perror(KERNELS_PTX);
        exit(1);
    }
    fclose(file);
    ok(FUNCTION(cuModuleLoadData)(&module, text), "cuModuleLoadData");
    ok(FUNCTION(cuModuleGetFunction)(&function, module, "soft_noop"), "cuModuleGetFunction");
    return function;
}

static Bench opened(void)
{
    Bench bench = {0};
    CUcontext context = NULL;
    ok(FUNCTION(cuInit)(0), "cuInit");
    ok(FUNCTION(cuDevicePrimaryCtxRetain)(&context, 0), "cuDevicePrimaryCtxRetain");
    ok(FUNCTION(cuCtxSetCurrent)(context), "cuCtxSetCurrent");
    ok(FUNCTION(cuMemAlloc)(&bench.there, 65536), "cuMemAlloc");
    ok(FUNCTION(cuMemHostAlloc)(&bench.host, 65536, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
    ok(FUNCTION(cuStreamCreate)(&bench.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    bench.to_device = FUNCTION(cuMemcpyHtoDAsync);
    bench.to_host = FUNCTION(cuMemcpyDtoHAsync);
    bench.any_way = FUNCTION(cuMemcpyAsync);
    bench.set = FUNCTION(cuMemsetD8Async);
    bench.wait = FUNCTION(cuStreamSynchronize);
    bench.launch = FUNCTION(cuLaunchKernel);
    bench.nothing = kernel();
    return bench;
}

int main(int count, char **arguments)
{
    int calls = count > 1 ? atoi(arguments[1]) : 40000, groups = calls / GROUP;
    if (groups < 1 || groups > GROUPS_MAX) {
        fprintf(stderr, "usage: calls [calls of each kind, %d to %d]\n", GROUP, GROUP * GROUPS_MAX);
        return 2;
    }
    Bench bench = opened();
    printf("{");
    measure("H2D 4 KiB", to_device_4k, &bench, groups, ", ");
    measure("H2D 64 KiB", to_device_64k, &bench, groups, ", ");
    measure("D2H 4 KiB", to_host_4k, &bench, groups, ", ");
    measure("default 4 KiB", any_way_4k, &bench, groups, ", ");
    measure("memset 4 KiB", set_4k, &bench, groups, ", ");
    measure("launch", launch, &bench, groups, "}\n");
    return 0;
}
