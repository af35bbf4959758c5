/* The part of the CUDA driver API beyond cuda_mini.h that these programs use, declared by us. */
#ifndef MORE_H
#define MORE_H

#include "cuda_mini.h"

typedef struct CUgraphExec_st *CUgraphExec;

enum { CU_MEM_ATTACH_GLOBAL = 1 };
enum { CU_MEMCPY_SRC_ACCESS_ORDER_ANY = 3 };

/* Memory that is mapped piece by piece. */
enum { CU_MEM_ALLOCATION_TYPE_PINNED = 1, CU_MEM_LOCATION_TYPE_DEVICE = 1 };
enum { CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3 };
enum { CU_MEMHOSTREGISTER_READ_ONLY = 8 };

typedef struct {
    int type, requestedHandleTypes;
    CUmemLocation location;
    void *win32HandleMetaData;
    unsigned char allocFlags[8];
} CUmemAllocationProp;

typedef struct {
    CUmemLocation location;
    int flags;
} CUmemAccessDesc;

#define cuGraphLaunch MINI_PTSZ(cuGraphLaunch)
#define cuDevicePrimaryCtxReset cuDevicePrimaryCtxReset_v2

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count);
CUresult cuGraphNodeGetType(CUgraphNode node, int *type);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph, unsigned long long flags);
CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream);
CUresult cuGraphExecDestroy(CUgraphExec executable);
CUresult cuDevicePrimaryCtxReset(CUdevice device);
CUresult cuCtxAttach(CUcontext *context, unsigned int flags);
CUresult cuCtxDetach(CUcontext context);
CUresult cuMemAddressReserve(CUdeviceptr *start, size_t bytes, size_t alignment, CUdeviceptr wish,
                             unsigned long long flags);
CUresult cuMemAddressFree(CUdeviceptr start, size_t bytes);
CUresult cuMemCreate(unsigned long long *handle, size_t bytes, const CUmemAllocationProp *properties,
                     unsigned long long flags);
CUresult cuMemRelease(unsigned long long handle);
CUresult cuMemMap(CUdeviceptr start, size_t bytes, size_t offset, unsigned long long handle,
                  unsigned long long flags);
CUresult cuMemUnmap(CUdeviceptr start, size_t bytes);
CUresult cuMemSetAccess(CUdeviceptr start, size_t bytes, const CUmemAccessDesc *access, size_t count);

#endif
