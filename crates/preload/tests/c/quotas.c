/* Another interposer, whose quota must hold before other preloaded libraries and behind them (beside.c). */
#define _GNU_SOURCE
#include "driver.h"

int main(void)
{
    void *driver = open_driver();
    CUcontext context = NULL;
    CUdeviceptr small = 0, large = 0;
    unsigned char *in = new_bytes(MIB, 1), *out = malloc(MIB);
    OK(FIND(driver, cuInit)(0));
    OK(FIND(driver, cuDevicePrimaryCtxRetain)(&context, 0));
    OK(FIND(driver, cuCtxSetCurrent)(context));
    CODE(FIND(driver, cuMemAlloc)(&small, MIB));
    CODE(FIND(driver, cuMemAlloc)(&large, 64 * MIB));
    OK(FIND(driver, cuMemcpyHtoD)(small, in, MIB));
    OK(FIND(driver, cuMemcpyDtoH)(out, small, MIB));
    int (*seen)(void) = NULL;
    void *found = dlsym(RTLD_DEFAULT, "quota_seen");
    memcpy(&seen, &found, sizeof seen);
    const char *volatile nothing = NULL;
    if (seen != NULL) /* glibc's own ends the program */
        printf("no name: %d\n", dlsym(driver, nothing) == NULL);
    printf("copied: %d, seen: %d\n", memcmp(in, out, MIB) == 0, seen != NULL && seen() == 2);
    free(in);
    free(out);
    return 0;
}
