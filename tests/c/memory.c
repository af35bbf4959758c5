/* Allocation, pinning, and the driver's knowledge about an address. */
#include "device.h"

static void device_memory(void)
{
    size_t before = 0, during = 0, after = 0, total = 0;
    CUdeviceptr pointer = UNTOUCHED;
    OK(cuMemGetInfo(&before, &total));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&pointer, 0));
    EXPECT(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&pointer, total + 1));
    REQUIRE_UNTOUCHED(pointer == UNTOUCHED);
    /* A driver that runs out of memory first frees the memory that it kept for destroyed streams. */
    OK(cuMemGetInfo(&before, &total));
    REQUIRE(before <= total);
    OK(cuMemAlloc(&pointer, 64 << 20));
    OK(cuMemGetInfo(&during, &total));
    REQUIRE(before - during >= 64 << 20);
    OK(cuMemFree(pointer));
    OK(cuMemGetInfo(&after, &total));
    REQUIRE(after == before);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFree(pointer));
    OK(cuMemFree(0));
}

/* Memory that is freed in a stream stays valid until the stream reaches the free. */
static void memory_in_stream_order(void)
{
    Gate gate = new_gate();
    CUstream stream = new_stream(), other = new_stream();
    CUdeviceptr pointer = 0;
    unsigned char *seen = new_pinned_bytes(1000);
    OK(cuMemAllocAsync(&pointer, 1000, stream));
    REQUIRE(pointer != 0);
    hold(gate, stream);
    OK(cuMemsetD8Async(pointer, 0x3c, 1000, stream));
    OK(cuMemcpyDtoHAsync(seen, pointer, 1000, stream));
    OK(cuMemFreeAsync(pointer, stream));
    EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    /* Yet later calls may not name it any more, even in front of the free. */
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoHAsync(seen, pointer, 1000, other));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemsetD8Async(pointer, 1, 1000, other));
    open_gate(gate);
    OK(cuStreamSynchronize(stream));
    REQUIRE(seen[0] == 0x3c && seen[999] == 0x3c);
#ifdef SOFTWARE_GPU
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(seen, pointer, 1));
#endif
    OK(cuStreamDestroy(stream));
    OK(cuStreamDestroy(other));
    OK(cuMemFreeHost(seen));
    free_gate(gate);
}

static void pinned_memory(void)
{
    void *pinned = NULL, *other = NULL;
    OK(cuMemHostAlloc(&pinned, 12345, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemAllocHost(&other, 999));
    memset(pinned, 1, 12345);
    memset(other, 2, 999);
    REQUIRE(device_side(pinned) != 0);
    OK(cuMemFreeHost(pinned));
    OK(cuMemFreeHost(other));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemHostAlloc(&pinned, 64, 1u << 6));
    OK(cuMemFreeHost(NULL));
#ifdef SOFTWARE_GPU
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemHostAlloc(NULL, 64, 0));
#endif
}

static void registration(void)
{
    enum { BYTES = 8192 };
    unsigned char *plain = new_bytes(BYTES, 31), *back = new_bytes(BYTES, 32);
    CUdeviceptr device = new_device_bytes(BYTES), mapped = 0;
    CUstream stream = new_stream();
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemHostGetDevicePointer(&mapped, plain, 0));
    OK(cuMemHostRegister(plain, BYTES, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
    EXPECT(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(plain, BYTES, 0));
    REQUIRE(device_side(plain + 100) == device_side(plain) + 100);
    OK(cuMemcpyHtoDAsync(device, plain, BYTES, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemHostUnregister(plain));
    EXPECT(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(plain));
    OK(cuMemcpyDtoH(back, device, BYTES));
    REQUIRE(memcmp(plain, back, BYTES) == 0);
    OK(cuMemFree(device));
    OK(cuStreamDestroy(stream));
    free(plain);
    free(back);
}

static void ranges(void)
{
    CUdeviceptr device = new_device_bytes(1000), base = 0, start = 0;
    size_t bytes = 0, size = 0;
    OK(cuMemGetAddressRange(&base, &bytes, device + 999));
    REQUIRE(base == device && bytes == 1000);
    OK(cuMemGetAddressRange(NULL, &bytes, device));
    OK(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, device + 500));
    OK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, device + 500));
    REQUIRE(start == device && size == 1000);
    OK(cuMemFree(device));
    EXPECT(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &bytes, (CUdeviceptr)(uintptr_t)&base));
}

static void attributes_one_by_one(CUcontext context)
{
    CUdeviceptr device = new_device_bytes(256), pointer = 0;
    void *pinned = new_pinned_bytes(256), *host = NULL;
    unsigned int type = 99;
    int ordinal = -1;
    unsigned long long first = 0, second = 0;
    CUcontext owner = NULL;
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 10));
    REQUIRE(type == CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&pointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, device + 10));
    REQUIRE(pointer == device + 10);
    OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device));
    REQUIRE(ordinal == 0);
    OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, device));
    REQUIRE(owner == context);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, device));
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)pinned));
    REQUIRE(type == CU_MEMORYTYPE_HOST);
    OK(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, (CUdeviceptr)(uintptr_t)pinned + 8));
    REQUIRE(host == (char *)pinned + 8);
    OK(cuPointerGetAttribute(&first, CU_POINTER_ATTRIBUTE_BUFFER_ID, device));
    OK(cuPointerGetAttribute(&second, CU_POINTER_ATTRIBUTE_BUFFER_ID, (CUdeviceptr)(uintptr_t)pinned));
    REQUIRE(first != 0 && second != 0 && first != second);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device));
    EXPECT(CUDA_ERROR_INVALID_VALUE,
           cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)&type));
    OK(cuMemFree(device));
    OK(cuMemFreeHost(pinned));
}

/* For plain memory the plural form succeeds and reports that nothing is known. */
static void attributes_together(CUcontext context)
{
    unsigned int type = 99, managed = 99;
    CUcontext owner = NULL;
    CUdeviceptr device = new_device_bytes(256);
    int names[3] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_CONTEXT};
    void *values[3] = {&type, &managed, &owner};
    OK(cuPointerGetAttributes(3, names, values, device));
    REQUIRE(type == CU_MEMORYTYPE_DEVICE && managed == 0 && owner == context);
    OK(cuPointerGetAttributes(3, names, values, (CUdeviceptr)(uintptr_t)&type));
    REQUIRE(type == 0 && managed == 0 && owner == NULL);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttributes(3, NULL, values, device));
    OK(cuMemFree(device));
}

int main(void)
{
    CUcontext context = open_device();
    device_memory();
    memory_in_stream_order();
    pinned_memory();
    registration();
    ranges();
    attributes_one_by_one(context);
    attributes_together(context);
    close_device();
    return 0;
}
