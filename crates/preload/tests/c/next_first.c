/* Comes before next_second in the search order: both libraries have the functions, and each calls the next one of a
 * name. */
#define _GNU_SOURCE
#include "driver.h"

int chained(int depth);
int chained(int depth)
{
    if (depth > 100)
        return -1; /* it found itself */
    __typeof__(&chained) next = (__typeof__(&chained))to_symbol(dlsym(RTLD_NEXT, "chained"));
    return next == NULL ? -2 : 10 + next(depth + 1);
}

int copies_seen(void);
static int seen;

int copies_seen(void)
{
    return seen;
}

/* An unrelated interposer between the program and the driver. */
CUresult cuMemcpyHtoD(CUdeviceptr target, const void *source, size_t bytes)
{
    __typeof__(&cuMemcpyHtoD) next = FIND(RTLD_NEXT, cuMemcpyHtoD);
    REQUIRE(++seen < 100); /* it found itself */
    return next == NULL ? CUDA_ERROR_UNKNOWN : next(target, source, bytes);
}
