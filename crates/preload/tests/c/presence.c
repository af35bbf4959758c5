/* A program that asks whether the driver is there before it has loaded it, and asks the loader about it. */
#define _GNU_SOURCE
#include "driver.h"

int main(void)
{
    printf("before: %d %d %d\n", dlsym(RTLD_DEFAULT, "cuInit") != NULL, dlsym(RTLD_DEFAULT, "cuMemcpyHtoD_v2") != NULL,
           dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) != NULL);
    void *library = open_driver();
    printf("loaded, local: %d\n", dlsym(RTLD_DEFAULT, "cuInit") != NULL);
    printf("again: %d\n", dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) == library);
    REQUIRE(dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) == library);
    printf("global: %d\n", dlsym(RTLD_DEFAULT, "cuInit") != NULL);
    printf("not there: %d\n", dlopen("libcuda.so.7", RTLD_NOW) != NULL);
    return 0;
}
