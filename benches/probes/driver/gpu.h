/* The context that a probe works in. */
#ifndef GPU_H
#define GPU_H

#include "ok.h"

/* The first GPU's primary context, current from now on. */
static inline CUcontext use_first_gpu(void)
{
    CUcontext context;
    CUdevice gpu;
    OK(cuInit(0));
    OK(cuDeviceGet(&gpu, 0));
    OK(cuDevicePrimaryCtxRetain(&context, gpu));
    OK(cuCtxSetCurrent(context));
    return context;
}

#endif
