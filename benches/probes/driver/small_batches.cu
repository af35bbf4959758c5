/* At which rate does one call (`cuMemcpyBatchAsync`) copy many small pieces of pinned memory?
 * Run natively and under `overtake run`, in turn. Build: nvcc -O2 small_batches.cu -lcuda (CUDA 13) */
#include "clock.h"
#include "gpu.h"

#include <algorithm>
#include <cstring>
#include <vector>

static const size_t COUNT_MAX = 10000, PIECE_MAX = 64 << 10;
/* Pieces are not copied in the order of memory, and have gaps between them. */
static const size_t STEP = 7919;

struct Memory {
    CUstream stream;
    CUdeviceptr device;
    char *host;
};

static double rate_gbps(const Memory &memory, bool to_device, size_t piece, size_t count)
{
    std::vector<CUdeviceptr> to(count), from(count);
    std::vector<size_t> sizes(count, piece);
    for (size_t i = 0; i < count; i++) {
        CUdeviceptr host = (CUdeviceptr)(memory.host + i * STEP % count * piece * 2);
        CUdeviceptr device = memory.device + i * piece * 2;
        to[i] = to_device ? device : host, from[i] = to_device ? host : device;
    }
    CUmemcpyAttributes attributes = {};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    size_t first = 0, rounds = count > 5000 ? 5 : count > 500 ? 9 : 31;
    std::vector<double> span_us(rounds);
    for (double &span : span_us) {
        double began_us = now_us();
        OK(cuMemcpyBatchAsync(to.data(), from.data(), sizes.data(), count, &attributes, &first, 1, memory.stream));
        OK(cuStreamSynchronize(memory.stream));
        span = now_us() - began_us;
    }
    std::sort(span_us.begin(), span_us.end());
    return count * piece / span_us[rounds / 2] / 1e3;
}

int main(void)
{
    Memory memory;
    use_first_gpu();
    OK(cuStreamCreate(&memory.stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&memory.device, 2 * COUNT_MAX * PIECE_MAX));
    OK(cuMemHostAlloc((void **)&memory.host, 2 * COUNT_MAX * PIECE_MAX, 0));
    memset(memory.host, 5, 2 * COUNT_MAX * PIECE_MAX);
    printf("way KiB pieces GB/s\n");
    for (int to_device = 1; to_device >= 0; to_device--)
        for (size_t kib : {4, 16, 24, 28, 64})
            for (size_t count : {16, 32, 64, 256, 1000, 10000})
                printf("%s %zu %zu %.2f\n", to_device ? "h2d" : "d2h", kib, count,
                       rate_gbps(memory, to_device, kib << 10, count));
    return 0;
}
