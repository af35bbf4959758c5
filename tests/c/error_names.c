/* Names and texts of error codes. */
#include "check.h"

static void known(CUresult code, const char *name, const char *text)
{
    const char *seen = NULL;
    OK(cuGetErrorName(code, &seen));
    REQUIRE(strcmp(seen, name) == 0);
    seen = NULL;
    OK(cuGetErrorString(code, &seen));
    REQUIRE(strcmp(seen, text) == 0);
}

int main(void)
{
    const char *seen = "not yet written";
    known(CUDA_SUCCESS, "CUDA_SUCCESS", "no error");
    known(CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument");
    known(CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory");
    known(CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready");
    known(CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported");
    known(CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error");
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuGetErrorName(123456, &seen));
    REQUIRE(seen == NULL);
    seen = "not yet written";
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuGetErrorString(123456, &seen));
    REQUIRE(seen == NULL);
#ifdef SOFTWARE_GPU
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuGetErrorName(CUDA_SUCCESS, NULL));
#endif
    return 0;
}
