/* dlopen and dlsym: exact symbol names, no linking. */
#include "dlopened.h"

int main(void)
{
    void *library = open_driver();
    unsigned char in[1000], out[1000] = {0};
    CUdeviceptr pointer = 0;
    CUcontext context = NULL;
    CUstream stream = NULL;
    fill(in, sizeof in, 3);
    OK(FIND(library, cuInit)(0));
    OK(FIND(library, cuDevicePrimaryCtxRetain)(&context, 0));
    OK(FIND(library, cuCtxSetCurrent)(context));
    OK(FIND(library, cuMemAlloc)(&pointer, sizeof in));
    OK(FIND(library, cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    OK(FIND(library, cuMemcpyHtoDAsync)(pointer, in, sizeof in, stream));
    OK(FIND(library, cuMemcpyDtoHAsync)(out, pointer, sizeof out, stream));
    OK(FIND(library, cuStreamSynchronize)(stream));
    REQUIRE(memcmp(in, out, sizeof in) == 0);
    OK(FIND(library, cuMemFree)(pointer));
    OK(FIND(library, cuStreamDestroy)(stream));
    OK(FIND(library, cuDevicePrimaryCtxRelease)(0));
    REQUIRE(dlsym(library, "cuMemcpyHtoDAsync_v3") == NULL);
    REQUIRE(dlsym(library, "cudaMalloc") == NULL);
    REQUIRE(dlsym(library, "rust_eh_personality") == NULL);
    return 0;
}
