// The guarded copy kernel on a real GPU: the hang that it is for, its rescue, its order and its cost.
// nvcc -O2 -std=c++17 -arch=sm_90 guard.cu -lcuda && ./a.out ../../../copies/src/kernel/copy.ptx
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "../../../copies/src/kernel/copy.cu"

#define OK(call)                                                                     \
  do {                                                                               \
    int code_ = (int)(call);                                                         \
    if (code_) printf("line %d: %s returned %d\n", __LINE__, #call, code_), exit(1); \
  } while (0)

static const size_t MIB = 1 << 20;
enum Way { ENGINE, PLAIN, GUARDED, GUARDED_DIRECT };
static const char *WAYS[] = {"engine", "plain kernel", "guarded", "guarded, wait in S"};

static double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
static void sleep_us(int us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); }

// Fills multiprocessors until the flag in device memory is set, or the host gives up. All threads stay: those that end
// leave their places. One block looks at host memory, because many would take the bus away from the copies.
__global__ void fill(volatile u32 *flag, const volatile u32 *give_up) {
  if (threadIdx.x == 0)
    while (!*flag) {
      __nanosleep(1000);
      if (blockIdx.x == 0 && *give_up) *flag = 1;
    }
  __syncthreads();
}
__global__ void sum(const u32 *data, size_t words, unsigned long long *out) {
  unsigned long long mine = 0;
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x) mine += data[i];
  atomicAdd(out, mine);
}

static CUfunction plain_copy, guarded_copy;
static u32 *host_words;  // mapped; one word per 128 bytes
static u32 *device_words;
static CUstream stream() {
  CUstream made;
  OK(cuStreamCreateWithPriority(&made, CU_STREAM_NON_BLOCKING, -5));
  return made;
}
static CUevent event() {
  CUevent made;
  OK(cuEventCreate(&made, CU_EVENT_DISABLE_TIMING));
  return made;
}

struct Pending {
  u32 number;
  CUevent ready;
  CUdeviceptr to, from;
  size_t bytes;
  double since = 0;
};

struct Carrier {
  CUstream copies = stream(), waits = stream(), rescues = stream();
  CUevent join = event();
  volatile u32 *started = host_words + 64, *cancel = host_words + 96, *outcome = host_words + 128,
               *done = host_words + 160;
  std::mutex lock;
  std::deque<Pending> pending;
  u32 number = 0;
  bool broken = false;
  int rescued = 0;
  std::vector<CUevent> events;

  CUevent take() {
    if (events.empty()) return event();
    CUevent spare = events.back();
    events.pop_back();
    return spare;
  }
  void tidy() {
    while (!pending.empty() && (int)(*done - pending.front().number) >= 0) {
      events.push_back(pending.front().ready);
      pending.pop_front();
    }
  }
};
static Carrier *carrier;
static u32 *gate_words;
static u32 slots = 0;

static InlineMany table_of(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  InlineMany table;
  memset(&table, 0, sizeof table);
  table.descriptors[0] = {to, from, bytes, 1, bytes, bytes, COPY, 0, 0};
  return table;
}
static Gate gate_of() {
  u32 *slot = gate_words + (slots++ % 512) * 64;
  return {host_words, slot, slot + 32, 20000000ull};
}

static void submit_guarded(CUdeviceptr to, CUdeviceptr from, size_t bytes, bool h2d, CUstream s, bool direct) {
  Carrier &c = *carrier;
  std::lock_guard<std::mutex> held(c.lock);
  c.tidy();
  if (c.broken) {
    OK(cuMemcpyAsync(to, from, bytes, s));
    return;
  }
  u32 n = c.number + 1, count = 1;
  CUevent ready = c.take();
  OK(cuEventRecord(ready, s));
  OK(cuStreamWaitEvent(c.copies, ready, 0));
  InlineMany table = table_of(to, from, bytes);
  Gate gate = gate_of();
  Guard guard = {c.started, c.cancel, c.outcome, c.done, device_words, n, 0};
  void *parameters[] = {&table, &count, &gate, &guard};
  OK(cuLaunchKernel(guarded_copy, h2d ? 5 : 4, 1, 1, 512, 1, 1, 0, c.copies, parameters, 0));
  c.number = n;
  CUstream waiter = direct ? s : c.waits;
  OK(cuStreamWaitValue32(waiter, (CUdeviceptr)c.done, n, CU_STREAM_WAIT_VALUE_GEQ));
  if (!direct) {
    OK(cuEventRecord(c.join, c.waits));
    OK(cuStreamWaitEvent(s, c.join, 0));
  }
  c.pending.push_back({n, ready, to, from, bytes});
}

static void copy(Way way, CUdeviceptr to, CUdeviceptr from, size_t bytes, bool h2d, CUstream s) {
  if (way == ENGINE) {
    OK(cuMemcpyAsync(to, from, bytes, s));
  } else if (way == PLAIN) {
    u32 count = 1;
    InlineMany table = table_of(to, from, bytes);
    Gate gate = gate_of();
    void *parameters[] = {&table, &count, &gate};
    OK(cuLaunchKernel(plain_copy, h2d ? 5 : 4, 1, 1, 512, 1, 1, 0, s, parameters, 0));
  } else {
    submit_guarded(to, from, bytes, h2d, s, way == GUARDED_DIRECT);
  }
}

static void rescue(Carrier &c) {
  c.broken = true;
  u32 last = c.number, first = c.pending.front().number;
  *c.cancel = last;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if ((int)(*c.started - first) >= 0) {
    while (*c.outcome / 2 != first) {
    }
    if (*c.outcome == 2 * first) c.pending.pop_front();
  }
  for (Pending &p : c.pending) {
    OK(cuStreamWaitEvent(c.rescues, p.ready, 0));
    OK(cuMemcpyAsync(p.to, p.from, p.bytes, c.rescues));
    OK(cuStreamWriteValue32(c.rescues, (CUdeviceptr)c.done, p.number, 0));
    c.rescued++;
  }
  c.pending.clear();
}

static std::atomic<bool> stop{false};
static void rescuer() {
  OK(cudaSetDevice(0));
  OK(cudaFree(0));
  while (!stop) {
    sleep_us(5000);
    std::lock_guard<std::mutex> held(carrier->lock);
    Carrier &c = *carrier;
    c.tidy();
    if (c.broken || c.pending.empty()) continue;
    Pending &head = c.pending.front();
    if (head.since == 0 && cuEventQuery(head.ready) == CUDA_SUCCESS) head.since = now_us();
    bool started = (int)(*c.started - head.number) >= 0;
    if (head.since != 0 && now_us() - head.since > 20000 && !started) rescue(c);
  }
}
static void mend() {
  OK(cuCtxSynchronize());
  std::lock_guard<std::mutex> held(carrier->lock);
  carrier->tidy();
  carrier->broken = false;
  carrier->rescued = 0;
}

static char *host, *back;
static CUdeviceptr spare;
static CUstream S, T;
static int multiprocessors;
static u32 *flag_source;

// A program that ends natively: a kernel fills (nearly) all multiprocessors and waits for a flag that arrives behind
// `bulks` bulk copies. The calling thread then blocks in `blocked_in`.
static void hazard(const char *name, Way way, int bulks, int places_left, std::function<void()> blocked_in) {
  OK(cudaMemset(device_words + 32, 0, 4));
  OK(cuMemsetD8((CUdeviceptr)spare, 0, 64 * MIB));
  for (size_t i = 0; i < 64 * MIB / 8; i++) ((u64 *)host)[i] = (i + way + bulks) * 0x9E3779B97F4A7C15ull;
  memcpy(back, host, 64 * MIB);
  host_words[32] = 0;
  OK(cuCtxSynchronize());
  fill<<<multiprocessors * 2 - places_left, 1024, 0, T>>>(device_words + 32, host_words + 32);
  sleep_us(5000);
  std::atomic<bool> ended{false}, gave_up{false};
  std::thread dog([&] {
    for (int i = 0; i < 1500 && !ended; i++) sleep_us(1000);
    if (!ended) gave_up = true, ((volatile u32 *)host_words)[32] = 1;
  });
  double began = now_us();
  for (int i = 0; i < bulks; i++) copy(way, spare, (CUdeviceptr)host, 64 * MIB, true, S);
  OK(cuMemcpyHtoDAsync((CUdeviceptr)(device_words + 32), flag_source, 4, S));
  blocked_in();
  OK(cuStreamSynchronize(S));
  double ms = (now_us() - began) / 1e3;
  ended = true;
  dog.join();
  // A cancelled kernel that ran late and copied nevertheless would bring these bytes.
  memset(host, 0xee, 64 * MIB);
  OK(cuCtxSynchronize());
  int rescued = carrier->rescued;
  mend();
  OK(cuMemcpyDtoH(host, spare, 64 * MIB));
  printf("%-34s %-20s %-26s %8.1f ms  rescued %d  bytes %s\n", name, WAYS[way],
         gave_up ? "HANGS (released by the test)" : "ends", ms, rescued,
         memcmp(host, back, 64 * MIB) ? "WRONG" : "right");
  fflush(stdout);
}

static void hazards() {
  auto nothing = [] {};
  for (Way way : {ENGINE, PLAIN, GUARDED, GUARDED_DIRECT}) hazard("all multiprocessors full", way, 1, 0, nothing);
  for (Way way : {ENGINE, PLAIN, GUARDED}) hazard("all but one place full", way, 1, 1, nothing);
  for (Way way : {ENGINE, GUARDED}) hazard("behind three bulk copies", way, 3, 0, nothing);
  auto free_memory = [] {
    CUdeviceptr some;
    OK(cuMemAlloc(&some, 4 * MIB));
    OK(cuMemFree(some));
  };
  auto allocate_pinned = [] {
    void *some;
    OK(cuMemHostAlloc(&some, 4 * MIB, 0));
    OK(cuMemFreeHost(some));
  };
  auto fill_stream = [] {
    for (int i = 0; i < 3000; i++) OK(cuMemsetD32Async((CUdeviceptr)(device_words + 64), i, 1, S));
  };
  auto synchronous = [] { OK(cuMemcpyHtoD((CUdeviceptr)(device_words + 96), flag_source, 4)); };
  for (Way way : {ENGINE, GUARDED}) {
    hazard("then cuCtxSynchronize", way, 1, 0, [] { OK(cuCtxSynchronize()); });
    hazard("then cuMemFree", way, 1, 0, free_memory);
    hazard("then cuMemHostAlloc and free", way, 1, 0, allocate_pinned);
    hazard("then 3000 operations in S", way, 1, 0, fill_stream);
    hazard("then a synchronous copy", way, 1, 0, synchronous);
  }
}

// Kernels before and after a guarded copy see the bytes of before and after it.
static void order() {
  unsigned long long *sums;
  OK(cudaHostAlloc((void **)&sums, 4096, cudaHostAllocMapped));
  size_t bytes = 4 * MIB, words = bytes / 4;
  int wrong = 0, rounds = 300;
  for (int round = 0; round < rounds; round++) {
    for (size_t i = 0; i < words; i++) ((u32 *)host)[i] = (u32)(i * 31 + round);
    memset(back, 0, bytes);
    sums[0] = 0;
    copy(GUARDED, spare, (CUdeviceptr)host, bytes, true, S);
    sum<<<264, 512, 0, S>>>((u32 *)spare, words, sums);
    copy(GUARDED, (CUdeviceptr)back, spare, bytes, false, S);
    OK(cuStreamSynchronize(S));
    unsigned long long expected = 0;
    for (size_t i = 0; i < words; i++) expected += (u32)(i * 31 + round);
    wrong += sums[0] != expected || memcmp(host, back, bytes) != 0;
  }
  printf("order: %d of %d rounds wrong\n", wrong, rounds);
}

static void cost() {
  printf("%-6s %-20s | one at a time: call us  total us p50   p90 | 16 in a row GB/s\n", "", "");
  for (bool h2d : {true, false})
    for (size_t mib : {1, 4, 16, 64})
      for (Way way : {ENGINE, PLAIN, GUARDED, GUARDED_DIRECT}) {
        std::vector<double> calls, totals;
        CUdeviceptr to = h2d ? spare : (CUdeviceptr)host, from = h2d ? (CUdeviceptr)host : spare;
        for (int i = 0; i < 60; i++) {
          sleep_us(200);
          double began = now_us();
          copy(way, to, from, mib * MIB, h2d, S);
          double called = now_us();
          OK(cuStreamSynchronize(S));
          totals.push_back(now_us() - began);
          calls.push_back(called - began);
        }
        double began = now_us();
        for (int i = 0; i < 16; i++) copy(way, to, from, mib * MIB, h2d, S);
        OK(cuStreamSynchronize(S));
        double gbps = 16.0 * mib * MIB / (now_us() - began) / 1e3;
        std::sort(calls.begin(), calls.end());
        std::sort(totals.begin(), totals.end());
        printf("%s %2zu MiB %-20s | %21.1f %14.1f %7.1f | %.1f\n", h2d ? "H2D" : "D2H", mib, WAYS[way], calls[30],
               totals[30], totals[54], gbps);
      }
  fflush(stdout);
}

// How many of 12 small D2H copies in fresh streams, 50 us apart, do not complete within 3 ms, while `waiting` streams
// wait behind a D2H copy of their own: on a word; on an event of a stream that waits on the word; with a copy behind.
static void queues() {
  for (int waiting : {1, 2, 3, 4, 6})
    for (int mode = 0; mode < 3; mode++) {
      volatile u32 *word = host_words + 256;
      *word = 0;
      std::vector<CUstream> made;  // all before anything waits: making one might wait too
      for (int i = 0; i < 2 * waiting + 12; i++) made.push_back(stream());
      for (int i = 0; i < waiting; i++) {
        CUstream s = made[2 * i], w = made[2 * i + 1];
        OK(cuMemcpyDtoHAsync(back + i * 4096, spare, 4096, s));
        OK(cuStreamWaitValue32(mode == 0 ? s : w, (CUdeviceptr)word, 1, CU_STREAM_WAIT_VALUE_GEQ));
        if (mode != 0) {
          OK(cuEventRecord(carrier->join, w));
          OK(cuStreamWaitEvent(s, carrier->join, 0));
        }
        if (mode == 2) OK(cuMemcpyDtoHAsync(back + i * 4096, spare, 4096, s));
        sleep_us(50);
      }
      int blocked = 0;
      for (int i = 0; i < 12; i++) {
        CUstream u = made[2 * waiting + i];
        OK(cuMemcpyDtoHAsync(back + MIB, spare, 4096, u));
        double began = now_us();
        while (cuStreamQuery(u) != CUDA_SUCCESS && now_us() - began < 3000) sleep_us(20);
        blocked += cuStreamQuery(u) != CUDA_SUCCESS;
        sleep_us(50);
      }
      *word = 1;
      OK(cuCtxSynchronize());
      for (CUstream s : made) OK(cuStreamDestroy(s));
      const char *modes[] = {"wait in S", "event of W", "event of W, copy behind"};
      printf("queues: %d streams, %-24s %2d of 12 blocked\n", waiting, modes[mode], blocked);
    }
  fflush(stdout);
}

int main(int argc, char **argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  OK(cudaSetDevice(0));
  OK(cudaFree(0));
  cudaDeviceProp properties;
  OK(cudaGetDeviceProperties(&properties, 0));
  multiprocessors = properties.multiProcessorCount;
  CUmodule module;
  OK(cuModuleLoad(&module, argc > 1 ? argv[1] : "copy.ptx"));
  OK(cuModuleGetFunction(&plain_copy, module, "overtake_copy"));
  OK(cuModuleGetFunction(&guarded_copy, module, "overtake_copy_guarded"));
  OK(cudaHostAlloc((void **)&host_words, 65536, cudaHostAllocMapped));
  memset(host_words, 0, 65536);
  OK(cudaMalloc((void **)&device_words, 4096));
  OK(cudaMemset(device_words, 0, 4096));
  OK(cudaMalloc((void **)&gate_words, 512 * 256));
  OK(cudaMemset(gate_words, 0, 512 * 256));
  OK(cudaHostAlloc((void **)&host, 64 * MIB, cudaHostAllocMapped));
  OK(cudaHostAlloc((void **)&back, 64 * MIB, cudaHostAllocMapped));
  OK(cudaHostAlloc((void **)&flag_source, 4096, cudaHostAllocMapped));
  *flag_source = 1;
  OK(cuMemAlloc(&spare, 64 * MIB));
  OK(cuStreamCreate(&S, CU_STREAM_NON_BLOCKING));
  OK(cuStreamCreate(&T, CU_STREAM_NON_BLOCKING));
  sum<<<1, 32, 0, T>>>((u32 *)spare, 0, (unsigned long long *)device_words + 60);
  OK(cudaMemset(device_words + 32, 1, 4));
  fill<<<1, 32, 0, T>>>(device_words + 32, flag_source);
  carrier = new Carrier();
  OK(cudaDeviceSynchronize());
  std::thread watching(rescuer);
  const char *parts = argc > 2 ? argv[2] : "ochq";
  if (strchr(parts, 'o')) order();
  if (strchr(parts, 'c')) cost();
  if (strchr(parts, 'h')) hazards();
  if (strchr(parts, 'q')) queues();
  stop = true;
  watching.join();
  return 0;
}
