/* Frames of 3 MiB beside a loader's copies of 4 MiB, all on plain streams. Only the rule of demand tells that the
 * frames come first: by size all are bulk. */
#define _POSIX_C_SOURCE 200809L
#include "client.h"
#include "unlisted.h"

enum { FRAME = 3 * MIB, PIECE = 4 * MIB, PIECES = 8, FRAMES = 40 };

int main(void)
{
    REQUIRE(setenv("OVERTAKE_AUTOMATIC", "demand", 1) == 0);
    /* Each frame counts as urgent, also where the loader has finished early. */
    set_unlisted("lull=off");
    open_device();
    CUstream camera = new_stream(), loader = new_stream();
    unsigned char *frame = new_pinned_bytes(FRAME), *back = new_pinned_bytes(FRAME);
    unsigned char *pieces = new_pinned_bytes(2 * PIECES * PIECE);
    CUdeviceptr frame_there = new_device_bytes(FRAME), pieces_there = new_device_bytes(2 * PIECES * PIECE);
    uint64_t sum = 0;
    paint(pieces, PIECES * PIECE, 7);
    for (int i = 0; i < FRAMES; i++) {
        /* 32 MiB in one copy, and as much in pieces. */
        OK(cuMemcpyHtoDAsync(pieces_there, pieces, PIECES * PIECE, loader));
        for (size_t at = 0; at < PIECES * PIECE; at += PIECE)
            OK(cuMemcpyHtoDAsync(pieces_there + at, pieces + at, PIECE, loader));
        paint(frame, FRAME, (uint64_t)i);
        OK(cuMemcpyHtoDAsync(frame_there, frame, FRAME, camera));
        OK(cuMemcpyDtoHAsync(back, frame_there, FRAME, camera));
        OK(cuStreamSynchronize(camera));
        REQUIRE(memcmp(frame, back, FRAME) == 0);
        sum = mix(sum, checksum(back, FRAME));
        nap_us(3000);
    }
    OK(cuStreamSynchronize(loader));
    OK(cuMemcpyDtoH(pieces + PIECES * PIECE, pieces_there, PIECES * PIECE));
    printf("frames: %016llx, pieces are the same: %d\n", (unsigned long long)sum,
           memcmp(pieces, pieces + PIECES * PIECE, PIECES * PIECE) == 0);
    close_device();
    return 0;
}
