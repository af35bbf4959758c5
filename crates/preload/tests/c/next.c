/* RTLD_NEXT depends on its caller, so a hook of dlsym must not become the caller. */
#define _GNU_SOURCE
#include "driver.h"

int chained(int depth);
int copies_seen(void);

int main(void)
{
    unsigned char *in = new_bytes(5000, 1), out[5000];
    printf("chained: %d\n", chained(0));
    open_device();
    CUdeviceptr device = new_device_bytes(5000);
    OK(cuMemcpyHtoD(device, in, 5000));
    OK(FIND(RTLD_DEFAULT, cuMemcpyHtoD)(device, in, 5000));
    OK(cuMemcpyDtoH(out, device, 5000));
    printf("seen by the other interposer at least once: %d\n", copies_seen() >= 1);
    printf("%016llx\n", (unsigned long long)checksum(out, 5000));
    printf("own: %d\n", dlsym(RTLD_NEXT, "main") == NULL);
    printf("malloc: %d\n", dlsym(RTLD_NEXT, "malloc") != NULL);
    OK(cuMemFree(device));
    free(in);
    close_device();
    return 0;
}
