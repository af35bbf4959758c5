/* Does not use CUDA: the library may be mapped into it, and does nothing else. With an argument it also looks the
 * driver up and initialises it: while it has no context, it has only the driver's own threads and files. Then it copies
 * without ever pinning memory. */
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

/* A context, and pageable copies of both sizes in it. */
static void copy_without_pinning(void *library)
{
    unsigned char *in = new_bytes(2 * MIB, 1), *out = new_bytes(2 * MIB, 2);
    uint64_t sum = 0;
    CUcontext context = NULL;
    CUdeviceptr device = 0;
    OK(FIND(library, cuDevicePrimaryCtxRetain)(&context, 0));
    OK(FIND(library, cuCtxSetCurrent)(context));
    OK(FIND(library, cuMemAlloc)(&device, 2 * MIB));
    for (int i = 0; i < 200; i++) {
        size_t bytes = i % 2 == 0 ? 2 * MIB : 1000;
        in[i] = (unsigned char)i;
        OK(FIND(library, cuMemcpyHtoD)(device, in, bytes));
        OK(FIND(library, cuMemcpyDtoH)(out, device, bytes));
        sum = mix(sum, checksum(out, bytes));
    }
    REQUIRE(memcmp(in, out, 2 * MIB) == 0);
    printf("copied: %016llx\n", (unsigned long long)sum);
    OK(FIND(library, cuMemFree)(device));
    OK(FIND(library, cuDevicePrimaryCtxRelease)(0));
    free(in);
    free(out);
}

static void use_the_driver(void)
{
    void *library = open_driver();
    print_traces("loaded");
    OK(FIND(library, cuInit)(0));
    nap_us(20000); /* every thread that was started runs by now */
    print_traces("initialised");
    copy_without_pinning(library);
}

int main(int count, char **arguments)
{
    (void)arguments;
    print_traces("started");
    if (count > 1)
        use_the_driver();
    else
        print_traces("done");
    return 0;
}
