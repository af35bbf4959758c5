#include <cstdint>
struct Desc {
  unsigned long long dst, src, width, rows, dst_pitch, src_pitch;
  unsigned kind, value;
};
struct Batch {
  Desc d[8];
};
template <class V>
__device__ __forceinline__ V ld(const V* p) {
  return __ldcs(p);
}
// granule = 32 lanes x U x 16 bytes
template <int U>
__device__ void run(const Desc* descs, unsigned n, volatile unsigned* dw, unsigned long long maxns, unsigned w,
                    unsigned W) {
  unsigned lane = threadIdx.x & 31;
  unsigned long long base = 0;
  unsigned s = dw ? *dw : 0;
  unsigned long long waited = 0;
  for (unsigned k = 0; k < n; k++) {
    const Desc& D = descs[k];
    const size_t G = 32 * U;
    size_t n16 = D.width / 16;
    size_t per = (n16 + G - 1) / G, total = per * D.rows;
    size_t first = (w + W - (unsigned)(base % W)) % W;
    for (size_t g = first; g < total; g += W) {
      if (s) {
        unsigned long long t0;
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t0));
        unsigned long long t = t0;
        while (s != 0 && waited + (t - t0) < maxns) {
          __nanosleep(100);
          s = *dw;
          asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
        }
        waited += t - t0;
        if (waited >= maxns)
          dw = nullptr, s = 0;
      }
      size_t row = g / per, c = g - row * per;
      const uint4* src = (const uint4*)(D.src + row * D.src_pitch) + c * G;
      uint4* dst = (uint4*)(D.dst + row * D.dst_pitch) + c * G;
      size_t m = n16 - c * G;
      if (m >= G) {
        uint4 a[U];
#pragma unroll
        for (int j = 0; j < U; j++)
          a[j] = __ldcs(src + lane + j * 32);
        if (dw)
          s = *dw;
#pragma unroll
        for (int j = 0; j < U; j++)
          __stcs(dst + lane + j * 32, a[j]);
      } else
        for (size_t i = lane; i < m; i += 32)
          dst[i] = src[i];
    }
    base += total;
  }
}
template <int U>
__device__ void body(const Batch& b, unsigned n, volatile unsigned* dw, const volatile unsigned* hw, unsigned* done,
                     unsigned long long maxns) {
  unsigned nb = gridDim.x;
  if (hw && blockIdx.x == nb - 1) {
    if (threadIdx.x == 0) {
      unsigned last = 0;
      while (*(volatile unsigned*)done < nb - 1) {
        unsigned v = *hw;
        if (v != last) {
          *dw = v;
          last = v;
        }
        __nanosleep(50);
      }
      *dw = 0;
      *done = 0;
      __threadfence();
    }
    return;
  }
  unsigned workers = hw ? nb - 1 : nb;
  run<U>(b.d, n, dw, maxns, blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5), workers * (blockDim.x >> 5));
  if (hw) {
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(done, 1);
    }
  }
}
extern "C" __global__ void __launch_bounds__(512)
    kcopy1(const __grid_constant__ Batch b, unsigned n, volatile unsigned* dw, const volatile unsigned* hw,
           unsigned* done, unsigned long long maxns) {
  body<1>(b, n, dw, hw, done, maxns);
}
extern "C" __global__ void __launch_bounds__(512)
    kcopy4(const __grid_constant__ Batch b, unsigned n, volatile unsigned* dw, const volatile unsigned* hw,
           unsigned* done, unsigned long long maxns) {
  body<4>(b, n, dw, hw, done, maxns);
}
