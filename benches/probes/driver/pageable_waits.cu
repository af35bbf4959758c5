/* Does an asynchronous copy of pageable memory wait for earlier work of its stream, and when does it read its source?
 * Run natively and under `overtake run`. Build: nvcc -O2 pageable_waits.cu -lcuda */
#include "clock.h"
#include "gpu.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

enum { ROUNDS = 7 };
static const double BUSY_US = 20e3;

__global__ void spin(long long span_ns)
{
    long long first, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(first));
    do
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while (now - first < span_ns);
}

struct Probe {
    CUstream stream;
    CUdeviceptr device;
    unsigned char *host, *back;
};

/* The time of the call in a busy stream. Counts the bytes that were read when it had returned. */
static double call_us(const Probe &probe, size_t bytes, bool to_device, unsigned char content, size_t *read_late)
{
    memset(probe.host, content, bytes);
    OK(cuCtxSynchronize());
    spin<<<1, 1, 0, (cudaStream_t)probe.stream>>>((long long)(BUSY_US * 1e3));
    double began_us = now_us();
    if (to_device)
        OK(cuMemcpyHtoDAsync(probe.device, probe.host, bytes, probe.stream));
    else
        OK(cuMemcpyDtoHAsync(probe.back, probe.device, bytes, probe.stream));
    double span_us = now_us() - began_us;
    memset(probe.host, 0xcc, bytes);
    OK(cuStreamSynchronize(probe.stream));
    if (to_device) {
        OK(cuMemcpyDtoH(probe.back, probe.device, bytes));
        *read_late += std::count(probe.back, probe.back + bytes, 0xcc);
    }
    return span_us;
}

int main(void)
{
    static const size_t SIZES[] = {4 << 10, 64 << 10,         (64 << 10) + 1,       1 << 20,
                                   2 << 20, (2 << 20) + 4096, (4 << 20) - 4096, 16 << 20};
    static const size_t MOST = 16 << 20;
    use_first_gpu();
    Probe probe = {nullptr, 0, (unsigned char *)malloc(MOST), (unsigned char *)malloc(MOST)};
    OK(cuStreamCreate(&probe.stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&probe.device, MOST));
    memset(probe.back, 0, MOST);
    printf("way bytes  median lowest highest us of the call, in a stream busy for %.0f us  bytes read late\n", BUSY_US);
    for (int to_device = 1; to_device >= 0; to_device--)
        for (size_t bytes : SIZES) {
            double span_us[ROUNDS];
            size_t read_late = 0;
            for (int round = 0; round < ROUNDS; round++)
                span_us[round] = call_us(probe, bytes, to_device, (unsigned char)(round + 1), &read_late);
            std::sort(span_us, span_us + ROUNDS);
            printf("%s %9zu %10.1f %10.1f %10.1f %zu\n", to_device ? "h2d" : "d2h", bytes, span_us[ROUNDS / 2],
                   span_us[0], span_us[ROUNDS - 1], read_late);
        }
    return 0;
}
