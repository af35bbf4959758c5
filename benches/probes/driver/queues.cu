// Are hardware copy queues bound to streams statically or assigned at submission? Which H2D sizes use the copy queue at
// all?
// nvcc -O2 -std=c++17 -arch=sm_90 queues.cu -lcuda && ./a.out
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
CUdeviceptr dlow, dhigh;
char *hlow, *hhigh;
volatile uint32_t* H;
CUdeviceptr dH;
__global__ void nopk() {
}
static void ce(CUstream s, bool d2h, size_t n) {
  if (d2h)
    CK(cuMemcpyDtoHAsync(hhigh, dhigh, n, s));
  else
    CK(cuMemcpyHtoDAsync(dhigh, hhigh, n, s));
}
static void round_(const char* nm, std::vector<CUstream>& s, bool d2h, size_t n, int b, std::vector<int> order,
                   int gapus) {
  int N = s.size();
  H[0] = 1;
  CK(cuStreamWaitValue32(s[b], dH, 0, CU_STREAM_WAIT_VALUE_EQ));
  ce(s[b], d2h, n);
  for (int x : order)
    if (x != b) {
      ce(s[x], d2h, n);
      if (gapus) {
        double t = now_us();
        while (now_us() - t < gapus)
          ;
      }
    }
  double t = now_us();
  while (now_us() - t < 3000)
    ;
  printf("  %-34s block %2d ->", nm, b);
  for (int x = 0; x < N; x++)
    if (x != b && cuStreamQuery(s[x]) != CUDA_SUCCESS)
      printf(" %d", x);
  printf("\n");
  fflush(stdout);
  H[0] = 0;
  CK(cuCtxSynchronize());
}
static void study(bool d2h, size_t n, int N, int warm) {
  printf("%s %zu B, %d streams, warm %d\n", d2h ? "D2H" : "H2D", n, N, warm);
  std::vector<CUstream> s(N);
  for (auto& x : s)
    CK(cuStreamCreate(&x, 1));
  std::vector<int> up, down, ev;
  for (int i = 0; i < N; i++) {
    up.push_back(i);
    down.push_back(N - 1 - i);
  }
  for (int i = 0; i < N; i += 2)
    ev.push_back(i);
  for (int i = 1; i < N; i += 2)
    ev.push_back(i);
  if (warm == 1)
    for (int i : up)
      ce(s[i], d2h, n);
  if (warm == 2)
    for (int i : down)
      ce(s[i], d2h, n);
  CK(cuCtxSynchronize());
  round_("up", s, d2h, n, 0, up, 0);
  round_("up again", s, d2h, n, 0, up, 0);
  round_("down", s, d2h, n, 0, down, 0);
  round_("evens then odds", s, d2h, n, 0, ev, 0);
  round_("up, 20 us apart", s, d2h, n, 0, up, 20);
  round_("block 1 up", s, d2h, n, 1, up, 0);
  round_("block 5 up", s, d2h, n, 5, up, 0);
  round_("block 5 down", s, d2h, n, 5, down, 0);
  round_("up third", s, d2h, n, 0, up, 0);
  for (auto x : s)
    CK(cuStreamDestroy(x));
}
// one busy bulk stream + gate; one urgent stream among U used in turn: fraction of urgent copies blocked by a gated
// stream
static void frac(bool d2h, int U, size_t n) {
  std::vector<CUstream> u(U);
  for (auto& x : u)
    CK(cuStreamCreate(&x, 1));
  CUstream b;
  CK(cuStreamCreate(&b, 1));
  int blocked = 0, tot = 0;
  for (int r = 0; r < 24; r++) {
    H[0] = 1;
    CK(cuStreamWaitValue32(b, dH, 0, CU_STREAM_WAIT_VALUE_EQ));
    ce(b, d2h, n);
    CUstream s = u[r % U];
    ce(s, d2h, n);
    double t = now_us();
    while (now_us() - t < 600 && cuStreamQuery(s) != CUDA_SUCCESS)
      ;
    if (cuStreamQuery(s) != CUDA_SUCCESS)
      blocked++;
    tot++;
    H[0] = 0;
    CK(cuCtxSynchronize());
  }
  printf("gated bulk re-gated each time, %s, %d urgent streams in turn: %d of %d blocked\n", d2h ? "D2H" : "H2D", U,
         blocked, tot);
  blocked = 0;
  H[0] = 1;
  CK(cuStreamWaitValue32(b, dH, 0, CU_STREAM_WAIT_VALUE_EQ));
  ce(b, d2h, n);
  std::vector<int> bl(U, 0);
  for (int r = 0; r < 4 * U; r++) {
    CUstream s = u[r % U];
    if (bl[r % U])
      continue;
    ce(s, d2h, n);
    double t = now_us();
    while (now_us() - t < 600 && cuStreamQuery(s) != CUDA_SUCCESS)
      ;
    if (cuStreamQuery(s) != CUDA_SUCCESS)
      bl[r % U] = r + 1;
  }
  printf("   gate held: stream(first blocked at attempt):");
  for (int i = 0; i < U; i++)
    printf(" %d(%d)", i, bl[i]);
  printf("\n");
  fflush(stdout);
  H[0] = 0;
  CK(cuCtxSynchronize());
  for (auto x : u)
    CK(cuStreamDestroy(x));
  CK(cuStreamDestroy(b));
}
static void sizes(bool d2h) {
  CUstream lo, hi;
  CK(cuStreamCreate(&lo, 1));
  CK(cuStreamCreate(&hi, 1));
  printf("%s size vs latency behind 256 MiB engine copies:", d2h ? "D2H" : "H2D");
  for (size_t n : {4ul, 256ul, 1024ul, 4096ul, 8192ul, 16384ul, 24576ul, 32768ul, 49152ul, 65536ul, 131072ul}) {
    std::vector<double> v;
    for (int r = 0; r < 7; r++) {
      for (int k = 0; k < 2; k++) {
        if (d2h)
          CK(cuMemcpyDtoHAsync(hlow, dlow, LOW, lo));
        else
          CK(cuMemcpyHtoDAsync(dlow, hlow, LOW, lo));
      }
      usleep(300);
      double t = now_us();
      ce(hi, d2h, n);
      CK(cuStreamSynchronize(hi));
      v.push_back(now_us() - t);
      CK(cuCtxSynchronize());
    }
    std::sort(v.begin(), v.end());
    printf(" %zu:%.0f", n, v[3]);
  }
  printf("\n");
  fflush(stdout);
  CK(cuStreamDestroy(lo));
  CK(cuStreamDestroy(hi));
}
int main(int argc, char** argv) {
  CK(cuInit(0));
  CK(cuDeviceGet(&dev, 0));
  CK(cuDevicePrimaryCtxRetain(&ctx, dev));
  CK(cuCtxSetCurrent(ctx));
  cudaFree(0);
  CK(cuMemAlloc(&dlow, LOW));
  CK(cuMemAlloc(&dhigh, 64 * MB));
  CK(cuMemHostAlloc((void**)&hlow, LOW, 3));
  memset(hlow, 1, LOW);
  CK(cuMemHostAlloc((void**)&hhigh, 64 * MB, 3));
  void* p;
  CK(cuMemHostAlloc(&p, 65536, 3));
  memset(p, 0, 65536);
  H = (uint32_t*)p;
  CK(cuMemHostGetDevicePointer(&dH, p, 0));
  if (argc == 1)
    for (int d = 0; d < 2; d++)
      sizes(d);
  for (int d = 0; d < 2; d++)
    for (int w = 0; w < 3; w++) {
      if (argc > 1 && w != 1)
        continue;
      study(d, 65536, 16, w);
    }
  for (int d = 0; d < 2; d++)
    for (int U : {1, 3, 8})
      frac(d, U, 65536);
  return 0;
}
