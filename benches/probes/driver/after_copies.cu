// The time of an event's way out of a stream and back, after a copy by the engine in that stream, and after another
// small piece of work behind that copy. Then: does such work pass a kernel that fills every multiprocessor?
// nvcc -O2 -std=c++17 -arch=sm_90 after_copies.cu -lcuda && ./a.out
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "clock.h"
#include "gpu.h"

static const size_t BYTES = 2 << 20;
static const int ROUNDS = 400, REPEATS = 9;
static CUdeviceptr device;
static void *host;
static volatile unsigned *word;
static CUdeviceptr word_seen;

__global__ void nothing() {}

__global__ void fill(volatile unsigned *until) {
  if (threadIdx.x == 0)
    while (!*until) __nanosleep(1000);
  __syncthreads();
}

static CUstream stream() {
  CUstream made;
  OK(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
  return made;
}

static CUevent event() {
  CUevent made;
  OK(cuEventCreate(&made, CU_EVENT_DISABLE_TIMING));
  return made;
}

enum Work { NONE, TO_HOST, TO_DEVICE, WRITE, EVENT, MEMSET, ON_DEVICE, KERNEL };

static void add(Work work, CUstream to) {
  switch (work) {
    case NONE: break;
    case TO_HOST: OK(cuMemcpyDtoHAsync(host, device, BYTES, to)); break;
    case TO_DEVICE: OK(cuMemcpyHtoDAsync(device, host, BYTES, to)); break;
    case WRITE: OK(cuStreamWriteValue32(to, word_seen + 128, 1, 0)); break;
    case EVENT: {
      CUstream other = stream();
      CUevent done = event();
      nothing<<<1, 1, 0, other>>>();
      OK(cuEventRecord(done, other));
      OK(cuStreamWaitEvent(to, done, 0));
      break;
    }
    case MEMSET: OK(cuMemsetD8Async(device + BYTES, 0, 4, to)); break;
    case ON_DEVICE: OK(cuMemcpyDtoDAsync(device + BYTES, device, 4, to)); break;
    case KERNEL: nothing<<<1, 1, 0, to>>>(); break;
  }
}

// Microseconds for one way out to another stream and back.
static double way_us(Work copy, Work then) {
  std::vector<double> taken_us;
  for (int repeat = 0; repeat < REPEATS; repeat++) {
    CUstream own = stream(), other = stream();
    CUevent out = event(), back = event();
    add(copy, own);
    add(then, own);
    OK(cuCtxSynchronize());
    double began_us = 0;
    for (int round = -20; round < ROUNDS; round++) {
      if (round == 0) {
        OK(cuStreamSynchronize(own));
        began_us = now_us();
      }
      OK(cuEventRecord(out, own));
      OK(cuStreamWaitEvent(other, out, 0));
      OK(cuEventRecord(back, other));
      OK(cuStreamWaitEvent(own, back, 0));
    }
    OK(cuStreamSynchronize(own));
    taken_us.push_back((now_us() - began_us) / ROUNDS);
    OK(cuStreamDestroy(own));
    OK(cuStreamDestroy(other));
  }
  std::sort(taken_us.begin(), taken_us.end());
  return taken_us[REPEATS / 2];
}

static bool passes(Work copy, Work then) {
  int multiprocessors;
  CUstream own = stream(), full = stream();
  OK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  add(copy, own);
  OK(cuCtxSynchronize());
  *word = 0;
  fill<<<32 * multiprocessors, 64, 0, full>>>((volatile unsigned *)word_seen);
  pause_us(20000);
  add(then, own);
  double until_us = now_us() + 100000;
  CUresult found;
  while ((found = cuStreamQuery(own)) == CUDA_ERROR_NOT_READY && now_us() < until_us) {
  }
  *word = 1;
  OK(cuCtxSynchronize());
  return found == CUDA_SUCCESS;
}

int main() {
  use_first_gpu();
  OK(cuMemAlloc(&device, BYTES + 4096));
  OK(cuMemHostAlloc(&host, BYTES, 0));
  OK(cuMemHostAlloc((void **)&word, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
  OK(cuMemHostGetDevicePointer(&word_seen, (void *)word, 0));
  const char *names[] = {"nothing", "copy to the host", "copy to the device", "write of a word", "wait for an event",
                         "memset of 4 bytes", "copy of 4 bytes on the device", "kernel"};
  for (Work warm : {KERNEL, MEMSET, ON_DEVICE, TO_HOST, TO_DEVICE}) add(warm, stream());
  *word = 1;
  fill<<<1, 64>>>((volatile unsigned *)word_seen);
  OK(cuCtxSynchronize());
  for (Work copy : {NONE, TO_HOST, TO_DEVICE})
    for (Work then : {NONE, WRITE, EVENT, MEMSET, ON_DEVICE, KERNEL})
      printf("%-18s then %-30s %.2f us there and back\n", names[copy], names[then], way_us(copy, then));
  for (Work copy : {NONE, TO_HOST, TO_DEVICE})
    for (Work then : {WRITE, MEMSET, ON_DEVICE, KERNEL})
      printf("beside a full device, %-18s then %-30s %s\n", names[copy], names[then],
             passes(copy, then) ? "passes" : "waits");
  return 0;
}
