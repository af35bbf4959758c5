// Where a guarded copy loses its bandwidth: copies of one stream, one behind the other, each way with one step more.
// nvcc -O3 -std=c++17 -arch=sm_90 guarded_steps.cu -lcuda && ./a.out
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
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

static const u64 MIB = 1 << 20, MEMORY = 512 * MIB, SLOTS = 4096, SLOT = 256, HEAD = MIB / 2;
enum Way { ENGINE, KERNEL, MIRROR, OVERLAPPED, AGREED, END, IN_FULL, DEVICE_WORD, IN_PARTS, WITH_HEAD, WAYS };
static const char *NAMES[WAYS] = {
    "copy engine",
    "kernel in the stream",
    "with the block that mirrors",
    "with launches that overlap",
    "with the agreement with the host",
    "in a stream of its own, by events",
    "as the guard does: with the word",
    "with the word in device memory",
    "four descriptors a launch",
    "the engine makes the first 512 KiB",
};

static CUdeviceptr there, slots, device_words, host_words;
static char *here;
static u32 launches[2];

// One direction: the program's stream, that of the kernels, and that which waits for words.
struct Lane {
  bool to_host;
  CUstream program, copies, waits;
  CUevent ready[64], leave[64];
  u64 next;
  int blocks, warps;

  Lane(bool to_host, int blocks, int warps) : to_host(to_host), next(0), blocks(blocks), warps(warps) {
    int least, greatest;
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    OK(cuStreamCreateWithPriority(&program, CU_STREAM_NON_BLOCKING, least));
    for (CUstream *stream : {&copies, &waits}) OK(cuStreamCreateWithPriority(stream, CU_STREAM_NON_BLOCKING, greatest));
    for (CUevent *events : {ready, leave})
      for (int i = 0; i < 64; i++) OK(cuEventCreate(events + i, CU_EVENT_DISABLE_TIMING));
  }

  Descriptor part(u64 bytes, u64 from, u64 to) const {
    u64 start = next * bytes % MEMORY, host = (u64)here + start + from, device = there + start + from;
    return {to_host ? host : device, to_host ? device : host, to - from, 1, 0, 0, COPY, 0, 0};
  }

  void by_engine(const Descriptor &d) const {
    if (to_host) {
      OK(cuMemcpyDtoHAsync((void *)d.target, d.source, d.width_bytes, program));
    } else {
      OK(cuMemcpyHtoDAsync(d.target, (void *)d.source, d.width_bytes, program));
    }
  }

  void come(CUevent event) const {
    OK(cuEventRecord(event, program));
    OK(cuStreamWaitEvent(copies, event, 0));
  }

  void go(CUevent event, CUstream behind) const {
    OK(cuEventRecord(event, behind));
    OK(cuStreamWaitEvent(program, event, 0));
  }

  void put(Way way, u64 bytes);
};

static Gate gate_of(bool mirrors) {
  static u64 used;
  if (!mirrors) return Gate{};
  CUdeviceptr slot = slots + used++ % SLOTS * SLOT;
  return {(u32 *)host_words + 1024, (u32 *)slot, (u32 *)(slot + 128), 20000000, (u32 *)host_words + 1040};
}

static cudaLaunchConfig_t config(int blocks, int warps, CUstream stream, cudaLaunchAttribute *overlaps) {
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks, config.blockDim = 32 * warps, config.stream = (cudaStream_t)stream;
  if (overlaps) {
    overlaps->id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlaps->val.programmaticStreamSerializationAllowed = 1;
    config.attrs = overlaps, config.numAttrs = 1;
  }
  return config;
}

void Lane::put(Way way, u64 bytes) {
  CUevent ready_now = ready[next % 64], leave_now = leave[next % 64];
  Descriptor whole = part(bytes, 0, bytes);
  cudaLaunchAttribute overlaps;
  if (way == ENGINE) {
    by_engine(whole);
  } else if (way <= OVERLAPPED) {
    bool mirrors = way != KERNEL;
    auto launch = config(blocks + mirrors, warps, program, way == OVERLAPPED ? &overlaps : nullptr);
    OK(cudaLaunchKernelEx(&launch, overtake_copy, Inline{{whole}}, 1u, gate_of(mirrors)));
  } else {
    InlineMany table = {{way == WITH_HEAD ? part(bytes, std::min(HEAD, bytes / 2), bytes) : whole}};
    u32 count = way == IN_PARTS ? 4 : 1, number = ++launches[to_host];
    for (u32 i = 0; count > 1 && i < count; i++) table.descriptors[i] = part(bytes, bytes / 4 * i, bytes / 4 * (i + 1));
    CUdeviceptr words = host_words + 512 * to_host, seen = device_words + 512 * to_host;
    CUdeviceptr done = way == DEVICE_WORD ? seen : words + 192;
    Guard guard = {(u32 *)words,         (u32 *)(words + 64),   (u32 *)(words + 128), (u32 *)done,
                   (u32 *)(seen + 4096), number, 0};
    if (way != AGREED) come(ready_now);
    auto launch = config(blocks + 1, warps, way == AGREED ? program : copies, nullptr);
    OK(cudaLaunchKernelEx(&launch, overtake_copy_guarded, table, count, gate_of(true), guard));
    if (way == WITH_HEAD) by_engine(part(bytes, 0, std::min(HEAD, bytes / 2)));
    if (way == END) go(leave_now, copies);
    if (way > END) {
      OK(cuStreamWaitValue32(waits, done, number, CU_STREAM_WAIT_VALUE_GEQ));
      go(leave_now, waits);
    }
  }
  next++;
}

// In GB/s, all lanes together.
static double rate(const std::vector<Lane *> &lanes, Way way, u64 bytes) {
  u64 count = std::min<u64>(160, std::max<u64>(12, 768 * MIB / bytes));
  CUevent begin[2], end[2];
  for (CUevent *events : {begin, end})
    for (int i = 0; i < 2; i++) OK(cuEventCreate(events + i, 0));
  for (u64 i = 0; i < count; i++)
    for (size_t k = 0; k < lanes.size(); k++) {
      if (i == 4) OK(cuEventRecord(begin[k], lanes[k]->program));
      lanes[k]->put(way, bytes);
      if (i == count - 1) OK(cuEventRecord(end[k], lanes[k]->program));
    }
  OK(cuCtxSynchronize());
  double sum = 0;
  for (size_t k = 0; k < lanes.size(); k++) {
    float ms;
    OK(cuEventElapsedTime(&ms, begin[k], end[k]));
    sum += (count - 4) * bytes / (ms * 1e6);
  }
  return sum;
}

static void table(const char *name, const std::vector<Lane *> &lanes) {
  for (u64 bytes : {MIB, 2 * MIB, 4 * MIB, 16 * MIB, 256 * MIB}) {
    double engine = 0;
    for (int way = 0; way < WAYS; way++) {
      std::vector<double> rates;
      for (int i = 0; i < 3; i++) rates.push_back(rate(lanes, (Way)way, bytes));
      std::sort(rates.begin(), rates.end());
      if (way == ENGINE) engine = rates[1];
      double us = bytes * lanes.size() / (rates[1] * 1e3);
      printf("%-4s %3llu MiB  %-36s %5.1f GB/s (%4.1f to %4.1f) %4.0f %%  %7.1f us a copy\n", name, bytes / MIB,
             NAMES[way], rates[1], rates[0], rates[2], 100 * rates[1] / engine, us);
    }
  }
}

int main() {
  OK(cudaSetDevice(0));
  OK(cudaFree(nullptr));
  OK(cuMemAlloc(&there, MEMORY));
  OK(cuMemHostAlloc((void **)&here, MEMORY, CU_MEMHOSTALLOC_DEVICEMAP));
  memset(here, 1, MEMORY);
  OK(cuMemAlloc(&slots, SLOTS * SLOT));
  OK(cuMemAlloc(&device_words, 65536));
  OK(cuMemHostAlloc((void **)&host_words, 65536, CU_MEMHOSTALLOC_DEVICEMAP));
  memset((void *)host_words, 0, 65536);
  for (CUdeviceptr memory : {slots, device_words}) OK(cuMemsetD8(memory, 0, memory == slots ? SLOTS * SLOT : 65536));
  Lane up(false, 4, 16), down(true, 2, 9);  // as many warps as under the drop-in
  rate({&up}, IN_FULL, MIB);
  table("h2d", {&up});
  table("d2h", {&down});
  table("both", {&up, &down});
}
