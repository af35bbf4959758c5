/* Another interposer, whose quota must hold before other preloaded libraries and behind them. The program executes
 * itself with it: argument 1 is the interposer, argument 2 its place. */
#define _GNU_SOURCE
#include <unistd.h>

#include "driver.h"

static void start_again(char **argv)
{
    char list[4096];
    const char *others = getenv("LD_PRELOAD");
    if (others == NULL)
        snprintf(list, sizeof list, "%s", argv[1]);
    else if (strcmp(argv[2], "before") == 0)
        snprintf(list, sizeof list, "%s:%s", argv[1], others);
    else
        snprintf(list, sizeof list, "%s:%s", others, argv[1]);
    setenv("LD_PRELOAD", list, 1);
    setenv("QUOTA_IS_THERE", "1", 1);
    execv("/proc/self/exe", argv);
    REQUIRE(!"executed");
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 3);
    if (getenv("QUOTA_IS_THERE") == NULL)
        start_again(argv);
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
    const char *volatile nothing = NULL;
    printf("no name: %d\n", dlsym(driver, nothing) == NULL);
    int (*seen)(void) = NULL;
    void *found = dlsym(RTLD_DEFAULT, "quota_seen");
    memcpy(&seen, &found, sizeof seen);
    printf("copied: %d, seen: %d\n", memcmp(in, out, MIB) == 0, seen != NULL && seen() == 2);
    free(in);
    free(out);
    return 0;
}
