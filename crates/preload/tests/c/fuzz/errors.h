/* Invalid calls: the driver's errors must pass through. Their arguments name memory that no other operation uses. */
#ifndef ERRORS_H
#define ERRORS_H

#include "copies.h"

static inline void wrong_addresses(Part *part, CUstream stream)
{
    CUdeviceptr nowhere = 64;
    DO(cuMemcpyHtoDAsync(nowhere, part->scratch_pinned, SCRATCH_BYTES, stream));
    DO(cuMemcpyDtoHAsync(part->scratch_pinned, nowhere, SCRATCH_BYTES, stream));
    DO(cuMemcpyDtoDAsync(part->scratch, nowhere, SCRATCH_BYTES, stream));
    DO(cuMemcpyHtoD(nowhere, part->scratch_pinned, SCRATCH_BYTES));
    DO(cuMemcpyDtoH(part->scratch_pinned, nowhere, SCRATCH_BYTES));
    DO(cuMemsetD8Async(nowhere, 0, 5, stream));
}

static inline void wrong_sizes(Part *part, CUstream stream)
{
    DO(cuMemcpyHtoDAsync(part->scratch, part->scratch_pinned, 0, stream));
    DO(cuMemcpyDtoHAsync(part->scratch_pinned, part->scratch, 0, stream));
    DO(cuMemcpyHtoDAsync(part->scratch, part->scratch_pinned, (size_t)1 << 45, stream));
    DO(cuMemcpyDtoHAsync(part->scratch_pinned, part->scratch, (size_t)1 << 60, stream));
    DO(cuMemcpyHtoD(part->scratch, part->scratch_pinned, (size_t)1 << 60));
    DO(cuMemcpyAsync(part->scratch, (CUdeviceptr)(uintptr_t)part->scratch_pinned, (size_t)-1, stream));
}

static inline CUDA_MEMCPY3D scratch_box(Part *part, size_t width, size_t height, size_t depth)
{
    CUDA_MEMCPY3D box = {.WidthInBytes = width, .Height = height, .Depth = depth, .srcPitch = width};
    box.dstPitch = width, box.srcHeight = box.dstHeight = height;
    box.srcMemoryType = CU_MEMORYTYPE_HOST, box.srcHost = part->scratch_pinned;
    box.dstMemoryType = CU_MEMORYTYPE_DEVICE, box.dstDevice = part->scratch;
    return box;
}

static inline void wrong_shape(Part *part, CUstream stream, const CUDA_MEMCPY3D *box)
{
    CUDA_MEMCPY2D flat = face(box);
    DO(cuMemcpy2DAsync(&flat, stream));
    DO(cuMemcpy2DUnaligned(&flat));
    DO(cuMemcpy3DAsync(box, stream));
    DO(cuMemcpy3D(box));
}

static inline void wrong_shapes(Part *part, CUstream stream)
{
    CUDA_MEMCPY3D box = scratch_box(part, 100, 10, 2);
#ifdef SOFTWARE_GPU
    enum { WAYS = 6 };
#else
    enum { WAYS = 5 }; /* a real driver takes the last one for a copy of any length */
#endif
    switch (draw(part, WAYS)) {
    case 0:
        box.srcPitch = 99;
        break;
    case 1:
        box.srcMemoryType = 77;
        break;
    case 2:
        box.dstMemoryType = CU_MEMORYTYPE_ARRAY; /* and no array */
        break;
    case 3:
        box.Height = 0;
        break;
    case 4:
        box.WidthInBytes = 0;
        break;
    default: /* a number of bytes that fits in no word */
        box = scratch_box(part, 2 * MIB, ((size_t)1 << 43) + 1, 1);
    }
    wrong_shape(part, stream, &box);
}

static inline void wrong_memory(Part *part, CUstream stream)
{
    CUdeviceptr device = 0;
    void *host = NULL;
    DO(cuMemFree(part->scratch + 1));
    DO(cuMemFreeHost(part->scratch_pinned + 1));
    DO(cuMemHostUnregister(part->scratch_pinned + 1));
    DO(cuMemHostUnregister(part->buffers[REGISTERED_END].host));
    DO(cuMemHostRegister(part->buffers[PINNED_END].host, part->bytes, 0));
    DO(cuMemHostRegister(part->buffers[REGISTERED_END].host, 0, 0));
    DO(cuMemAlloc(&device, 0));
    DO(cuMemAlloc(&device, (size_t)1 << 50));
    DO(cuMemHostAlloc(&host, 0, 0));
    DO(cuMemAllocAsync(&device, 0, stream));
    DO(cuMemFreeAsync(part->scratch + 1, stream));
}

static inline void wrong_streams(Part *part, CUstream stream)
{
    CUstream made = NULL;
    CUevent event = NULL;
    CUgraph graph = NULL;
    DO(cuStreamCreate(&made, 77));
    DO(cuStreamCreateWithPriority(&made, 77, 0));
    DO(cuEventCreate(&event, 0x100));
    DO(cuStreamEndCapture(stream, &graph));
    DO(cuStreamBeginCapture(CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_RELAXED));
    DO(cuStreamWaitValue32(stream, part->scratch + 1, 0, CU_STREAM_WAIT_VALUE_GEQ));
#ifdef SOFTWARE_GPU /* a real driver may take it for a word that is mapped by the time it is written */
    DO(cuStreamWriteValue32(stream, 64, 0, CU_STREAM_WRITE_VALUE_DEFAULT));
#endif
}

static inline void wrong_batches(Part *part, CUstream stream)
{
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    size_t index = 0, failed = 77, sizes[2] = {SCRATCH_BYTES / 2, 0};
    CUdeviceptr half = SCRATCH_BYTES / 2, host = (CUdeviceptr)(uintptr_t)part->scratch_pinned;
    CUdeviceptr to[2] = {part->scratch, part->scratch + half}, from[2] = {host, host + half};
    __typeof__(&cuMemcpyBatchAsync_v2) batch = FIND(RTLD_DEFAULT, cuMemcpyBatchAsync_v2);
    __typeof__(&cuMemcpyBatchAsync_v1) older = FIND(RTLD_DEFAULT, cuMemcpyBatchAsync_v1);
    if (batch == NULL || older == NULL)
        return;
    DO(older(to, from, sizes, 2, &attributes, &index, 1, &failed, stream));
    note(&part->order.log, " failed %zu\n", failed);
    sizes[1] = 5;
    DO(batch(to, from, sizes, 2, &attributes, &index, 1, CU_STREAM_LEGACY));
    DO(batch(to, from, sizes, 0, &attributes, &index, 1, stream));
    attributes.srcAccessOrder = 99;
    DO(batch(to, from, sizes, 2, &attributes, &index, 1, stream));
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, sizes[1] = (size_t)1 << 45;
    DO(older(to, from, sizes, 2, &attributes, &index, 1, &failed, stream));
    note(&part->order.log, " failed %zu\n", failed);
}

/* A stale handle is no other stream's as long as no other thread makes one. */
static inline void stale_stream(Part *part)
{
    CUstream gone = new_stream();
    OK(cuStreamDestroy(gone));
    DO(cuMemcpyHtoDAsync(part->scratch, part->scratch_pinned, SCRATCH_BYTES, gone));
    DO(cuMemcpyDtoHAsync(part->scratch_pinned, part->scratch, 100, gone));
    DO(cuStreamSynchronize(gone));
    DO(cuStreamDestroy(gone));
}

/* Null outputs and stale handles: a real driver may do anything with them. */
static inline void wrong_pointers(Part *part, CUstream stream)
{
#ifdef SOFTWARE_GPU
    if (part->is_alone)
        stale_stream(part);
    DO(cuMemcpyHtoDAsync(part->scratch, part->scratch_pinned, SCRATCH_BYTES, (CUstream)(uintptr_t)0x5eed0));
    DO(cuStreamCreate(NULL, 0));
    DO(cuMemAlloc(NULL, 5));
    DO(cuMemHostAlloc(NULL, 5, 0));
    DO(cuMemcpy2DAsync(NULL, stream));
    DO(cuMemcpy3D(NULL));
    DO(cuMemcpyHtoDAsync(part->scratch, NULL, SCRATCH_BYTES, stream));
    DO(cuMemcpyDtoHAsync(NULL, part->scratch, SCRATCH_BYTES, stream));
    DO(cuCtxDestroy(NULL));
    DO(cuMemFree(0));
#else
    (void)part, (void)stream, (void)stale_stream;
#endif
}

static inline void errors(Part *part)
{
    static void (*const kinds[])(Part *, CUstream) = {wrong_addresses, wrong_sizes,   wrong_shapes,  wrong_memory,
                                                      wrong_streams,   wrong_batches, wrong_pointers};
    CUstream stream = handle(part, LEGACY + (int)draw(part, LANES - LEGACY));
    kinds[draw(part, sizeof kinds / sizeof *kinds)](part, stream);
}

#endif
