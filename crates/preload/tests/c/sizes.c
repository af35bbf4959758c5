/* Sizes, pitches and offsets up to the end of 64 bits, before the drop-in treats copies apart and after. The codes are
 * the driver's, and a copy that the driver refuses moves no byte. Both sides begin at the start of their memory, and
 * the host's memory is no longer than the device's, so that a copy that leaves one leaves the other. */
#define _POSIX_C_SOURCE 200809L
#include "client.h"

static const size_t NUMBERS[] = {
    0, 1, 3, 64, 1 << 16, 1 << 20, (1 << 21) + 1, INT32_MAX, (size_t)1 << 31, (size_t)1 << 32, (size_t)1 << 43,
    ((size_t)1 << 43) + 1, (size_t)1 << 44, (size_t)1 << 62, (size_t)1 << 63, ((size_t)1 << 63) + 1,
    SIZE_MAX - 63, SIZE_MAX,
};
enum { COUNT = sizeof NUMBERS / sizeof *NUMBERS };

/* The place of a box in the device's memory; in the host's it is packed, or has the same pitches. */
typedef struct {
    size_t width, height, depth, pitch, rows, x, y, z;
    int packed, to_device;
} Box;

static CUDA_MEMCPY3D volume_copy(const Traffic *traffic, const Box *box)
{
    CUDA_MEMCPY3D copy;
    memset(&copy, 0, sizeof copy);
    copy.WidthInBytes = box->width, copy.Height = box->height, copy.Depth = box->depth;
    size_t pitch = box->packed ? 0 : box->pitch, rows = box->packed ? 0 : box->rows;
    if (box->to_device) {
        copy.srcMemoryType = CU_MEMORYTYPE_HOST, copy.srcHost = traffic->in;
        copy.srcPitch = pitch, copy.srcHeight = rows;
        copy.dstMemoryType = CU_MEMORYTYPE_DEVICE, copy.dstDevice = traffic->device;
        copy.dstPitch = box->pitch, copy.dstHeight = box->rows;
        copy.dstXInBytes = box->x, copy.dstY = box->y, copy.dstZ = box->z;
    } else {
        copy.dstMemoryType = CU_MEMORYTYPE_HOST, copy.dstHost = traffic->out;
        copy.dstPitch = pitch, copy.dstHeight = rows;
        copy.srcMemoryType = CU_MEMORYTYPE_DEVICE, copy.srcDevice = traffic->device;
        copy.srcPitch = box->pitch, copy.srcHeight = box->rows;
        copy.srcXInBytes = box->x, copy.srcY = box->y, copy.srcZ = box->z;
    }
    return copy;
}

static CUDA_MEMCPY2D plane_copy(const CUDA_MEMCPY3D *copy)
{
    CUDA_MEMCPY2D plane;
    memset(&plane, 0, sizeof plane);
    plane.srcXInBytes = copy->srcXInBytes, plane.srcY = copy->srcY, plane.srcMemoryType = copy->srcMemoryType;
    plane.srcHost = copy->srcHost, plane.srcDevice = copy->srcDevice, plane.srcPitch = copy->srcPitch;
    plane.dstXInBytes = copy->dstXInBytes, plane.dstY = copy->dstY, plane.dstMemoryType = copy->dstMemoryType;
    plane.dstHost = copy->dstHost, plane.dstDevice = copy->dstDevice, plane.dstPitch = copy->dstPitch;
    plane.WidthInBytes = copy->WidthInBytes, plane.Height = copy->Height;
    return plane;
}

/* The codes of one box by every entry point that takes it, on the stream of bulk and on the urgent one. */
static uint64_t codes(const Traffic *traffic, const Box *box)
{
    CUDA_MEMCPY3D copy = volume_copy(traffic, box);
    CUDA_MEMCPY2D plane = plane_copy(&copy);
    uint64_t sum = mix(cuMemcpy3DAsync(&copy, traffic->bulk), cuMemcpy3DAsync(&copy, traffic->urgent));
    sum = mix(sum, cuMemcpy3D(&copy));
    if (box->depth == 1) {
        sum = mix(mix(sum, cuMemcpy2DAsync(&plane, traffic->bulk)), cuMemcpy2DAsync(&plane, traffic->urgent));
        sum = mix(mix(sum, cuMemcpy2D(&plane)), cuMemcpy2DUnaligned(&plane));
    }
    return sum;
}

/* Products and sums whose low 64 bits are small. */
static void directed(const Traffic *traffic)
{
    const size_t mib = 1 << 20, far = (size_t)1 << 44;
    const Box boxes[] = {
        {2 * mib, far / 2 + 1, 1, 2 * mib, 0, 0, 0, 0, 0, 0}, {mib, far + 1, 1, mib, 0, 0, 0, 0, 0, 0},
        {mib, far, 1, mib, 0, 0, 0, 0, 0, 0}, {mib, 1 << 22, (1 << 22) + 1, mib, 1 << 22, 0, 0, 0, 0, 0},
        {mib, 3, 1, (size_t)1 << 63, 0, 0, 0, 0, 0, 0}, {mib, 2, 3, mib, far, 0, 0, 0, 0, 0},
        {mib, 2, 1, mib, 0, 0, far, 0, 1, 0}, {128, 1024, 1, mib, 0, SIZE_MAX - 63, 0, 0, 1, 0},
    };
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
        for (int to_device = 0; to_device < 2; to_device++) {
            Box box = boxes[i];
            box.to_device = to_device;
            CUDA_MEMCPY3D copy = volume_copy(traffic, &box);
            CUDA_MEMCPY2D plane = plane_copy(&copy);
            CUresult deep = cuMemcpy3DAsync(&copy, traffic->bulk);
            CUresult flat = box.depth == 1 ? cuMemcpy2DAsync(&plane, traffic->bulk) : CUDA_SUCCESS;
            printf("%zu %d: %u %u, all %016llx\n", i, to_device, deep, flat, (unsigned long long)codes(traffic, &box));
        }
    }
}

static uint32_t state = 0x51e5;

static size_t number(int wild, size_t a, size_t b, size_t c)
{
    if (wild && next_random(&state) % 3 == 0)
        return NUMBERS[next_random(&state) % COUNT];
    switch (next_random(&state) % 3) {
    case 0: return a;
    case 1: return b;
    default: return c;
    }
}

static void at_random(const Traffic *traffic, int boxes)
{
    for (int i = 0; i < boxes; i++) {
        int wild = next_random(&state) % 2;
        Box box = {.width = number(wild, 64, 4096, 65536), .height = number(wild, 1, 2, 13),
                   .depth = number(wild, 1, 1, 2), .pitch = number(wild, 0, 65536, 65600),
                   .rows = number(wild, 0, 13, 16), .x = number(wild, 0, 16, 5), .y = number(wild, 0, 0, 1),
                   .z = number(wild, 0, 0, 1), .packed = next_random(&state) % 2, .to_device = next_random(&state) % 2};
        printf("%d: %016llx\n", i, (unsigned long long)codes(traffic, &box));
    }
}

static void lines(const Traffic *traffic)
{
    for (size_t i = 0; i < COUNT; i++) {
        size_t bytes = NUMBERS[i];
        CUresult up = cuMemcpyHtoDAsync(traffic->device, traffic->in, bytes, traffic->bulk);
        CUresult up_urgent = cuMemcpyHtoDAsync(traffic->device, traffic->in, bytes, traffic->urgent);
        CUresult down = cuMemcpyDtoHAsync(traffic->out, traffic->device, bytes, traffic->bulk);
        CUresult down_urgent = cuMemcpyDtoHAsync(traffic->out, traffic->device, bytes, traffic->urgent);
        printf("%zu bytes: %u %u %u %u\n", bytes, up, up_urgent, down, down_urgent);
    }
}

static void batches(const Traffic *traffic)
{
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    size_t start = 0, sizes[][2] = {{(size_t)1 << 63, (size_t)1 << 63}, {SIZE_MAX, 65537}, {65536, SIZE_MAX}};
    CUdeviceptr targets[2] = {traffic->device, traffic->device};
    CUdeviceptr sources[2] = {(CUdeviceptr)(uintptr_t)traffic->in, (CUdeviceptr)(uintptr_t)traffic->in};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        CODE(cuMemcpyBatchAsync_v2(targets, sources, sizes[i], 2, &attributes, &start, 1, traffic->bulk));
        CODE(cuMemcpyBatchAsync_v2(targets, sources, sizes[i], 2, &attributes, &start, 1, traffic->urgent));
    }
}

static void all(const Traffic *traffic)
{
    directed(traffic);
    OK(cuCtxSynchronize());
    printf("untouched: %016llx\n", (unsigned long long)checksum(traffic->out, TRAFFIC_EACH * TRAFFIC_BULK));
    at_random(traffic, 300);
    lines(traffic);
    batches(traffic);
    OK(cuCtxSynchronize());
}

int main(void)
{
    open_device();
    Traffic traffic = new_traffic();
    all(&traffic);
    free_traffic(&traffic);
    traffic = arm();
    all(&traffic);
    /* Refused copies hold no other copy up. */
    printf("still sound: %016llx\n", (unsigned long long)run_traffic(&traffic, 3));
    free_traffic(&traffic);
    close_device();
    return 0;
}
