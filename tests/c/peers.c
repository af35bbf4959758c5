/* Two devices: contexts on both, copies between them. Run with two devices or more. */
#include "device.h"

enum { BYTES = 50000 };

int main(void)
{
    int count = 0, can = -1;
    CUcontext contexts[2] = {NULL, NULL};
    CUdeviceptr pointers[2];
    CUdevice device = -1;
    int ordinal = -1;
    unsigned char *in = new_bytes(BYTES, 5), *out = new_bytes(BYTES, 6);
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    REQUIRE(count >= 2);
    for (int i = 0; i < 2; i++) {
        OK(cuDevicePrimaryCtxRetain(&contexts[i], i));
        OK(cuCtxSetCurrent(contexts[i]));
        OK(cuCtxGetDevice(&device));
        REQUIRE(device == i);
        pointers[i] = new_device_bytes(BYTES);
        OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointers[i]));
        REQUIRE(ordinal == i);
    }
    REQUIRE(contexts[0] != contexts[1] && pointers[0] != pointers[1]);
    OK(cuDeviceCanAccessPeer(&can, 0, 1));
    REQUIRE(can == 1);
    OK(cuCtxEnablePeerAccess(contexts[0], 0));
    EXPECT(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(contexts[0], 0));
    OK(cuCtxSetCurrent(contexts[0]));
    CUstream stream = new_stream();
    OK(cuMemcpyHtoD(pointers[0], in, BYTES));
    OK(cuMemcpyPeerAsync(pointers[1], contexts[1], pointers[0], contexts[0], BYTES, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemsetD8(pointers[0], 0, BYTES));
    OK(cuMemcpyPeer(pointers[0], contexts[0], pointers[1], contexts[1], BYTES));
    OK(cuMemcpyDtoH(out, pointers[0], BYTES));
    REQUIRE(memcmp(in, out, BYTES) == 0);
    OK(cuStreamDestroy(stream));
    for (int i = 0; i < 2; i++) {
        OK(cuCtxSetCurrent(contexts[i]));
        OK(cuMemFree(pointers[i]));
        OK(cuDevicePrimaryCtxRelease(i));
    }
    free(in);
    free(out);
    return 0;
}
