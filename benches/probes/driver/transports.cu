// Urgent copies by copy kernel and by engine, beside bulk by engine (whole and in chunks), by kernel, and by both at
// once. Also the assignment of queues.
// nvcc -O2 -std=c++17 -arch=sm_90 transports.cu -lcuda && ./a.out
#include <cuda.h>
#include <cuda_runtime.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "copy.cu"
#define CK(x)                                                                               \
  do {                                                                                      \
    CUresult r_ = (CUresult)(x);                                                            \
    if (r_ != CUDA_SUCCESS) {                                                               \
      const char* s = nullptr;                                                              \
      cuGetErrorString(r_, &s);                                                             \
      fprintf(stderr, "%s:%d %s -> %d %s\n", __FILE__, __LINE__, #x, (int)r_, s ? s : "?"); \
      _exit(1);                                                                             \
    }                                                                                       \
  } while (0)
static double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
static const size_t MB = 1 << 20;
static size_t LOW = 256 * MB;
CUdevice dev;
CUcontext ctx;
CUdeviceptr dlow, dhigh, dsem;
char *hlow, *hhigh;
volatile uint32_t* H;
CUdeviceptr dH;
static void kl(CUstream s, bool d2h, size_t off, size_t n, bool high, int blocks, bool gate, int slot, int U) {
  Batch b;
  memset(&b, 0, sizeof b);
  CUdeviceptr D = high ? dhigh : dlow;
  char* Hh = high ? hhigh : hlow;
  b.d[0] = {d2h ? (unsigned long long)(Hh + off) : D + off,
            d2h ? D + off : (unsigned long long)(Hh + off),
            n,
            1,
            0,
            0,
            0,
            0};
  volatile unsigned* dw = (volatile unsigned*)(dsem + slot * 256);
  const volatile unsigned* hw = gate ? (const volatile unsigned*)dH : nullptr;
  unsigned* done = (unsigned*)(dsem + slot * 256 + 128);
  if (!gate)
    dw = nullptr;
  if (U == 1)
    kcopy1<<<blocks + (gate ? 1 : 0), 512, 0, (cudaStream_t)s>>>(b, 1, dw, hw, done, 20000000ull);
  else
    kcopy4<<<blocks + (gate ? 1 : 0), 512, 0, (cudaStream_t)s>>>(b, 1, dw, hw, done, 20000000ull);
}
static void ce(CUstream s, bool d2h, size_t off, size_t n, bool high) {
  CUdeviceptr D = high ? dhigh : dlow;
  char* Hh = high ? hhigh : hlow;
  if (d2h)
    CK(cuMemcpyDtoHAsync(Hh + off, D + off, n, s));
  else
    CK(cuMemcpyHtoDAsync(D + off, Hh + off, n, s));
}
// bulk: 0 none,1 CE whole 256MB,2 CE chunks gated,3 kernel gated,4 hybrid CE chunks + kernel; urgent: 0 CE, >0
// kernel with that many blocks
static void row(bool d2h, int bulk, size_t chunk, int kb, double kfrac, int urgent, bool raise, size_t hb, int uU,
                int samples = 300) {
  int l, h;
  cuCtxGetStreamPriorityRange(&l, &h);
  CUstream lo, lo2, hi;
  CK(cuStreamCreateWithPriority(&lo, 1, l));
  CK(cuStreamCreateWithPriority(&lo2, 1, l));
  CK(cuStreamCreateWithPriority(&hi, 1, h));
  H[0] = 0;
  H[64] = 0;
  H[128] = 0;
  H[160] = 0;
  CK(cuMemsetD32(dsem, 0, 4096));
  CK(cuCtxSynchronize());
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> bytes{0};
  CUevent e1;
  CK(cuEventCreate(&e1, 2));
  std::thread f([&] {
    CK(cuCtxSetCurrent(ctx));
    uint32_t iss = 0;
    if (bulk == 1)
      while (!stop) {
        while (iss - H[128] >= 4 && !stop)
          std::this_thread::yield();
        if (stop)
          break;
        ce(lo, d2h, 0, LOW, false);
        iss++;
        CK(cuStreamWriteValue32(lo, dH + 512, iss, 0));
      }
    if (bulk == 2) {
      size_t off = 0;
      size_t per = std::max<size_t>(1, 16 * MB / chunk);
      while (!stop) {
        while (iss - H[128] >= 3 && !stop)
          __builtin_ia32_pause();
        if (stop)
          break;
        for (size_t k = 0; k < per; k++) {
          CK(cuStreamWaitValue32(lo, dH, 0, CU_STREAM_WAIT_VALUE_EQ));
          if (off + chunk > LOW)
            off = 0;
          ce(lo, d2h, off, chunk, false);
          off += chunk;
        }
        iss++;
        CK(cuStreamWriteValue32(lo, dH + 512, iss, 0));
      }
    }
    if (bulk == 3)
      while (!stop) {
        while (iss - H[128] >= 2 && !stop)
          std::this_thread::yield();
        if (stop)
          break;
        kl(lo, d2h, 0, LOW, false, kb, true, 0, 4);
        iss++;
        CK(cuStreamWriteValue32(lo, dH + 512, iss, 0));
      }
    if (bulk == 4) {
      size_t ko = (size_t)(LOW * (1 - kfrac)) / (16 * MB) * (16 * MB);
      size_t per = 16 * MB / chunk;
      size_t off = 0;
      uint32_t iss2 = 0;
      while (!stop) {
        if (iss2 - H[160] < 2) {
          kl(lo2, d2h, ko, LOW - ko, false, kb, true, 0, 4);
          iss2++;
          CK(cuStreamWriteValue32(lo2, dH + 640, iss2, 0));
        }
        if (iss - H[128] < 3) {
          for (size_t k = 0; k < per; k++) {
            CK(cuStreamWaitValue32(lo, dH, 0, CU_STREAM_WAIT_VALUE_EQ));
            if (off + chunk > ko)
              off = 0;
            ce(lo, d2h, off, chunk, false);
            off += chunk;
          }
          iss++;
          CK(cuStreamWriteValue32(lo, dH + 512, iss, 0));
        }
      }
    }
    if (bulk) {
      CK(cuStreamSynchronize(lo));
      CK(cuStreamSynchronize(lo2));
    }
  });
  usleep(40000);
  std::vector<double> v, e;
  uint32_t q = 0;
  auto done = [&] {
    double ub = bulk == 1 || bulk == 3 ? LOW : 16 * MB;
    double b = H[128] * (double)ub;
    if (bulk == 4) {
      size_t ko = (size_t)(LOW * (1 - kfrac)) / (16 * MB) * (16 * MB);
      b += H[160] * (double)(LOW - ko);
    }
    return b;
  };
  double t0 = now_us(), b0 = done();
  for (int r = 0; r < samples; r++) {
    q++;
    double t = now_us();
    if (raise)
      H[0] = 1;
    if (urgent)
      kl(hi, d2h, 0, hb, true, urgent, false, 8, uU);
    else
      ce(hi, d2h, 0, hb, true);
    CK(cuStreamWriteValue32(hi, dH + 256, q, 0));
    e.push_back(now_us() - t);
    while (H[64] != q)
      __builtin_ia32_pause();
    if (raise)
      H[0] = 0;
    v.push_back(now_us() - t);
    usleep(700 + rand() % 600);
  }
  double t1 = now_us(), b1 = done();
  stop = true;
  f.join();
  CK(cuCtxSynchronize());
  std::sort(v.begin(), v.end());
  std::sort(e.begin(), e.end());
  const char* bn[] = {"none", "CE whole", "CE chunks", "kernel", "hybrid"};
  printf(
      "%s %4zuKB urgent %-10s raise %d | bulk %-9s chunk %5zuKB blocks %d frac %.2f | p50 %7.1f p90 %7.1f p99 "
      "%7.1f max %7.1f | bulk %5.1f | enq p50 %.1f p99 %.1f\n",
      d2h ? "D2H" : "H2D", hb >> 10,
      urgent ? ("k" + std::to_string(urgent) + "u" + std::to_string(uU)).c_str() : "CE", raise, bn[bulk],
      chunk >> 10, kb, kfrac, v[samples / 2], v[samples * 9 / 10], v[samples * 99 / 100], v[samples - 1],
      (b1 - b0) / ((t1 - t0) * 1e3), e[samples / 2], e[samples * 99 / 100]);
  fflush(stdout);
  CK(cuStreamDestroy(lo));
  CK(cuStreamDestroy(lo2));
  CK(cuStreamDestroy(hi));
  CK(cuEventDestroy(e1));
}
// queue assignment: N streams, first use in the given order, priorities by pattern; block each candidate 0.. and
// list which share
static void assign(const char* name, int N, bool reverse, int prioMode, bool d2h, bool preKernel) {
  int l, h;
  cuCtxGetStreamPriorityRange(&l, &h);
  std::vector<CUstream> s(N);
  for (int i = 0; i < N; i++) {
    int p = prioMode == 0 ? 0 : prioMode == 1 ? (i % 2 ? h : l) : (i % 6) * -1;
    CK(cuStreamCreateWithPriority(&s[i], 1, p));
  }
  if (preKernel)
    for (int i = 0; i < N; i++)
      CK(cuMemsetD8Async(dhigh + 32 * MB, 0, 64, s[i]));
  for (int i = 0; i < N; i++) {
    int k = reverse ? N - 1 - i : i;
    ce(s[k], d2h, 0, 4096, true);
  }
  CK(cuCtxSynchronize());
  printf("assign %-34s %s:", name, d2h ? "D2H" : "H2D");
  std::vector<int> cls(N, -1);
  int nc = 0;
  for (int b = 0; b < N; b++) {
    if (cls[b] >= 0)
      continue;
    cls[b] = nc;
    H[0] = 1;
    CK(cuStreamWaitValue32(s[b], dH, 0, CU_STREAM_WAIT_VALUE_EQ));
    ce(s[b], d2h, 0, 4096, true);
    for (int x = 0; x < N; x++)
      if (x != b && cls[x] < 0)
        ce(s[x], d2h, 0, 4096, true);
    double t = now_us();
    while (now_us() - t < 2000)
      ;
    for (int x = 0; x < N; x++)
      if (x != b && cls[x] < 0 && cuStreamQuery(s[x]) != CUDA_SUCCESS)
        cls[x] = nc;
    H[0] = 0;
    CK(cuCtxSynchronize());
    nc++;
  }
  for (int x = 0; x < N; x++)
    printf(" %d", cls[x]);
  printf("  (%d classes)\n", nc);
  fflush(stdout);
  for (auto x : s)
    CK(cuStreamDestroy(x));
}
int main(int argc, char** argv) {
  CK(cuInit(0));
  CK(cuDeviceGet(&dev, 0));
  CK(cuDevicePrimaryCtxRetain(&ctx, dev));
  CK(cuCtxSetCurrent(ctx));
  cudaFree(0);
  CK(cuMemAlloc(&dlow, LOW));
  CK(cuMemAlloc(&dhigh, 64 * MB));
  CK(cuMemAlloc(&dsem, 65536));
  CK(cuMemsetD32(dsem, 0, 4096));
  CK(cuMemHostAlloc((void**)&hlow, LOW, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
  memset(hlow, 1, LOW);
  CK(cuMemHostAlloc((void**)&hhigh, 64 * MB, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
  memset(hhigh, 2, 64 * MB);
  void* p;
  CK(cuMemHostAlloc(&p, 65536, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
  memset(p, 0, 65536);
  H = (uint32_t*)p;
  CK(cuMemHostGetDevicePointer(&dH, p, 0));
  for (int d = 0; d < 2; d++) {
    assign("first use in order", 16, false, 0, d, false);
    assign("first use reversed", 16, true, 0, d, false);
    assign("priorities alternate", 16, false, 1, d, false);
    assign("6 priorities", 16, false, 2, d, false);
    assign("first use reversed, memset before", 16, true, 0, d, true);
  }
  if (argc > 1)
    return 0;
  for (int d = 0; d < 2; d++) {
    bool D = d;
    for (size_t hb : {(size_t)65536, MB}) {
      for (int rep = 0; rep < 2; rep++)
        row(D, 0, MB, 0, 0, 0, false, hb, 4);
      for (int u : {1, 2, 4, 8, 16})
        row(D, 0, MB, 0, 0, u, false, hb, hb == 65536 ? 1 : 4);
      row(D, 1, MB, 0, 0, 0, false, hb, 4, 40);
      for (int u : {2, 4, 8, 16})
        row(D, 1, MB, 0, 0, u, false, hb, hb == 65536 ? 1 : 4);
      for (size_t c : {1 * MB, 2 * MB, 4 * MB, 8 * MB}) {
        row(D, 2, c, 0, 0, 0, true, hb, 4);
        for (int u : {4, 8})
          row(D, 2, c, 0, 0, u, true, hb, hb == 65536 ? 1 : 4);
      }
      for (int kb : {3, 4, 6}) {
        row(D, 3, MB, kb, 0, 0, true, hb, 4);
        row(D, 3, MB, kb, 0, 8, true, hb, hb == 65536 ? 1 : 4);
      }
      for (size_t c : {256 * 1024ul, 512 * 1024ul, 1 * MB, 2 * MB})
        for (int kb : {2, 4}) {
          row(D, 4, c, kb, .5, 0, true, hb, 4);
          row(D, 4, c, kb, .5, 8, true, hb, hb == 65536 ? 1 : 4);
        }
      row(D, 0, MB, 0, 0, 0, false, hb, 4);
    }
  }
  return 0;
}
