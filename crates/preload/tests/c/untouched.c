/* Does not use CUDA: the library may be mapped into it, and that is all. With an argument it also looks the driver up,
 * initialises it and copies without ever pinning memory; then the driver's own threads and files are all there are. */
#define _GNU_SOURCE
#include <dirent.h>
#include <unistd.h>

#include "driver.h"

static int entries(const char *path)
{
    int count = 0;
    DIR *folder = opendir(path);
    REQUIRE(folder != NULL);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count - 2; /* the folder itself and its parent */
}

static void print_traces(const char *what)
{
    printf("%s: %d threads, %d files\n", what, entries("/proc/self/task"), entries("/proc/self/fd"));
}

static void copy_without_pinning(void)
{
    void *library = open_driver();
    unsigned char *in = new_bytes(2 * MIB, 1), *out = new_bytes(2 * MIB, 2);
    CUcontext context = NULL;
    CUdeviceptr device = 0;
    print_traces("loaded");
    OK(FIND(library, cuInit)(0));
    print_traces("initialised");
    OK(FIND(library, cuDevicePrimaryCtxRetain)(&context, 0));
    OK(FIND(library, cuCtxSetCurrent)(context));
    OK(FIND(library, cuMemAlloc)(&device, 2 * MIB));
    for (int i = 0; i < 200; i++) {
        OK(FIND(library, cuMemcpyHtoD)(device, in, i % 2 == 0 ? 2 * MIB : 1000));
        OK(FIND(library, cuMemcpyDtoH)(out, device, 1000));
    }
    REQUIRE(memcmp(in, out, 1000) == 0);
    nap_us(20000);
    print_traces("copied");
    OK(FIND(library, cuMemFree)(device));
    OK(FIND(library, cuDevicePrimaryCtxRelease)(0));
    free(in);
    free(out);
}

int main(int count, char **arguments)
{
    (void)arguments;
    print_traces("started");
    if (count > 1)
        copy_without_pinning();
    print_traces("done");
    return 0;
}
