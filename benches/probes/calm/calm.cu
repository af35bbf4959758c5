// Bulk beside urgent copies and in a calm, and the first urgent copy after one. It knows nothing of overtake.
// nvcc -O2 -std=c++17 -arch=sm_90 calm.cu && OVERTAKE_UNLISTED=calm_after_us=50000 overtake run -- ./a.out 60
// The argument is the length of a calm in ms: longer than the option.
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>
#include <vector>

#define OK(call)                                                                     \
  do {                                                                               \
    int code_ = (int)(call);                                                         \
    if (code_) printf("line %d: %s returned %d\n", __LINE__, #call, code_), exit(1); \
  } while (0)

static const size_t MIB = 1 << 20, MEMORY = 64 * MIB, SMALL = 64 << 10;
static const int DEPTH_MAX = 16, CALMS = 20;
static char *here, *there, *small_here, *small_there;
static cudaStream_t bulk, urgent;

static double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static double at(std::vector<double> &values, double part) {
  std::sort(values.begin(), values.end());
  return values[(size_t)(part * (values.size() - 1))];
}

static void copy(bool up, char *host, char *device, size_t bytes, cudaStream_t stream) {
  if (up) {
    OK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream));
  } else {
    OK(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
  }
}

static double one_small(bool up) {
  double began = now_us();
  copy(up, small_here, small_there, SMALL, urgent);
  OK(cudaStreamSynchronize(urgent));
  return now_us() - began;
}

// Keeps `depth` copies in the stream, and counts the bytes of those that are done.
static void keep_busy(bool up, size_t bytes, size_t depth, std::atomic<size_t> &moved, const std::atomic<bool> &stop) {
  cudaEvent_t done[DEPTH_MAX];
  for (cudaEvent_t &event : done) OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  for (size_t number = 0; !stop; number++) {
    if (number >= depth) {
      OK(cudaEventSynchronize(done[number % depth]));
      moved += bytes;
    }
    size_t start = number * bytes % MEMORY;
    copy(up, here + start, there + start, bytes, bulk);
    OK(cudaEventRecord(done[number % depth], bulk));
  }
  OK(cudaStreamSynchronize(bulk));
}

static void measure(bool up, size_t bytes, int calm_ms) {
  size_t depth = std::min<size_t>(DEPTH_MAX, MEMORY / bytes);
  std::atomic<bool> stop{false};
  std::atomic<size_t> moved{0};
  std::vector<double> beside, after;
  std::thread feeder([&] { keep_busy(up, bytes, depth, moved, stop); });
  usleep(30000);
  double began = now_us();
  size_t before = moved;
  while (now_us() < began + 500e3) {
    beside.push_back(one_small(up));
    usleep(700);
  }
  double busy = (moved - before) / (now_us() - began) / 1e3;
  usleep(1000 * calm_ms);
  began = now_us(), before = moved;
  usleep(400000);
  double calm = (moved - before) / (now_us() - began) / 1e3;
  for (int i = 0; i < CALMS; i++) {
    usleep(1200 * calm_ms);
    after.push_back(one_small(up));
  }
  stop = true;
  feeder.join();
  printf("%s %2zu MiB x %2zu  bulk %4.1f GB/s beside urgent copies, %4.1f in a calm;  "
         "urgent p50 %5.1f p99 %5.1f us beside bulk, the first after a calm p50 %5.1f max %5.1f us\n",
         up ? "h2d" : "d2h", bytes / MIB, depth, busy, calm, at(beside, .5), at(beside, .99), at(after, .5),
         at(after, 1));
}

int main(int count, char **arguments) {
  int calm_ms = count > 1 ? atoi(arguments[1]) : 1100, least, greatest;
  OK(cudaMallocHost(&here, MEMORY));
  OK(cudaMalloc(&there, MEMORY));
  OK(cudaMallocHost(&small_here, SMALL));
  OK(cudaMalloc(&small_there, SMALL));
  OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  OK(cudaStreamCreateWithFlags(&bulk, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, greatest));
  for (bool up : {true, false})
    for (size_t mib : {1, 2, 4, 8, 16}) measure(up, mib * MIB, calm_ms);
}
