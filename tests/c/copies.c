/* One-dimensional copies and sets of every kind, compared byte by byte with the CPU's result. */
#include "device.h"

enum { ROOM = 300000, GUARD = 64 };

typedef struct {
    CUstream stream;
    CUdeviceptr first, second;
    unsigned char *pinned_in, *pinned_out;
} Bench;

static Bench new_bench(void)
{
    Bench bench = {new_stream(), new_device_bytes(ROOM), new_device_bytes(ROOM), new_pinned_bytes(ROOM),
                   new_pinned_bytes(ROOM)};
    return bench;
}

static void free_bench(Bench *bench)
{
    OK(cuMemFree(bench->first));
    OK(cuMemFree(bench->second));
    OK(cuMemFreeHost(bench->pinned_in));
    OK(cuMemFreeHost(bench->pinned_out));
    OK(cuStreamDestroy(bench->stream));
}

/* Every byte of the output: the copied range equals the input, and the guards around it are unchanged. */
static void require_copied(const unsigned char *out, const unsigned char *in, size_t bytes)
{
    for (size_t i = 0; i < GUARD; i++)
        REQUIRE(out[i] == 0xa5 && out[GUARD + bytes + i] == 0xa5);
    REQUIRE(memcmp(out + GUARD, in, bytes) == 0);
}

static void prepare(Bench *bench, size_t bytes, uint32_t seed)
{
    fill(bench->pinned_in, bytes, seed);
    memset(bench->pinned_out, 0xa5, ROOM);
    OK(cuMemsetD8Async(bench->first, 0x11, ROOM, bench->stream));
    OK(cuMemsetD8Async(bench->second, 0x22, ROOM, bench->stream));
    OK(cuStreamSynchronize(bench->stream));
}

static void async_kinds(Bench *bench, size_t bytes, size_t shift)
{
    prepare(bench, bytes, (uint32_t)(bytes + shift));
    OK(cuMemcpyHtoDAsync(bench->first + shift, bench->pinned_in, bytes, bench->stream));
    OK(cuMemcpyDtoDAsync(bench->second + 2 * shift, bench->first + shift, bytes, bench->stream));
    OK(cuMemcpyDtoHAsync(bench->pinned_out + GUARD, bench->second + 2 * shift, bytes, bench->stream));
    OK(cuStreamSynchronize(bench->stream));
    require_copied(bench->pinned_out, bench->pinned_in, bytes);
}

static void async_default_kind(Bench *bench, size_t bytes, size_t shift)
{
    CUdeviceptr in = device_side(bench->pinned_in), out = device_side(bench->pinned_out);
    prepare(bench, bytes, (uint32_t)(bytes + shift + 1));
    OK(cuMemcpyAsync(bench->first + shift, in, bytes, bench->stream));
    OK(cuMemcpyAsync(bench->second + shift, bench->first + shift, bytes, bench->stream));
    OK(cuMemcpyAsync(out + GUARD, bench->second + shift, bytes, bench->stream));
    OK(cuStreamSynchronize(bench->stream));
    require_copied(bench->pinned_out, bench->pinned_in, bytes);
}

static void sync_kinds(Bench *bench, size_t bytes, size_t shift)
{
    unsigned char *in = new_bytes(bytes + 1, (uint32_t)bytes), *out = new_bytes(bytes + 2 * GUARD, 1);
    memset(out, 0xa5, bytes + 2 * GUARD);
    OK(cuMemcpyHtoD(bench->first + shift, in, bytes));
    OK(cuMemcpyDtoD(bench->second + shift, bench->first + shift, bytes));
    /* A copy on the device need not have finished when the call returns; later work in the stream sees it. */
    OK(cuMemcpyDtoH(out + GUARD, bench->second + shift, bytes));
    require_copied(out, in, bytes);
    memset(out, 0xa5, bytes + 2 * GUARD);
    OK(cuMemcpy((CUdeviceptr)(uintptr_t)(out + GUARD), bench->first + shift, bytes));
    require_copied(out, in, bytes);
    free(in);
    free(out);
}

static void pageable_source_is_free_on_return(Bench *bench)
{
    size_t bytes = 100000;
    unsigned char *in = new_bytes(bytes, 7), *kept = new_bytes(bytes, 7);
    memset(bench->pinned_out, 0xa5, ROOM);
    OK(cuMemcpyHtoDAsync(bench->first, in, bytes, bench->stream));
    memset(in, 0, bytes);
    OK(cuMemcpyDtoHAsync(bench->pinned_out + GUARD, bench->first, bytes, bench->stream));
    OK(cuStreamSynchronize(bench->stream));
    require_copied(bench->pinned_out, kept, bytes);
    memset(in, 0, bytes);
    OK(cuMemcpyDtoHAsync(in, bench->first, bytes, bench->stream));
    REQUIRE(memcmp(in, kept, bytes) == 0);
    free(in);
    free(kept);
}

static void pinned_source_is_read_late(Bench *bench)
{
    Gate gate = new_gate();
    prepare(bench, 5000, 3);
    hold(gate, bench->stream);
    OK(cuMemcpyHtoDAsync(bench->first, bench->pinned_in, 5000, bench->stream));
    OK(cuMemcpyDtoHAsync(bench->pinned_out + GUARD, bench->first, 5000, bench->stream));
    fill(bench->pinned_in, 5000, 4);
    EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(bench->stream));
    REQUIRE(bench->pinned_out[GUARD] == 0xa5);
    open_gate(gate);
    OK(cuStreamSynchronize(bench->stream));
    require_copied(bench->pinned_out, bench->pinned_in, 5000);
    free_gate(gate);
}

static void read_back(Bench *bench, size_t bytes)
{
    memset(bench->pinned_out, 0xa5, ROOM);
    OK(cuMemcpyDtoHAsync(bench->pinned_out + GUARD, bench->first, bytes, bench->stream));
    OK(cuStreamSynchronize(bench->stream));
}

static void linear_sets(Bench *bench)
{
    unsigned char *want = calloc(1, ROOM);
    REQUIRE(want != NULL);
    OK(cuMemsetD8Async(bench->first, 0, ROOM, bench->stream));
    OK(cuMemsetD8Async(bench->first + 3, 0x5c, 101, bench->stream));
    memset(want + 3, 0x5c, 101);
    OK(cuMemsetD16Async(bench->first + 202, 0xbeef, 77, bench->stream));
    for (size_t i = 0; i < 77; i++)
        memcpy(want + 202 + 2 * i, &(uint16_t){0xbeef}, 2);
    OK(cuMemsetD32Async(bench->first + 404, 0x01020304, 33, bench->stream));
    for (size_t i = 0; i < 33; i++)
        memcpy(want + 404 + 4 * i, &(uint32_t){0x01020304}, 4);
    read_back(bench, 1000);
    require_copied(bench->pinned_out, want, 1000);
    OK(cuMemsetD8(bench->first, 0x31, 9));
    OK(cuMemsetD16(bench->first + 20, 0x3234, 1));
    OK(cuMemsetD32(bench->first + 40, 0x35363738, 2));
    OK(cuCtxSynchronize());
    memset(want, 0x31, 9);
    memcpy(want + 20, &(uint16_t){0x3234}, 2);
    memcpy(want + 40, &(uint32_t[2]){0x35363738, 0x35363738}, 8);
    read_back(bench, 1000);
    require_copied(bench->pinned_out, want, 1000);
    free(want);
}

static void plane_sets(Bench *bench)
{
    unsigned char *want = calloc(1, ROOM);
    REQUIRE(want != NULL);
    OK(cuMemsetD8Async(bench->first, 0, ROOM, bench->stream));
    OK(cuMemsetD2D8Async(bench->first + 1, 64, 0x7e, 13, 5, bench->stream));
    OK(cuMemsetD2D16Async(bench->first + 1024, 128, 0xa1b2, 7, 4, bench->stream));
    OK(cuMemsetD2D32Async(bench->first + 4096, 256, 0xc1c2c3c4, 9, 3, bench->stream));
    for (size_t row = 0; row < 5; row++)
        memset(want + 1 + 64 * row, 0x7e, 13);
    for (size_t row = 0; row < 4; row++)
        for (size_t i = 0; i < 7; i++)
            memcpy(want + 1024 + 128 * row + 2 * i, &(uint16_t){0xa1b2}, 2);
    for (size_t row = 0; row < 3; row++)
        for (size_t i = 0; i < 9; i++)
            memcpy(want + 4096 + 256 * row + 4 * i, &(uint32_t){0xc1c2c3c4}, 4);
    read_back(bench, 8192);
    require_copied(bench->pinned_out, want, 8192);
    OK(cuMemsetD2D8(bench->first, 16, 1, 16, 2));
    OK(cuMemsetD2D16(bench->first + 1024, 16, 0x0203, 8, 1));
    OK(cuMemsetD2D32(bench->first + 4096, 16, 0x04050607, 4, 2));
    OK(cuCtxSynchronize());
    memset(want, 1, 32);
    for (size_t i = 0; i < 8; i++)
        memcpy(want + 1024 + 2 * i, &(uint16_t){0x0203}, 2);
    for (size_t i = 0; i < 8; i++)
        memcpy(want + 4096 + 4 * i, &(uint32_t){0x04050607}, 4);
    read_back(bench, 8192);
    require_copied(bench->pinned_out, want, 8192);
    free(want);
}

static void batches(Bench *bench)
{
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    CUdeviceptr in = device_side(bench->pinned_in);
    CUdeviceptr targets[3] = {bench->first, bench->first + 5000, bench->second};
    CUdeviceptr sources[3] = {in, in + 5000, in + 9000};
    size_t bytes[3] = {5000, 4000, 123}, index = 0, failed = 99;
    prepare(bench, 10000, 21);
    OK(cuMemcpyBatchAsync_v1(targets, sources, bytes, 3, &attributes, &index, 1, &failed, bench->stream));
    read_back(bench, 9000);
    require_copied(bench->pinned_out, bench->pinned_in, 9000);
    prepare(bench, 10000, 22);
    OK(cuMemcpyBatchAsync_v2(targets, sources, bytes, 3, &attributes, &index, 1, bench->stream));
    read_back(bench, 9000);
    require_copied(bench->pinned_out, bench->pinned_in, 9000);
    targets[1] = bench->first + ROOM - 1;
    EXPECT(CUDA_ERROR_INVALID_VALUE,
           cuMemcpyBatchAsync_v1(targets, sources, bytes, 3, &attributes, &index, 1, &failed, bench->stream));
    REQUIRE(failed == 1);
    EXPECT(CUDA_ERROR_INVALID_VALUE,
           cuMemcpyBatchAsync_v2(targets, sources, bytes, 3, &attributes, &index, 1, bench->stream));
    targets[1] = bench->first;
    EXPECT(CUDA_ERROR_INVALID_VALUE,
           cuMemcpyBatchAsync_v1(targets, sources, bytes, 3, &attributes, &index, 1, &failed, CU_STREAM_LEGACY));
    REQUIRE(failed == SIZE_MAX); /* no single copy is to blame */
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync_v2(targets, sources, bytes, 3, NULL, NULL, 0, bench->stream));
#ifdef SOFTWARE_GPU
    EXPECT(CUDA_ERROR_INVALID_VALUE,
           cuMemcpyBatchAsync_v2(NULL, sources, bytes, 3, &attributes, &index, 1, bench->stream));
#endif
    OK(cuStreamSynchronize(bench->stream));
}

/* The source may be overwritten as soon as the call returns, even if it is pinned and the copy takes a millisecond. */
static void a_batch_that_consumes_its_source(CUstream stream)
{
    enum { BYTES = 32 << 20, SEEN = 4096 };
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL};
    unsigned char *pinned = new_pinned_bytes(BYTES), seen[SEEN];
    CUdeviceptr target = new_device_bytes(BYTES), source = device_side(pinned);
    size_t bytes = BYTES, index = 0;
    memset(pinned, 0x77, BYTES);
    OK(cuMemcpyBatchAsync_v2(&target, &source, &bytes, 1, &attributes, &index, 1, stream));
    memset(pinned, 0, SEEN);
    OK(cuMemcpyDtoHAsync(seen, target, SEEN, stream));
    OK(cuStreamSynchronize(stream));
    for (size_t i = 0; i < SEEN; i++)
        REQUIRE(seen[i] == 0x77);
    OK(cuMemFree(target));
    OK(cuMemFreeHost(pinned));
}

static void refusals(Bench *bench)
{
    OK(cuMemcpyHtoDAsync(bench->first, bench->pinned_in, 0, bench->stream));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoDAsync(bench->first + 1, bench->pinned_in, ROOM, bench->stream));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(bench->pinned_out, bench->first + 1, ROOM));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoDAsync(0, bench->pinned_in, 1, bench->stream));
#ifdef SOFTWARE_GPU
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(bench->first, NULL, 1));
#endif
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(bench->first, 0, ROOM + 1));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemsetD16(bench->first + 1, 0, 1));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(bench->first + 2, 0, 1));
    OK(cuStreamSynchronize(bench->stream));
}

int main(void)
{
    static const size_t sizes[] = {1, 3, 255, 4096, 65537, 100000};
    open_device();
    Bench bench = new_bench();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t shift = 0; shift < 20000; shift = 3 * shift + 1) {
            async_kinds(&bench, sizes[i], shift);
            async_default_kind(&bench, sizes[i], shift);
            sync_kinds(&bench, sizes[i], shift);
        }
    }
    pageable_source_is_free_on_return(&bench);
    pinned_source_is_read_late(&bench);
    linear_sets(&bench);
    plane_sets(&bench);
    batches(&bench);
    a_batch_that_consumes_its_source(bench.stream);
    refusals(&bench);
    free_bench(&bench);
    close_device();
    return 0;
}
