/* Streams: priorities and their clamping, flags, context, refusals. */
#include "device.h"

static void priorities(void)
{
    int least = 99, greatest = 99;
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    REQUIRE(least == 0 && greatest < least);
    OK(cuCtxGetStreamPriorityRange(NULL, NULL));
    for (int asked = greatest - 3; asked <= least + 3; asked++) {
        int seen = 99, want = asked < greatest ? greatest : asked > least ? least : asked;
        CUstream stream = NULL;
        OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, asked));
        OK(cuStreamGetPriority(stream, &seen));
        REQUIRE(seen == want);
        OK(cuStreamDestroy(stream));
    }
}

static void flags_and_context(CUcontext context)
{
    CUstream blocking = NULL, other = NULL;
    CUcontext seen = NULL;
    unsigned int flags = 99;
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    OK(cuStreamGetFlags(blocking, &flags));
    REQUIRE(flags == CU_STREAM_DEFAULT);
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuStreamGetFlags(other, &flags));
    REQUIRE(flags == CU_STREAM_NON_BLOCKING && other != blocking);
    OK(cuStreamGetCtx(other, &seen));
    REQUIRE(seen == context);
    seen = NULL;
    OK(cuStreamGetCtx(NULL, &seen));
    REQUIRE(seen == context);
    OK(cuStreamDestroy(blocking));
    OK(cuStreamDestroy(other));
}

/* Work on the legacy stream waits for every blocking stream, and for no other. */
static void legacy_stream_joins_blocking_streams(void)
{
    Gate gate = new_gate();
    CUstream blocking = NULL, apart = new_stream();
    CUdeviceptr word = new_device_bytes(4);
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    hold(gate, apart);
    OK(cuMemsetD8Async(word, 1, 4, CU_STREAM_LEGACY));
    OK(cuStreamSynchronize(CU_STREAM_LEGACY));
    open_gate(gate);
    OK(cuStreamSynchronize(apart));
    store_word(gate.word, 0);
    hold(gate, blocking);
    OK(cuMemsetD8Async(word, 2, 4, CU_STREAM_LEGACY));
    EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(CU_STREAM_LEGACY));
    open_gate(gate);
    OK(cuStreamSynchronize(CU_STREAM_LEGACY));
    OK(cuStreamQuery(blocking));
    OK(cuMemFree(word));
    OK(cuStreamDestroy(blocking));
    OK(cuStreamDestroy(apart));
    free_gate(gate);
}

static void refusals(void)
{
    CUstream stream = (CUstream)UNTOUCHED;
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(NULL, CU_STREAM_DEFAULT));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(&stream, 1u << 20));
    REQUIRE_UNTOUCHED(stream == (CUstream)UNTOUCHED);
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(NULL));
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(CU_STREAM_LEGACY));
#ifdef SOFTWARE_GPU
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamGetPriority(CU_STREAM_LEGACY, NULL));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamGetFlags(CU_STREAM_LEGACY, NULL));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamDestroy(stream));
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(stream));
#endif
}

int main(void)
{
    CUcontext context = open_device();
    priorities();
    flags_and_context(context);
    legacy_stream_joins_blocking_streams();
    refusals();
    close_device();
    return 0;
}
