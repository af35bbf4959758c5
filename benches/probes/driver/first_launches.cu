// The wait of the work behind a first launch: kernels are loaded lazily, one launch after the other, while bulk goes
// on in another stream. After each launch a third stream gets two copies, or two launches of a kernel that is loaded.
// nvcc -O2 -std=c++17 -arch=sm_90 first_launches.cu -lcuda && ./a.out; CUDA_MODULE_LOADING=EAGER ./a.out
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
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

static const size_t BULK = 256 << 20, PIECE = 4 << 20, SMALL = 64 << 10;
static const int KERNELS = 30, MODES = 6;  // fresh kernels for each mode
static char *bulk_here, *bulk_there, *small_here, *small_there;
static unsigned *word;
static cudaStream_t bulk, urgent, fresh;

template <int N>
__global__ void kernel(float *value) {
  for (int i = 0; i < N + 3; i++) *value = *value * 1.0001f + N;
}
__global__ void nothing() {}

static double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static double timed(const std::function<void()> &body) {
  double began = now_us();
  body();
  return now_us() - began;
}

static void copy_by_kernel(size_t bytes) {
  Inline table = {};
  table.descriptors[0] = {(u64)bulk_there, (u64)bulk_here, bytes, 1, 0, 0, COPY, 0, 0};
  overtake_copy<<<5, 320, 0, bulk>>>(table, 1, Gate{});
}

// Four copies at a time, or a wait for a word that the CPU writes after 12 ms.
static void round_of_bulk(int mode, unsigned round) {
  if (mode == 0) return (void)usleep(1000);
  for (int i = 0; i < 4 && mode != 5; i++) {
    if (mode == 1 || mode == 2) copy_by_kernel(BULK);
    if (mode == 3) copy_by_kernel(PIECE);
    if (mode == 4) OK(cudaMemcpyAsync(bulk_here, bulk_there, BULK, cudaMemcpyDeviceToHost, bulk));
  }
  if (mode == 5) {
    OK(cuStreamWaitValue32((CUstream)bulk, (CUdeviceptr)word, round, CU_STREAM_WAIT_VALUE_GEQ));
    usleep(12000);
    *(volatile unsigned *)word = round;
  }
  OK(cudaStreamSynchronize(bulk));
}

static void small(int mode) {
  if (mode == 2) {
    nothing<<<1, 1, 0, urgent>>>();
  } else {
    OK(cudaMemcpyAsync(small_there, small_here, SMALL, cudaMemcpyHostToDevice, urgent));
  }
  OK(cudaStreamSynchronize(urgent));
}

struct Times {
  std::vector<double> launch, first, second;
};

template <int N, int LAST>
static void launch_all(int mode, Times &times) {
  times.launch.push_back(timed([] { kernel<N><<<1, 1, 0, fresh>>>((float *)small_there); }));
  times.first.push_back(timed([&] { small(mode); }));
  times.second.push_back(timed([&] { small(mode); }));
  usleep(7300);
  if constexpr (N < LAST) launch_all<N + 1, LAST>(mode, times);
}

static double at(std::vector<double> &values, double part) {
  std::sort(values.begin(), values.end());
  return values[(size_t)(part * (values.size() - 1))];
}

template <int MODE>
static void measure() {
  static const char *NAMES[MODES] = {"nothing else", "256 MiB by kernel", "the same; launches, no copies",
                                     "4 MiB by kernel", "256 MiB by engine, to the host", "a stream waits for a word"};
  Times times;
  std::atomic<bool> stop{false};
  std::thread feeder([&] {
    static unsigned round;
    while (!stop) round_of_bulk(MODE, ++round);
  });
  usleep(50000);
  launch_all<MODE * KERNELS, MODE * KERNELS + KERNELS - 1>(MODE, times);
  stop = true;
  feeder.join();
  auto p50 = [](std::vector<double> &values) { return at(values, .5); };
  auto max = [](std::vector<double> &values) { return at(values, 1); };
  printf("%-30s  launch p50 %5.0f max %5.0f   next p50 %6.0f max %6.0f   after that p50 %4.0f max %4.0f us\n",
         NAMES[MODE], p50(times.launch), max(times.launch), p50(times.first), max(times.first), p50(times.second),
         max(times.second));
  if constexpr (MODE + 1 < MODES) measure<MODE + 1>();
}

int main() {
  OK(cudaMallocHost(&bulk_here, BULK));
  OK(cudaMalloc(&bulk_there, BULK));
  OK(cudaMallocHost(&small_here, SMALL));
  OK(cudaMalloc(&small_there, SMALL));
  OK(cudaMallocHost(&word, sizeof *word));
  *word = 0;
  for (cudaStream_t *stream : {&bulk, &urgent, &fresh}) OK(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
  copy_by_kernel(SMALL);
  nothing<<<1, 1, 0, urgent>>>();
  OK(cudaDeviceSynchronize());
  measure<0>();
  OK(cudaDeviceSynchronize());
}
