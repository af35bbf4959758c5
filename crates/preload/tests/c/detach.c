/* Contexts that end by cuCtxDetach, as PyCUDA ends all of its own, each at the handle of the one before. Nothing of a
 * context is left when it has ended: neither a thread nor pinned memory. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>

#include "client.h"

static int threads(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    REQUIRE(tasks != NULL);
    for (struct dirent *entry = readdir(tasks); entry != NULL; entry = readdir(tasks))
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

/* A pageable copy has the drop-in make its slots and their threads. */
static uint64_t pageable(void)
{
    size_t bytes = 8 * MIB;
    unsigned char *in = malloc(bytes), *out = calloc(1, bytes);
    CUdeviceptr device = new_device_bytes(bytes);
    REQUIRE(in != NULL && out != NULL);
    paint(in, bytes, 3);
    for (int i = 0; i < 4; i++) {
        OK(cuMemcpyHtoD(device, in, bytes));
        OK(cuMemcpyDtoH(out, device, bytes));
        nap_us(2000);
    }
    uint64_t sum = checksum(out, bytes);
    free(in);
    free(out);
    return sum;
}

static void life(int attached)
{
    CUcontext context = NULL, same = NULL, other = NULL;
    OK(cuCtxCreate_v2(&context, 0, 0));
    for (int i = 0; i < attached; i++) {
        CODE(cuCtxAttach(&same, 0));
        REQUIRE(same == context);
    }
    Traffic traffic = new_traffic();
    printf("%016llx %016llx\n", (unsigned long long)run_traffic(&traffic, 3), (unsigned long long)pageable());
    OK(cuCtxCreate_v2(&other, 0, 0));
    CODE(cuCtxDetach(context)); /* it is not current */
    CODE(cuCtxDetach(other));
    for (int i = 0; i < attached; i++)
        CODE(cuCtxDetach(context));
    printf("%016llx\n", (unsigned long long)traffic_round(&traffic, 9));
    send_traffic(&traffic);
    CODE(cuCtxDetach(context));
    CODE(cuCtxSynchronize());
}

int main(void)
{
    int before = 0;
    OK(cuInit(0));
    for (int i = 0; i < 5; i++) {
        life(i % 3);
        if (i == 0)
            before = threads();
    }
    printf("threads are left: %d\n", threads() > before);
    return 0;
}
