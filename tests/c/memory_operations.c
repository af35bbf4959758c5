/* Stream memory operations: waits that the CPU opens, writes that a polling CPU thread sees. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <time.h>

#include "device.h"

static void nap(long microseconds)
{
    struct timespec span = {.tv_nsec = microseconds * 1000};
    nanosleep(&span, NULL);
}

static void require_held(CUstream stream)
{
    nap(3000);
    EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
}

static void conditions_32(CUstream stream, uint32_t *word)
{
    static const struct {
        unsigned int condition;
        uint32_t value, closed, open;
    } rows[] = {
        {CU_STREAM_WAIT_VALUE_EQ, 7, 6, 7},           {CU_STREAM_WAIT_VALUE_GEQ, 5, 4, 9},
        {CU_STREAM_WAIT_VALUE_GEQ, 0xfffffff0u, 0xffffffefu, 3}, /* cyclic: 3 comes after 0xfffffff0 */
        {CU_STREAM_WAIT_VALUE_AND, 0x10, 0x0f, 0x30}, {CU_STREAM_WAIT_VALUE_NOR, 0x0f, 0xfffffff0u, 0xffffff70u},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        store_word(word, rows[i].closed);
        OK(cuStreamWaitValue32(stream, device_side(word), rows[i].value, rows[i].condition));
        require_held(stream);
        store_word(word, rows[i].open);
        OK(cuStreamSynchronize(stream));
    }
}

static void conditions_64(CUstream stream, uint64_t *word)
{
    _Atomic uint64_t *cell = (_Atomic uint64_t *)word;
    atomic_store(cell, 7); /* the low half alone must not do */
    OK(cuStreamWaitValue64(stream, device_side(word), 0x900000007ULL, CU_STREAM_WAIT_VALUE_EQ));
    require_held(stream);
    atomic_store(cell, 0x900000007ULL);
    OK(cuStreamSynchronize(stream));
    OK(cuStreamWriteValue64(stream, device_side(word), 0x1122334455667788ULL, CU_STREAM_WRITE_VALUE_DEFAULT));
    OK(cuStreamSynchronize(stream));
    REQUIRE(atomic_load(cell) == 0x1122334455667788ULL);
}

typedef struct {
    uint32_t *word;
    const unsigned char *bytes, *want;
    size_t count;
    int same;
} Watch;

static void *poll_word(void *argument)
{
    Watch *watch = argument;
    while (load_word(watch->word) != 0xc0ffee)
        nap(20);
    watch->same = memcmp(watch->bytes, watch->want, watch->count) == 0;
    return NULL;
}

/* A thread that polls the word and nothing else finds the bytes of the copy before it. */
static void completion_word_comes_after_the_copy(CUstream stream, uint32_t *word)
{
    enum { BYTES = 4 << 20 };
    pthread_t thread;
    CUdeviceptr device = new_device_bytes(BYTES);
    unsigned char *want = new_bytes(BYTES, 12), *pinned = new_pinned_bytes(BYTES);
    Watch watch = {.word = word, .bytes = pinned, .want = want, .count = BYTES};
    store_word(word, 0);
    OK(cuMemcpyHtoD(device, want, BYTES));
    REQUIRE(pthread_create(&thread, NULL, poll_word, &watch) == 0);
    OK(cuMemcpyDtoHAsync(pinned, device, BYTES, stream));
    OK(cuStreamWriteValue32(stream, device_side(word), 0xc0ffee, CU_STREAM_WRITE_VALUE_DEFAULT));
    REQUIRE(pthread_join(thread, NULL) == 0);
    REQUIRE(watch.same);
    OK(cuStreamSynchronize(stream));
    OK(cuMemFree(device));
    OK(cuMemFreeHost(pinned));
    free(want);
}

static CUstreamBatchMemOpParams operation_32(unsigned int kind, CUdeviceptr address, uint32_t value, unsigned int flags)
{
    CUstreamBatchMemOpParams operation;
    memset(&operation, 0, sizeof operation);
    operation.waitValue.operation = kind;
    operation.waitValue.address = address;
    operation.waitValue.value = value;
    operation.waitValue.flags = flags;
    return operation;
}

static void batches(CUstream stream, uint32_t *words)
{
    CUdeviceptr base = device_side(words);
    CUstreamBatchMemOpParams operations[3] = {
        operation_32(CU_STREAM_MEM_OP_WRITE_VALUE_32, base + 4, 41, 0),
        operation_32(CU_STREAM_MEM_OP_WAIT_VALUE_32, base, 1, CU_STREAM_WAIT_VALUE_GEQ),
        operation_32(CU_STREAM_MEM_OP_WRITE_VALUE_64, base + 8, 0, 0),
    };
    operations[2].writeValue.value64 = 0xaabbccddeeff0011ULL;
    memset(words, 0, 16);
    OK(cuStreamBatchMemOp(stream, 3, operations, 0));
    while (load_word(&words[1]) != 41)
        nap(20);
    require_held(stream);
    REQUIRE(load_word(&words[2]) == 0);
    store_word(&words[0], 1);
    OK(cuStreamSynchronize(stream));
    REQUIRE(load_word(&words[2]) == 0xeeff0011u && load_word(&words[3]) == 0xaabbccddu);
    operations[1].operation = 99;
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(stream, 3, operations, 0));
    operations[1].operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuStreamBatchMemOp(stream, 3, operations, 0));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(stream, 1, operations, 1));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(stream, 256, operations, 0));
    OK(cuStreamBatchMemOp(stream, 0, operations, 0));
#ifdef SOFTWARE_GPU
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(stream, 3, NULL, 0));
#endif
    OK(cuStreamSynchronize(stream));
}

/* The word lies in device memory: one stream opens the other. */
static void device_words(CUstream first, CUstream second)
{
    CUdeviceptr word = new_device_bytes(8);
    OK(cuMemsetD32(word, 0, 2));
    OK(cuCtxSynchronize());
    OK(cuStreamWaitValue32(first, word, 3, CU_STREAM_WAIT_VALUE_EQ));
    require_held(first);
    OK(cuStreamQuery(second)); /* a wait holds its own stream alone */
    OK(cuStreamWriteValue32(second, word, 3, CU_STREAM_WRITE_VALUE_DEFAULT));
    OK(cuStreamSynchronize(first));
    OK(cuStreamSynchronize(second));
    OK(cuMemFree(word));
}

static void refusals(CUstream stream, uint32_t *word)
{
    CUdeviceptr address = device_side(word);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(stream, address + 2, 0, CU_STREAM_WAIT_VALUE_EQ));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue64(stream, address + 4, 0, CU_STREAM_WAIT_VALUE_EQ));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(stream, 0, 0, CU_STREAM_WRITE_VALUE_DEFAULT));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(stream, address, 0, 1u << 29));
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuStreamWaitValue32(stream, address, 0, 1u << 30)); /* a flush */
    /* As the H100's driver does, although the manual permits it. */
    EXPECT(CUDA_ERROR_INVALID_VALUE,
           cuStreamWriteValue32(stream, address, 0, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
    OK(cuStreamSynchronize(stream));
}

int main(void)
{
    open_device();
    CUstream first = new_stream(), second = new_stream();
    uint32_t *words = new_pinned_bytes(64);
    conditions_32(first, words);
    conditions_64(first, (uint64_t *)words);
    completion_word_comes_after_the_copy(first, words);
    batches(first, words);
    device_words(first, second);
    refusals(first, words);
    OK(cuMemFreeHost(words));
    OK(cuStreamDestroy(first));
    OK(cuStreamDestroy(second));
    close_device();
    return 0;
}
