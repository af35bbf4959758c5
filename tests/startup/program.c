/* The most work of a process before it copies, and then copies that never contend: `program empty`, `program init`,
 * `program context`, `program to_device BYTES`, `program to_host BYTES`. Only the instructions of `group` count for
 * the last two. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_mini.h"

enum { GROUP = 100, GROUPS = 10 };

typedef CUresult (*Copy)(CUdeviceptr there, void *here, size_t bytes, CUstream stream);

static __typeof__(&cuMemcpyHtoDAsync) to_device_call;
static __typeof__(&cuMemcpyDtoHAsync) to_host_call;

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
#define FUNCTION(library, name) ((__typeof__(&name))found(library, TEXT(name)))

static void *found(void *library, const char *name)
{
    void *function = dlsym(library, name);
    if (function == NULL) {
        fprintf(stderr, "libcuda.so.1 has no %s\n", name);
        exit(1);
    }
    return function;
}

static void ok(CUresult status)
{
    if (status != CUDA_SUCCESS) {
        fprintf(stderr, "a call returned %u\n", status);
        exit(1);
    }
}

static CUresult to_device(CUdeviceptr there, void *here, size_t bytes, CUstream stream)
{
    return to_device_call(there, here, bytes, stream);
}

static CUresult to_host(CUdeviceptr there, void *here, size_t bytes, CUstream stream)
{
    return to_host_call(here, there, bytes, stream);
}

__attribute__((noinline)) static void group(Copy copy, CUdeviceptr there, void *here, size_t bytes, CUstream stream)
{
    for (int i = 0; i < GROUP; i++)
        ok(copy(there, here, bytes, stream));
}

static void copies(void *library, Copy copy, size_t bytes)
{
    CUdeviceptr there = 0;
    void *here = NULL;
    CUstream stream = NULL;
    to_device_call = FUNCTION(library, cuMemcpyHtoDAsync);
    to_host_call = FUNCTION(library, cuMemcpyDtoHAsync);
    ok(FUNCTION(library, cuMemAlloc)(&there, bytes));
    ok(FUNCTION(library, cuMemHostAlloc)(&here, bytes, 0));
    ok(FUNCTION(library, cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < GROUPS; i++) {
        group(copy, there, here, bytes, stream);
        ok(FUNCTION(library, cuStreamSynchronize)(stream));
    }
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "empty";
    CUcontext context = NULL;
    if (strcmp(what, "empty") == 0)
        return 0;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    ok(FUNCTION(library, cuInit)(0));
    if (strcmp(what, "init") == 0)
        return 0;
    ok(FUNCTION(library, cuDevicePrimaryCtxRetain)(&context, 0));
    ok(FUNCTION(library, cuCtxSetCurrent)(context));
    if (count > 2)
        copies(library, strcmp(what, "to_host") == 0 ? to_host : to_device, (size_t)atol(arguments[2]));
    return 0;
}
