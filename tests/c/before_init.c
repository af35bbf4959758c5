/* Before cuInit only functions that need no device work. */
#include "check.h"

static void refused_before_init(void)
{
    CUdeviceptr pointer = UNTOUCHED;
    CUcontext context = (CUcontext)UNTOUCHED;
    CUstream stream = (CUstream)UNTOUCHED;
    CUevent event = (CUevent)UNTOUCHED;
    CUmodule module = (CUmodule)UNTOUCHED;
    int count = -1;
    unsigned char byte = 0;
    EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
    EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGet(&count, 0));
    EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuDevicePrimaryCtxRetain(&context, 0));
    EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuCtxCreate_v2(&context, 0, 0));
    EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuCtxGetCurrent(&context));
    EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuCtxSynchronize());
    EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc(&pointer, 64));
    EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc(NULL, 64));
    EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuMemcpyHtoD(0, &byte, 1));
    EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuMemsetD8(0, 0, 1));
    EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuStreamCreate(&stream, 0));
    EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuStreamSynchronize(NULL));
    EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuEventCreate(&event, 0));
    EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuModuleLoadData(&module, ""));
    REQUIRE_UNTOUCHED(count == -1 && pointer == UNTOUCHED && context == (CUcontext)UNTOUCHED);
    REQUIRE_UNTOUCHED(stream == (CUstream)UNTOUCHED && event == (CUevent)UNTOUCHED && module == (CUmodule)UNTOUCHED);
}

static void answered_before_init(void)
{
    int version = 0, status = 99;
    const char *name = NULL;
    void *function = NULL;
    OK(cuDriverGetVersion(&version));
    REQUIRE(version >= 13000);
    OK(cuGetErrorName(CUDA_ERROR_NOT_INITIALIZED, &name));
    REQUIRE(strcmp(name, "CUDA_ERROR_NOT_INITIALIZED") == 0);
    OK(cuGetProcAddress_v2("cuInit", &function, 13000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    REQUIRE(function != NULL && status == CU_GET_PROC_ADDRESS_SUCCESS);
}

int main(void)
{
    int count = 0;
    refused_before_init();
    answered_before_init();
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuDriverGetVersion(NULL));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuInit(1));
    EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
    OK(cuInit(0));
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    REQUIRE(count >= 1);
    return 0;
}
