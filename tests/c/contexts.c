/* Devices and contexts: the current context, the stack, the primary context. */
#include "device.h"

static void devices(void)
{
    int count = 0, value = 0, version = 0;
    size_t total = 0, available = 0;
    char name[64], cut[5];
    CUuuid first, second;
    CUdevice device = -1;
    OK(cuDriverGetVersion(&version));
    REQUIRE(version == 13000);
    OK(cuDeviceGetCount(&count));
    REQUIRE(count >= 1);
    OK(cuDeviceGetName(name, sizeof name, 0));
    REQUIRE(strlen(name) > 4);
    memset(cut, 'x', sizeof cut);
    OK(cuDeviceGetName(cut, 4, 0));
    REQUIRE(memcmp(cut, name, 3) == 0 && cut[3] == 0 && cut[4] == 'x');
    OK(cuDeviceGetUuid(&first, 0));
    OK(cuDeviceGetUuid(&second, 0));
    REQUIRE(memcmp(&first, &second, sizeof first) == 0);
    OK(cuDeviceTotalMem(&total, 0));
    REQUIRE(total > (1u << 30));
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    REQUIRE(value > 0);
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 0));
    REQUIRE(value == 1);
    EXPECT(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, count));
    EXPECT(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, -1));
    REQUIRE(device == -1);
    EXPECT(CUDA_ERROR_INVALID_DEVICE, cuDeviceTotalMem(&total, count));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuDeviceGetName(NULL, 4, 0));
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuMemGetInfo(&available, &total));
}

static CUcontext current(void)
{
    CUcontext context = (CUcontext)UNTOUCHED;
    OK(cuCtxGetCurrent(&context));
    return context;
}

static void nothing_current(void)
{
    CUdeviceptr pointer = UNTOUCHED;
    CUdevice device = -1;
    CUcontext popped = NULL;
    CUstream stream = NULL;
    REQUIRE(current() == NULL);
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&pointer, 64));
    REQUIRE_UNTOUCHED(pointer == UNTOUCHED);
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetDevice(&device));
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent(&popped));
}

static void the_stack(void)
{
    CUcontext first = NULL, second = NULL, popped = NULL;
    OK(cuCtxCreate_v2(&first, 0, 0));
    REQUIRE(current() == first);
    OK(cuCtxCreate_v2(&second, 0, 0));
    REQUIRE(current() == second && second != first);
    OK(cuCtxPopCurrent(&popped));
    REQUIRE(popped == second && current() == first);
    OK(cuCtxPushCurrent(second));
    OK(cuCtxPushCurrent(second));
    OK(cuCtxPopCurrent(NULL));
    REQUIRE(current() == second);
    OK(cuCtxDestroy(second)); /* current: destroying it pops it */
    REQUIRE(current() == first);
    OK(cuCtxPopCurrent(&popped));
    REQUIRE(popped == first && current() == NULL);
    OK(cuCtxSetCurrent(first));
    REQUIRE(current() == first);
    OK(cuCtxSetCurrent(NULL));
    REQUIRE(current() == NULL);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuCtxPushCurrent(NULL));
    OK(cuCtxDestroy(first));
}

/* Flags say how calls wait for the device. The driver adds some of its own. */
static void flags(void)
{
    CUcontext spins = NULL, sleeps = NULL;
    unsigned int there = 99;
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetFlags(&there));
    OK(cuCtxCreate_v2(&spins, 1, 0));
    OK(cuCtxCreate_v2(&sleeps, 4, 0));
    OK(cuCtxGetFlags(&there));
    REQUIRE((there & 7) == 4);
    OK(cuCtxDestroy(sleeps));
    OK(cuCtxGetFlags(&there));
    REQUIRE((there & 7) == 1);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuCtxGetFlags(NULL));
    OK(cuCtxDestroy(spins));
}

static int primary_is_active(void)
{
    unsigned int flags = 99;
    int active = 99;
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    REQUIRE(flags == 0);
    return active;
}

static void the_primary_context(void)
{
    CUcontext first = NULL, second = NULL;
    CUdevice device = -1;
    REQUIRE(!primary_is_active());
    OK(cuDevicePrimaryCtxRetain(&first, 0));
    OK(cuDevicePrimaryCtxRetain(&second, 0));
    REQUIRE(first != NULL && first == second && current() == NULL);
    OK(cuCtxSetCurrent(first));
    OK(cuCtxGetDevice(&device));
    REQUIRE(device == 0);
    OK(cuCtxSynchronize());
    OK(cuCtxSetCurrent(NULL));
    OK(cuDevicePrimaryCtxRelease(0));
    REQUIRE(primary_is_active());
    OK(cuDevicePrimaryCtxRelease(0));
    REQUIRE(!primary_is_active());
    EXPECT(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxRetain(&first, 99));
}

int main(void)
{
    OK(cuInit(0));
    devices();
    nothing_current();
    the_stack();
    flags();
    the_primary_context();
    return 0;
}
