/* The scenario on pointers that were found as programs find them; LOOKUP chooses a way. */
#define _GNU_SOURCE
#include "scenario.h"

/* LOOKUP: 0 linked, 1 by name, 2 by cuGetProcAddress_v2, 3 by the older cuGetProcAddress. */

#if LOOKUP == 0
static Driver driver(void)
{
    Driver d;
#define TAKE(base, function, version) d.function = &function;
    DRIVER_FUNCTIONS(TAKE)
    DRIVER_BATCHES(TAKE)
    return d;
}
#else
static void *library;

static void *by_name(const char *base, const char *symbol, int version)
{
    (void)base, (void)version;
    return dlsym(library, symbol);
}

static void *by_proc_address(const char *base, const char *symbol, int version)
{
    void *address = NULL;
    int status = 99;
    (void)symbol;
    OK(FIND(library, cuGetProcAddress_v2)(base, &address, version, DRIVER_FLAGS, &status));
    REQUIRE((address != NULL) == (status == CU_GET_PROC_ADDRESS_SUCCESS));
    return address;
}

static void *by_old_proc_address(const char *base, const char *symbol, int version)
{
    void *address = NULL;
    CUresult code = FIND(library, cuGetProcAddress)(base, &address, version, DRIVER_FLAGS);
    (void)symbol;
    REQUIRE((address != NULL) == (code == CUDA_SUCCESS));
    return address;
}

static Driver driver(void)
{
    static const Finder finders[] = {NULL, by_name, by_proc_address, by_old_proc_address};
    library = open_driver();
    return find_driver(finders[LOOKUP]);
}
#endif

int main(void)
{
    Driver d = driver();
    run_scenario(&d);
    return 0;
}
