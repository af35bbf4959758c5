// Kernels with one meaning on both devices. Each has a twin in Rust (reference.rs), which must give the same bytes:
// sums of integers only, floating point in a fixed order without fusing, colours and pictures in integers.
//
// Regenerate workloads.ptx with benches/gpu/ptx.sh on a machine with nvcc.
#include <stdint.h>

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

// A picture of four bytes a pixel: red, green, blue, alpha.
struct Pixel {
  u8 channel[4];
};

__device__ inline u32 index_x() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline u32 index_y() { return blockIdx.y * blockDim.y + threadIdx.y; }
__device__ inline u8 clamp_byte(int value) { return value < 0 ? 0 : value > 255 ? 255 : value; }

// sum[i] = left[i] + right[i]
extern "C" __global__ void work_add(const float *left, const float *right, float *sum, u32 count) {
  for (u32 i = index_x(); i < count; i += gridDim.x * blockDim.x)
    sum[i] = left[i] + right[i];
}

// *total += the sum of all values
extern "C" __global__ void work_sum(const u32 *values, u64 *total, u32 count) {
  u64 own = 0;
  for (u32 i = index_x(); i < count; i += gridDim.x * blockDim.x)
    own += values[i];
  for (int distance = 16; distance > 0; distance /= 2)
    own += __shfl_down_sync(0xffffffff, own, distance);
  if (threadIdx.x % 32 == 0)
    atomicAdd(total, own);
}

// product = left * right: square matrices in rows. Each sum runs over rising k, by fused steps.
extern "C" __global__ void work_multiply(const float *left, const float *right, float *product, u32 side) {
  u32 x = index_x(), y = index_y();
  if (x >= side || y >= side)
    return;
  float sum = 0;
  for (u32 k = 0; k < side; k++)
    sum = fmaf(left[y * side + k], right[k * side + x], sum);
  product[y * side + x] = sum;
}

// NV12 (BT.709, limited range) to RGBA. The rows of colour follow those of brightness.
extern "C" __global__ void work_colour(const u8 *source, u32 source_pitch, u8 *target, u32 target_pitch, u32 width,
                                       u32 height) {
  u32 x = index_x(), y = index_y();
  if (x >= width || y >= height)
    return;
  const u8 *colours = source + (u64)source_pitch * height + (u64)source_pitch * (y / 2) + x / 2 * 2;
  int light = 298 * (source[(u64)source_pitch * y + x] - 16) + 128;
  int blue = colours[0] - 128, red = colours[1] - 128;
  Pixel pixel = {{clamp_byte((light + 459 * red) >> 8), clamp_byte((light - 55 * blue - 136 * red) >> 8),
                  clamp_byte((light + 541 * blue) >> 8), 255}};
  *(Pixel *)(target + (u64)target_pitch * y + 4 * x) = pixel;
}

// The place in the source of the middle of a target pixel, in 1/256 pixels.
__device__ inline u32 place(u32 at, u32 from, u32 to) {
  long long middle = ((2 * (long long)at + 1) * from * 128) / to - 128;
  long long last = ((long long)from - 1) * 256;
  return middle < 0 ? 0 : middle > last ? last : middle;
}

// RGBA in another size, by the four nearest pixels.
extern "C" __global__ void work_scale(const u8 *source, u32 source_pitch, u32 source_width, u32 source_height,
                                      u8 *target, u32 target_pitch, u32 target_width, u32 target_height) {
  u32 x = index_x(), y = index_y();
  if (x >= target_width || y >= target_height)
    return;
  u32 across = place(x, source_width, target_width), down = place(y, source_height, target_height);
  u32 left = across / 256, top = down / 256;
  u32 right = min(left + 1, source_width - 1), bottom = min(top + 1, source_height - 1);
  u32 to_right = across % 256, to_bottom = down % 256;
  const u8 *above = source + (u64)source_pitch * top, *below = source + (u64)source_pitch * bottom;
  Pixel pixel;
  for (u32 i = 0; i < 4; i++) {
    u32 upper = above[4 * left + i] * (256 - to_right) + above[4 * right + i] * to_right;
    u32 lower = below[4 * left + i] * (256 - to_right) + below[4 * right + i] * to_right;
    pixel.channel[i] = (upper * (256 - to_bottom) + lower * to_bottom + 32768) >> 16;
  }
  *(Pixel *)(target + (u64)target_pitch * y + 4 * x) = pixel;
}

// RGBA, each pixel with its neighbours: 1 2 1 in both directions; the border is repeated.
extern "C" __global__ void work_blur(const u8 *source, u32 source_pitch, u8 *target, u32 target_pitch, u32 width,
                                     u32 height) {
  u32 x = index_x(), y = index_y();
  if (x >= width || y >= height)
    return;
  u32 sums[4] = {8, 8, 8, 8};
  for (int down = -1; down <= 1; down++) {
    u32 row = min(max((int)y + down, 0), (int)height - 1);
    for (int across = -1; across <= 1; across++) {
      u32 column = min(max((int)x + across, 0), (int)width - 1), weight = (2 - abs(down)) * (2 - abs(across));
      for (u32 i = 0; i < 4; i++)
        sums[i] += weight * source[(u64)source_pitch * row + 4 * column + i];
    }
  }
  Pixel pixel;
  for (u32 i = 0; i < 4; i++)
    pixel.channel[i] = sums[i] >> 4;
  *(Pixel *)(target + (u64)target_pitch * y + 4 * x) = pixel;
}
