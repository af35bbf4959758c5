/* The part of the CUDA driver API beyond cuda_mini.h that these programs use, declared by us. */
#ifndef MORE_H
#define MORE_H

#include "cuda_mini.h"

typedef struct CUgraphExec_st *CUgraphExec;

enum { CU_MEM_ATTACH_GLOBAL = 1 };
enum { CU_MEMCPY_SRC_ACCESS_ORDER_ANY = 3 };

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

#endif
