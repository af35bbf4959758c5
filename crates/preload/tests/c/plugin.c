/* A plugin: uses the driver through its own lookups, and at its start and end if the arguments ask for that. */
#define _GNU_SOURCE
#include "scenario.h"

static void *library;

static void *by_name(const char *base, const char *symbol, int version)
{
    (void)base, (void)version;
    return dlsym(library, symbol);
}

void run_plugin(void);
void run_plugin(void)
{
    library = open_driver();
    Driver driver = find_driver(by_name);
    run_scenario(&driver);
}

static int count_devices(void)
{
    int count = -1;
    CUresult code = FIND(open_driver(), cuDeviceGetCount)(&count);
    return code == CUDA_SUCCESS ? count : -(int)code;
}

__attribute__((constructor)) static void loaded(void)
{
    if (getenv("PLUGIN_SPEAKS") != NULL) {
        printf("plugin loaded: %d\n", count_devices());
        FIND(open_driver(), cuInit)(0);
        printf("plugin has initialised: %d\n", count_devices());
    }
}

__attribute__((destructor)) static void unloaded(void)
{
    if (getenv("PLUGIN_SPEAKS") != NULL) {
        printf("plugin goes: %d\n", count_devices());
        fflush(stdout);
    }
}
