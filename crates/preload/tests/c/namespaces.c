/* A driver in a namespace of its own (dlmopen), beside the one in the program's namespace. */
#define _GNU_SOURCE
#include "driver.h"

static void *library;

static void *by_name(const char *base, const char *symbol, int version)
{
    (void)base, (void)version;
    return dlsym(library, symbol);
}

static void round_trip(const Driver *d)
{
    CUcontext context = NULL;
    CUdeviceptr device = 0;
    CUstream stream = NULL;
    void *in = NULL, *out = NULL;
    OK(d->cuInit(0));
    OK(d->cuDevicePrimaryCtxRetain(&context, 0));
    OK(d->cuCtxSetCurrent(context));
    OK(d->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(d->cuMemAlloc(&device, 2 * MIB));
    OK(d->cuMemHostAlloc(&in, 2 * MIB, 0));
    OK(d->cuMemHostAlloc(&out, 2 * MIB, 0));
    paint(in, 2 * MIB, 3);
    OK(d->cuMemcpyHtoDAsync(device, in, 2 * MIB, stream));
    OK(d->cuMemcpyDtoHAsync(out, device, 2 * MIB, stream));
    OK(d->cuStreamSynchronize(stream));
    printf("%016llx\n", (unsigned long long)checksum(out, 2 * MIB));
    OK(d->cuMemFreeHost(in));
    OK(d->cuMemFreeHost(out));
    OK(d->cuMemFree(device));
    OK(d->cuStreamDestroy(stream));
    OK(d->cuDevicePrimaryCtxRelease(0));
}

int main(void)
{
    library = dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW);
    if (library == NULL)
        fprintf(stderr, "%s\n", dlerror());
    REQUIRE(library != NULL);
    Driver apart = find_driver(by_name);
    library = open_driver();
    Driver here = find_driver(by_name);
    REQUIRE(apart.cuMemcpyHtoDAsync != here.cuMemcpyHtoDAsync);
    round_trip(&here);
    round_trip(&apart);
    return 0;
}
