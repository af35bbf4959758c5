/* An interposer with a quota, as container runtimes have: it exports a `dlsym` without a version, and functions of the
 * driver's that it answers lookups with. */
#define _GNU_SOURCE
#include "driver.h"

enum { QUOTA = 4 * MIB };

typedef void *(*Lookup)(void *, const char *);

static int seen;

int quota_seen(void);
int quota_seen(void)
{
    return seen;
}

static Lookup real_lookup(void)
{
    static const char *const versions[] = {"GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.34"};
    static void *real;
    for (size_t i = 0; real == NULL && i < sizeof versions / sizeof *versions; i++)
        real = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    REQUIRE(real != NULL);
    Lookup lookup = NULL;
    memcpy(&lookup, &real, sizeof lookup);
    return lookup;
}

CUresult cuMemAlloc(CUdeviceptr *pointer, size_t bytes)
{
    static __typeof__(&cuMemAlloc) real;
    if (real == NULL)
        real = (__typeof__(&cuMemAlloc))to_symbol(real_lookup()(open_driver(), "cuMemAlloc_v2"));
    seen++;
    return bytes > QUOTA ? CUDA_ERROR_OUT_OF_MEMORY : real(pointer, bytes);
}

/* glibc's own crashes where there is no name, this one does not. */
void *dlsym(void *handle, const char *name)
{
    const char *volatile given = name; /* the header promises one */
    if (given == NULL)
        return NULL;
    if (strcmp(name, "cuMemAlloc_v2") == 0) {
        void *own = NULL;
        __typeof__(&cuMemAlloc) function = cuMemAlloc;
        memcpy(&own, &function, sizeof own);
        return own;
    }
    return real_lookup()(handle, name);
}
