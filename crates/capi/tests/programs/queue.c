/* Copy queues through the C ABI: every byte arrives, the copies of a flush share one launch, sets repeat their value,
 * wrong calls are refused, and literal queues refuse more. */
#include "expect.h"

enum { COPIES = 200, SMALL = 4 << 10, LARGE = 300 << 10, ALL = COPIES * SMALL };

typedef struct overtake_copy_queue Queue;

/* Whether this library's own layer makes the copies: not with OVERTAKE=off, and not under the drop-in. */
static int is_own;

static Queue *new_queue(CUstream stream, int priority)
{
    Queue *queue = NULL;
    OK(overtake_copy_queue_open(stream, priority, COPIES, &queue));
    return queue;
}

static struct overtake_statistics sums(void)
{
    struct overtake_statistics sums;
    sums.struct_size = sizeof sums;
    OK(overtake_read_statistics(&sums));
    return sums;
}

/* Small copies in a scattered order, one way and back. */
static void many(CUstream stream, int priority)
{
    unsigned char *in = pinned_bytes(ALL, 3), *out = pinned_bytes(ALL, 99);
    char *device = on_device(ALL);
    Queue *queue = new_queue(stream, priority);
    struct overtake_statistics before = sums(), after;
    for (int way = 0; way < 2; way++) {
        for (size_t i = 0; i < COPIES; i++) {
            size_t at = i * 77 % COPIES * SMALL;
            OK(way == 0 ? overtake_copy_queue_copy(queue, device + at, in + at, SMALL, OVERTAKE_COPY_HOST_TO_DEVICE)
                        : overtake_copy_queue_copy(queue, out + at, device + at, SMALL, OVERTAKE_COPY_DEFAULT));
        }
        OK(overtake_copy_queue_flush(queue));
        OK(overtake_copy_queue_flush(queue)); /* of nothing */
    }
    OK(cuStreamSynchronize(stream));
    REQUIRE(memcmp(in, out, ALL) == 0);
    after = sums();
    if (is_own) {
        REQUIRE(after.kernel_copies == before.kernel_copies + 2); /* one launch each way */
        REQUIRE(after.kernel_bytes == before.kernel_bytes + 2 * ALL);
    }
    OK(overtake_copy_queue_close(queue));
}

/* Copies that cannot share a launch, and sets of every length. */
static void mixed(CUstream stream)
{
    unsigned char *in = pinned_bytes(LARGE, 5), *out = pinned_bytes(LARGE, 7), *plain = malloc(64);
    char *device = on_device(LARGE), *sets = on_device(1024);
    REQUIRE(plain != NULL);
    memset(plain, 0x21, 64);
    Queue *queue = new_queue(stream, 1);
    OK(overtake_copy_queue_copy(queue, device, in, LARGE, OVERTAKE_COPY_HOST_TO_DEVICE));
    OK(overtake_copy_queue_copy(queue, sets, plain, 64, OVERTAKE_COPY_HOST_TO_DEVICE));
    OK(overtake_copy_queue_copy(queue, device, in, 0, OVERTAKE_COPY_HOST_TO_DEVICE));
    OK(overtake_copy_queue_set(queue, sets + 64, 0x04030201, 16));
    OK(overtake_copy_queue_set(queue, sets + 81, 0x0d0c0b0a, 7)); /* neither aligned nor whole */
    OK(overtake_copy_queue_set(queue, sets + 88, 0x77777777, 0));
    OK(overtake_copy_queue_flush(queue));
    OK(overtake_copy_queue_copy(queue, out, device, LARGE, OVERTAKE_COPY_DEVICE_TO_HOST));
    OK(overtake_copy_queue_close(queue)); /* it is flushed */
    OK(cuStreamSynchronize(stream));
    REQUIRE(memcmp(in, out, LARGE) == 0);
    OK(cuMemcpyDtoH(out, (CUdeviceptr)(uintptr_t)sets, 88));
    for (size_t i = 0; i < 64; i++)
        REQUIRE(out[i] == 0x21);
    for (size_t i = 0; i < 16; i++)
        REQUIRE(out[64 + i] == 1 + i % 4);
    for (size_t i = 0; i < 7; i++)
        REQUIRE(out[81 + i] == 0x0a + i % 4);
    free(plain);
}

/* As PhysX does, a literal queue takes multiples of 4 only; refused copies are not made, and the others are. */
static void literal(CUstream stream)
{
    unsigned char *in = pinned_bytes(64, 5), *out = pinned_bytes(64, 5);
    char *device = on_device(64);
    Queue *queue = new_queue(stream, 1);
    OK(overtake_copy_queue_set(queue, device + 1, 0, 3));
    OK(overtake_copy_queue_literal(queue));
    const int up = OVERTAKE_COPY_HOST_TO_DEVICE;
    REQUIRE(overtake_copy_queue_copy(queue, device + 2, in, 4, up) == 1); /* CUDA_ERROR_INVALID_VALUE */
    REQUIRE(strstr(overtake_last_error(), "multiples of 4 only") != NULL);
    REQUIRE(overtake_copy_queue_copy(queue, device, in + 1, 4, up) == 1);
    REQUIRE(overtake_copy_queue_copy(queue, device, in, 6, up) == 1);
    REQUIRE(overtake_copy_queue_set(queue, device + 1, 9, 4) == 1);
    REQUIRE(overtake_copy_queue_set(queue, device, 9, 2) == 1);
    OK(overtake_copy_queue_copy(queue, device + 1, in, 0, up));
    OK(overtake_copy_queue_copy(queue, device + 4, in + 4, 60, up));
    OK(overtake_copy_queue_flush(queue));
    OK(overtake_copy_queue_copy(queue, out, device, 64, OVERTAKE_COPY_DEVICE_TO_HOST));
    OK(overtake_copy_queue_close(queue));
    OK(cuStreamSynchronize(stream));
    REQUIRE(out[1] == 0 && out[2] == 0 && out[3] == 0 && memcmp(in + 4, out + 4, 60) == 0);
    REQUIRE(overtake_copy_queue_literal(queue) == OVERTAKE_ERROR_INVALID_HANDLE);
}

static void refusals(CUstream stream)
{
    Queue *queue = (Queue *)&is_own, *closed = new_queue(stream, 2);
    int kind = OVERTAKE_COPY_HOST_TO_DEVICE, highest = overtake_priorities();
    REQUIRE(overtake_copy_queue_open(stream, 0, 1, &queue) == OVERTAKE_ERROR_INVALID_ARGUMENT);
    REQUIRE(overtake_copy_queue_open(stream, highest + 1, 1, &queue) == OVERTAKE_ERROR_INVALID_ARGUMENT);
    REQUIRE(overtake_copy_queue_open(stream, 1, 1, NULL) == OVERTAKE_ERROR_INVALID_ARGUMENT);
    REQUIRE(queue == (Queue *)&is_own);
    REQUIRE(overtake_copy_queue_copy(closed, NULL, NULL, 4, 77) == OVERTAKE_ERROR_INVALID_ARGUMENT);
    REQUIRE(overtake_close() == OVERTAKE_ERROR_REFUSED);
    REQUIRE(strstr(overtake_last_error(), "overtake_copy_queue_close") != NULL);
    OK(overtake_copy_queue_close(closed));
    Queue *wrong[] = {NULL, closed, (Queue *)stream};
    for (size_t i = 0; i < 3; i++) {
        REQUIRE(overtake_copy_queue_copy(wrong[i], NULL, NULL, 4, kind) == OVERTAKE_ERROR_INVALID_HANDLE);
        REQUIRE(overtake_copy_queue_set(wrong[i], NULL, 1, 4) == OVERTAKE_ERROR_INVALID_HANDLE);
        REQUIRE(overtake_copy_queue_flush(wrong[i]) == OVERTAKE_ERROR_INVALID_HANDLE);
        REQUIRE(overtake_copy_queue_close(wrong[i]) == OVERTAKE_ERROR_INVALID_HANDLE);
    }
}

int main(void)
{
    open_device();
    is_own = strcmp(overtake_deployment(), "c") == 0;
    CUstream stream = new_stream();
    many(stream, 1);
    many(stream, overtake_priorities());
    mixed(stream);
    literal(stream);
    refusals(stream);
    OK(overtake_close());
    puts("ok");
    return 0;
}
