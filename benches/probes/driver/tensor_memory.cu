// Do bulk copies of the tensor memory accelerator cross the bus faster than loads and stores, or with fewer threads?
// nvcc -O3 -std=c++17 -arch=sm_90 tensor_memory.cu && ./a.out
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define OK(call)                                                              \
  do {                                                                        \
    cudaError_t status = (call);                                              \
    if (status != cudaSuccess) {                                              \
      fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));         \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

static const uint64_t BULK = 256 << 20, MIDDLE = 4 << 20;
static char *device[2], *host[2];
static cudaStream_t up, down;

static __device__ uint32_t shared_address(const void *pointer) { return (uint32_t)__cvta_generic_to_shared(pointer); }

// Brings a tile into shared memory; `full` counts its bytes in.
static __device__ void load(uint32_t place, const char *from, int bytes, uint32_t full) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full), "r"(bytes) : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(place),
               "l"(from), "r"(bytes), "r"(full)
               : "memory");
}

static __device__ void wait(uint32_t full, uint32_t parity) {
  for (uint32_t done = 0; !done;)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(full), "r"(parity)
                 : "memory");
}

// One thread of each block moves every gridDim.x-th tile, with so many under way.
template <int STAGES>
static __global__ void __launch_bounds__(32) by_accelerator(char *to, const char *from, uint64_t bytes, int tile) {
  extern __shared__ __align__(128) char ring[];
  __shared__ __align__(8) uint64_t full[STAGES];
  const int stores = STAGES / 2;
  if (threadIdx.x != 0) return;
  for (int i = 0; i < STAGES; i++)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[i])));
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  const uint64_t tiles = bytes / tile;
  const uint64_t count = tiles > blockIdx.x ? (tiles - blockIdx.x + gridDim.x - 1) / gridDim.x : 0;
  auto place = [&](uint64_t number) { return shared_address(ring + (number % STAGES) * tile); };
  auto offset = [&](uint64_t number) { return (blockIdx.x + number * gridDim.x) * (uint64_t)tile; };
  auto bring = [&](uint64_t i) { load(place(i), from + offset(i), tile, shared_address(&full[i % STAGES])); };
  for (uint64_t i = 0; i < STAGES && i < count; i++) bring(i);
  for (uint64_t i = 0; i < count; i++) {
    wait(shared_address(&full[i % STAGES]), (i / STAGES) & 1);
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2; cp.async.bulk.commit_group;" ::"l"(
                     to + offset(i)),
                 "r"(place(i)), "r"(tile)
                 : "memory");
    if (i >= stores && i - stores + STAGES < count) {
      asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(STAGES / 2) : "memory");
      bring(i - stores + STAGES);
    }
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

template <int VECTORS>
static __global__ void __launch_bounds__(512) by_loads(uint4 *to, const uint4 *from, uint64_t bytes) {
  const uint64_t count = bytes / 16, step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t at = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; at < count; at += VECTORS * step) {
    uint4 held[VECTORS];
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
      if (at + i * step < count) held[i] = __ldcs(from + at + i * step);
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
      if (at + i * step < count) __stcs(to + at + i * step, held[i]);
  }
}

// The median rate of six turns, the first of which warms up; 40 copies in each where they are small.
template <typename Submit>
static double gbps(uint64_t bytes, Submit submit) {
  std::vector<double> rates;
  const int copies = bytes >= BULK ? 1 : 40;
  for (int turn = 0; turn < 6; turn++) {
    OK(cudaDeviceSynchronize());
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < copies; i++) submit();
    OK(cudaDeviceSynchronize());
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    rates.push_back(bytes * copies / spent.count() / 1e9);
  }
  std::sort(rates.begin(), rates.end());
  return rates[3];
}

// A row: each direction by itself, and both together. `copy` takes target, source, bytes and stream.
template <typename Copy>
static void row(const char *name, Copy copy) {
  auto to_device = [&](uint64_t bytes) { copy(device[0], host[0], bytes, up); };
  auto to_host = [&](uint64_t bytes) { copy(host[1], device[1], bytes, down); };
  printf("%-44s", name);
  for (uint64_t bytes : {BULK, MIDDLE})
    printf("%3d MiB: up %5.1f down %5.1f   ", (int)(bytes >> 20), gbps(bytes, [&] { to_device(bytes); }),
           gbps(bytes, [&] { to_host(bytes); }));
  printf("both %5.1f GB/s\n", gbps(2 * BULK, [&] { to_device(BULK), to_host(BULK); }));
  OK(cudaGetLastError());
}

template <int VECTORS>
static void loads(int blocks) {
  char name[64];
  snprintf(name, sizeof name, "loads, %d blocks of 512, %d vectors", blocks, VECTORS);
  row(name, [=](char *to, const char *from, uint64_t bytes, cudaStream_t stream) {
    by_loads<VECTORS><<<blocks, 512, 0, stream>>>((uint4 *)to, (const uint4 *)from, bytes);
  });
}

template <int STAGES>
static void accelerator(int blocks, int tile) {
  char name[64];
  snprintf(name, sizeof name, "accelerator, %d blocks, %d tiles of %d", blocks, STAGES, tile);
  OK(cudaFuncSetAttribute(by_accelerator<STAGES>, cudaFuncAttributeMaxDynamicSharedMemorySize, STAGES * tile));
  row(name, [=](char *to, const char *from, uint64_t bytes, cudaStream_t stream) {
    by_accelerator<STAGES><<<blocks, 32, STAGES * tile, stream>>>(to, from, bytes, tile);
  });
}

// Up and down again by the accelerator: are the bytes those that went up?
static bool moves_bytes() {
  for (uint64_t i = 0; i < BULK / 8; i++) ((uint64_t *)host[0])[i] = i * 0x9E3779B97F4A7C15ull;
  memset(host[1], 0, BULK);
  by_accelerator<8><<<4, 32, 8 * 8192, up>>>(device[0], host[0], BULK, 8192);
  by_accelerator<8><<<4, 32, 8 * 8192, up>>>(host[1], device[0], BULK, 8192);
  OK(cudaStreamSynchronize(up));
  return memcmp(host[0], host[1], BULK) == 0;
}

int main() {
  for (int i = 0; i < 2; i++) {
    OK(cudaMalloc(&device[i], BULK));
    OK(cudaHostAlloc(&host[i], BULK, 0));
  }
  OK(cudaStreamCreateWithFlags(&up, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithFlags(&down, cudaStreamNonBlocking));
  row("engine", [](char *to, const char *from, uint64_t bytes, cudaStream_t stream) {
    OK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
  });
  loads<4>(4), loads<8>(4), loads<4>(8), loads<4>(16);
  accelerator<8>(1, 16384), accelerator<8>(2, 16384), accelerator<16>(2, 8192), accelerator<8>(4, 4096);
  accelerator<4>(4, 8192), accelerator<8>(4, 8192), accelerator<8>(4, 16384), accelerator<8>(8, 4096);
  accelerator<8>(8, 16384), accelerator<8>(16, 2048), accelerator<8>(16, 8192);
  printf("bytes: %s\n", moves_bytes() ? "the same" : "THEY DIFFER");
}
