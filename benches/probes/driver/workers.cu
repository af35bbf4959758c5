// How many warps a copy kernel needs: bandwidth of bulk, and the wait of a 64 KiB copy by the engine, by the number of
// blocks and of warps in each.
// nvcc -O3 -std=c++17 -arch=sm_90 workers.cu -lcuda && ./a.out
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>
#include <vector>

#include "../../../copies/src/kernel/copy.cu"

#define OK(call)                                                   \
  do {                                                             \
    CUresult status = (CUresult)(call);                            \
    if (status != CUDA_SUCCESS) {                                  \
      fprintf(stderr, "%d: %s -> %d\n", __LINE__, #call, status);  \
      _exit(1);                                                    \
    }                                                              \
  } while (0)

static const size_t BULK = 256 << 20, SMALL = 64 << 10;
static CUcontext context;
static CUdeviceptr bulk_there, small_there, words_there, words_seen;
static char *bulk_here, *small_here;
static volatile u32 *words;  // [0] the gate, [64] the last small copy that is through, [128] the last bulk copy

static double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static void launch(CUstream stream, bool to_host, int blocks, int warps) {
  Inline table = {};
  u64 here = (u64)bulk_here, there = bulk_there;
  table.descriptors[0] = {to_host ? here : there, to_host ? there : here, BULK, 1, 0, 0, COPY, 0, 0};
  Gate gate = {(const volatile u32 *)words_seen, (volatile u32 *)words_there, (u32 *)(words_there + 128), 20000000};
  overtake_copy<<<blocks + 1, 32 * warps, 0, (cudaStream_t)stream>>>(table, 1, gate);
}

static void keep_busy(CUstream stream, bool to_host, int blocks, int warps, const std::atomic<bool> &stop) {
  OK(cuCtxSetCurrent(context));
  for (u32 out = 0; blocks && !stop;) {
    if (out - words[128] >= 2) {
      usleep(200);
      continue;
    }
    launch(stream, to_host, blocks, warps);
    OK(cuStreamWriteValue32(stream, words_seen + 512, ++out, 0));
  }
  OK(cuStreamSynchronize(stream));
}

static double one_small(CUstream stream, bool to_host, u32 number) {
  double began = now_us();
  words[0] = 1;
  if (to_host) OK(cuMemcpyDtoHAsync(small_here, small_there, SMALL, stream));
  else OK(cuMemcpyHtoDAsync(small_there, small_here, SMALL, stream));
  OK(cuStreamWriteValue32(stream, words_seen + 256, number, 0));
  while (words[64] != number) __builtin_ia32_pause();
  words[0] = 0;
  return now_us() - began;
}

static void row(bool to_host, int blocks, int warps) {
  int least, greatest;
  CUstream low, high;
  OK(cuCtxGetStreamPriorityRange(&least, &greatest));
  OK(cuStreamCreateWithPriority(&low, CU_STREAM_NON_BLOCKING, least));
  OK(cuStreamCreateWithPriority(&high, CU_STREAM_NON_BLOCKING, greatest));
  words[0] = words[64] = words[128] = 0;
  OK(cuMemsetD32(words_there, 0, 1024));
  OK(cuCtxSynchronize());
  std::atomic<bool> stop{false};
  std::thread busy([&] { keep_busy(low, to_host, blocks, warps, stop); });
  usleep(30000);
  std::vector<double> seen;
  double began = now_us();
  u32 before = words[128];
  for (u32 number = 1; number <= 300; number++) {
    seen.push_back(one_small(high, to_host, number));
    usleep(700 + rand() % 600);
  }
  double gbps = (words[128] - before) * (double)BULK / ((now_us() - began) * 1e3);
  stop = true;
  busy.join();
  std::sort(seen.begin(), seen.end());
  printf("%s  %2d x %2d = %3d warps   p50 %6.1f  p90 %6.1f  p99 %6.1f us   bulk %5.1f GB/s\n", to_host ? "D2H" : "H2D",
         blocks, warps, blocks * warps, seen[150], seen[270], seen[297], gbps);
  fflush(stdout);
  OK(cuStreamDestroy(low));
  OK(cuStreamDestroy(high));
}

int main() {
  CUdevice device;
  void *page;
  OK(cuInit(0));
  OK(cuDeviceGet(&device, 0));
  OK(cuDevicePrimaryCtxRetain(&context, device));
  OK(cuCtxSetCurrent(context));
  OK(cuMemAlloc(&bulk_there, BULK));
  OK(cuMemAlloc(&small_there, SMALL));
  OK(cuMemAlloc(&words_there, 65536));
  OK(cuMemHostAlloc((void **)&bulk_here, BULK, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
  OK(cuMemHostAlloc((void **)&small_here, SMALL, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
  OK(cuMemHostAlloc(&page, 65536, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
  memset(bulk_here, 1, BULK);
  memset(page, 0, 65536);
  words = (u32 *)page;
  OK(cuMemHostGetDevicePointer(&words_seen, page, 0));
  launch(0, true, 4, 16);
  OK(cuCtxSynchronize());
  const int to_host[][2] = {{0, 1}, {1, 16}, {2, 8}, {4, 4}, {17, 1}, {2, 9}, {3, 6}, {2, 12}, {3, 16}, {4, 16}};
  const int to_device[][2] = {{0, 1}, {4, 10}, {3, 16}, {4, 12}, {5, 10}, {6, 8}, {48, 1}, {4, 14}, {4, 16}, {6, 16}};
  for (int round = 0; round < 2; round++) {
    for (auto &of : to_host) row(true, of[0], of[1]);
    for (auto &of : to_device) row(false, of[0], of[1]);
  }
}
