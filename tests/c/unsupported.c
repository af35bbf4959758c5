/* The software GPU refuses unsupported calls as documented, and writes nothing. For the software GPU only. */
#include "device.h"

typedef struct CUmemPool_st *CUmemoryPool;

CUresult cuGraphCreate(CUgraph *graph, unsigned int flags);
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device);
CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function);

int main(void)
{
    CUdeviceptr managed = UNTOUCHED;
    CUgraph graph = (CUgraph)UNTOUCHED;
    CUmemoryPool pool = (CUmemoryPool)UNTOUCHED;
    int value = 99;
    EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuMemAllocManaged(&managed, 4096, 1));
    open_device();
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuMemAllocManaged(&managed, 4096, 1));
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuGraphCreate(&graph, 0));
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuDeviceGetDefaultMemPool(&pool, 0));
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuFuncGetAttribute(&value, 0, NULL));
    REQUIRE(managed == UNTOUCHED && graph == (CUgraph)UNTOUCHED && pool == (CUmemoryPool)UNTOUCHED && value == 99);
    close_device();
    return 0;
}
