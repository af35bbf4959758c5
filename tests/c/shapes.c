/* Copies of rectangles and boxes between every pair of memories, with pitches and offsets, byte by byte. */
#include "device.h"

enum { ROOM = 40000, PINNED = 0, PAGEABLE = 1, DEVICE = 2, PLACES = 3 };

static uint32_t state = 0x2545f491;

static size_t below(size_t limit)
{
    return next_random(&state) % limit;
}

/* One memory to copy from or to, and its description in a copy structure. */
typedef struct {
    int place;
    unsigned int type;
    unsigned char *host;
    CUdeviceptr device;
} Side;

static Side new_side(int place, int unified)
{
    Side side = {.place = place};
    if (place == DEVICE) {
        side.device = new_device_bytes(ROOM);
        side.type = CU_MEMORYTYPE_DEVICE;
    } else {
        side.host = place == PINNED ? new_pinned_bytes(ROOM) : new_bytes(ROOM, 1);
        side.type = CU_MEMORYTYPE_HOST;
    }
    if (unified) {
        side.type = CU_MEMORYTYPE_UNIFIED;
        side.device = place == DEVICE ? side.device : (CUdeviceptr)(uintptr_t)side.host;
    }
    return side;
}

static void put(Side *side, const unsigned char *bytes)
{
    if (side->place == DEVICE)
        OK(cuMemcpyHtoD(side->device, bytes, ROOM));
    else
        memcpy(side->host, bytes, ROOM);
    OK(cuCtxSynchronize());
}

static void get(Side *side, unsigned char *bytes)
{
    OK(cuCtxSynchronize());
    if (side->place == DEVICE)
        OK(cuMemcpyDtoH(bytes, side->device, ROOM));
    else
        memcpy(bytes, side->host, ROOM);
}

static void free_side(Side *side)
{
    OK(cuCtxSynchronize());
    if (side->place == DEVICE)
        OK(cuMemFree(side->device));
    else if (side->place == PINNED)
        OK(cuMemFreeHost(side->host));
    else
        free(side->host);
}

/* A random box, in which a rectangle is a box of depth 1. */
typedef struct {
    size_t width, height, depth;
    size_t x[2], y[2], z[2], pitch[2], slice[2];
} Box;

static Box random_box(int deep)
{
    Box box = {.width = 1 + below(60), .height = 1 + below(9), .depth = deep ? 1 + below(4) : 1};
    for (int side = 0; side < 2; side++) {
        box.x[side] = below(20);
        box.y[side] = below(5);
        box.z[side] = deep ? below(3) : 0;
        box.pitch[side] = box.x[side] + box.width + below(30);
        box.slice[side] = box.y[side] + box.height + below(6);
    }
    return box;
}

static size_t at(const Box *box, int side, size_t row, size_t layer)
{
    size_t rows = (box->z[side] + layer) * box->slice[side] + box->y[side] + row;
    return rows * box->pitch[side] + box->x[side];
}

static void reference(const Box *box, unsigned char *target, const unsigned char *source)
{
    for (size_t layer = 0; layer < box->depth; layer++)
        for (size_t row = 0; row < box->height; row++)
            memcpy(target + at(box, 1, row, layer), source + at(box, 0, row, layer), box->width);
}

static CUDA_MEMCPY2D plane_copy(const Box *box, const Side *source, const Side *target)
{
    CUDA_MEMCPY2D copy = {
        .srcXInBytes = box->x[0], .srcY = box->y[0], .srcMemoryType = source->type, .srcHost = source->host,
        .srcDevice = source->device, .srcPitch = box->pitch[0],
        .dstXInBytes = box->x[1], .dstY = box->y[1], .dstMemoryType = target->type, .dstHost = target->host,
        .dstDevice = target->device, .dstPitch = box->pitch[1],
        .WidthInBytes = box->width, .Height = box->height,
    };
    return copy;
}

static CUDA_MEMCPY3D volume_copy(const Box *box, const Side *source, const Side *target)
{
    CUDA_MEMCPY3D copy = {
        .srcXInBytes = box->x[0], .srcY = box->y[0], .srcZ = box->z[0], .srcMemoryType = source->type,
        .srcHost = source->host, .srcDevice = source->device, .srcPitch = box->pitch[0], .srcHeight = box->slice[0],
        .dstXInBytes = box->x[1], .dstY = box->y[1], .dstZ = box->z[1], .dstMemoryType = target->type,
        .dstHost = target->host, .dstDevice = target->device, .dstPitch = box->pitch[1], .dstHeight = box->slice[1],
        .WidthInBytes = box->width, .Height = box->height, .Depth = box->depth,
    };
    return copy;
}

static void submit(const Box *box, const Side *source, const Side *target, int deep, int how, CUstream stream)
{
    CUDA_MEMCPY2D plane = plane_copy(box, source, target);
    CUDA_MEMCPY3D volume = volume_copy(box, source, target);
    if (deep && how == 0)
        OK(cuMemcpy3DAsync(&volume, stream));
    else if (deep)
        OK(cuMemcpy3D(&volume));
    else if (how == 0)
        OK(cuMemcpy2DAsync(&plane, stream));
    else if (how == 1)
        OK(cuMemcpy2D(&plane));
    else
        OK(cuMemcpy2DUnaligned(&plane));
}

static void one_pair(Side *source, Side *target, CUstream stream)
{
    unsigned char *in = new_bytes(ROOM, next_random(&state)), *out = new_bytes(ROOM, 2), *want = new_bytes(ROOM, 3);
    for (int round = 0; round < 12; round++) {
        int deep = round % 2, how = (round / 2) % 3;
        Box box = random_box(deep);
        fill(want, ROOM, (uint32_t)round + 17);
        put(source, in);
        put(target, want);
        submit(&box, source, target, deep, how, stream);
        OK(cuStreamSynchronize(stream));
        get(target, out);
        reference(&box, want, in);
        REQUIRE(memcmp(out, want, ROOM) == 0);
    }
    free(in);
    free(out);
    free(want);
}

static void packed_when_pitch_is_zero(CUstream stream)
{
    unsigned char *in = new_bytes(600, 5), out[600];
    CUdeviceptr device = new_device_bytes(600);
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = in, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = device, .WidthInBytes = 20, .Height = 30};
    OK(cuMemcpy2DAsync(&copy, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(out, device, 600));
    REQUIRE(memcmp(in, out, 600) == 0);
    OK(cuMemFree(device));
    free(in);
}

static void refusals(CUstream stream)
{
    CUdeviceptr device = new_device_bytes(4096);
    unsigned char host[64] = {0};
    CUDA_MEMCPY2D plane = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host, .srcPitch = 8,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = device, .dstPitch = 1024,
                           .WidthInBytes = 8, .Height = 5};
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy2DAsync(&plane, stream)); /* the fifth row is past the allocation */
    plane.Height = 4;
    OK(cuMemcpy2DAsync(&plane, stream));
    plane.dstPitch = 7;
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy2DAsync(&plane, stream)); /* rows wider than the pitch */
    plane.dstPitch = 1024;
    plane.dstMemoryType = 77;
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&plane));
    plane.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&plane)); /* the array is null */
    CUDA_MEMCPY3D volume = {.srcMemoryType = CU_MEMORYTYPE_ARRAY, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                            .dstDevice = device, .WidthInBytes = 1, .Height = 1, .Depth = 1};
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy3DAsync(&volume, stream));
#ifdef SOFTWARE_GPU
    plane.dstArray = (CUarray)UNTOUCHED;
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuMemcpy2D(&plane));
    volume.srcArray = (CUarray)UNTOUCHED;
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuMemcpy3DAsync(&volume, stream));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy2DAsync(NULL, stream));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy3DAsync(NULL, stream));
#endif
    OK(cuStreamSynchronize(stream));
    OK(cuMemFree(device));
}

int main(void)
{
    open_device();
    CUstream stream = new_stream();
    for (int from = 0; from < PLACES; from++) {
        for (int to = 0; to < PLACES; to++) {
            for (int unified = 0; unified < 2; unified++) {
                Side source = new_side(from, unified), target = new_side(to, unified);
                one_pair(&source, &target, stream);
                free_side(&source);
                free_side(&target);
            }
        }
    }
    packed_when_pitch_is_zero(stream);
    refusals(stream);
    OK(cuStreamDestroy(stream));
    close_device();
    return 0;
}
