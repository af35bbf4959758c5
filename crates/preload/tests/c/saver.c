/* Takes device memory away from a program and gives it back, as torch_memory_saver does: allocations are mapped memory,
 * whose addresses stay while there is nothing behind them. What was in it is gone. */
#define _GNU_SOURCE
#include "driver.h"

enum { PIECE = 2 * MIB, PIECES = 64 };

static struct {
    CUdeviceptr start;
    size_t bytes;
    unsigned long long memory;
} all[PIECES];

static void put(size_t i)
{
    const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    OK(cuMemCreate(&all[i].memory, all[i].bytes, &properties, 0));
    OK(cuMemMap(all[i].start, all[i].bytes, 0, all[i].memory, 0));
    OK(cuMemSetAccess(all[i].start, all[i].bytes, &access, 1));
}

static void take(size_t i)
{
    OK(cuMemUnmap(all[i].start, all[i].bytes));
    OK(cuMemRelease(all[i].memory));
}

int saver_pause(void);
int saver_pause(void)
{
    int count = 0;
    for (size_t i = 0; i < PIECES; i++)
        if (all[i].start != 0)
            take(i), count++;
    return count;
}

int saver_resume(void);
int saver_resume(void)
{
    int count = 0;
    for (size_t i = 0; i < PIECES; i++)
        if (all[i].start != 0)
            put(i), count++;
    return count;
}

CUresult cuMemAlloc(CUdeviceptr *pointer, size_t bytes)
{
    size_t i = 0;
    while (i < PIECES && all[i].start != 0)
        i++;
    REQUIRE(i < PIECES);
    all[i].bytes = (bytes + PIECE - 1) / PIECE * PIECE;
    OK(cuMemAddressReserve(&all[i].start, all[i].bytes, 0, 0, 0));
    put(i);
    *pointer = all[i].start;
    return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr pointer)
{
    for (size_t i = 0; i < PIECES; i++) {
        if (all[i].start != pointer)
            continue;
        take(i);
        OK(cuMemAddressFree(pointer, all[i].bytes));
        all[i].start = 0;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}
