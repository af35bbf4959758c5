// The same in C++: scoped priorities and exceptions.
//
//     g++ -std=c++17 priority.cpp -I$CUDA_HOME/include $(pkg-config --cflags --libs overtake) -lcuda -o priority
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <cuda.h>
#include <overtake.hpp>

namespace {

constexpr std::size_t layer_bytes = 32 << 20, token_bytes = 64 << 10;
constexpr int layers = 16, places = 4;

void cuda(int code)
{
    if (code != 0)
        throw std::runtime_error(std::string("the driver says ") + overtake_error_name(code));
}

void *pinned(std::size_t bytes)
{
    void *pointer = nullptr;
    cuda(cuMemHostAlloc(&pointer, bytes, CU_MEMHOSTALLOC_PORTABLE));
    return pointer;
}

char *device(std::size_t bytes)
{
    CUdeviceptr pointer = 0;
    cuda(cuMemAlloc(&pointer, bytes));
    return reinterpret_cast<char *>(static_cast<std::uintptr_t>(pointer));
}

CUstream stream()
{
    CUstream stream = nullptr;
    cuda(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

void run()
{
    using overtake::direction;
    CUcontext context = nullptr;
    cuda(cuInit(0));
    cuda(cuDevicePrimaryCtxRetain(&context, 0));
    cuda(cuCtxSetCurrent(context));
    overtake::open();

    void *layer = pinned(layer_bytes), *token = pinned(token_bytes);
    char *weights = device(places * layer_bytes), *token_on_device = device(token_bytes);
    CUstream loader = stream(), worker = stream();
    std::memset(layer, 1, layer_bytes);

    overtake::adopted_stream bulk(loader, OVERTAKE_PRIORITY_LOWEST); // all copies of this stream are bulk
    std::vector<double> took_us;
    for (int i = 0; i < layers; i++) {
        char *place = weights + i % places * layer_bytes;
        overtake::memcpy_async(place, layer, layer_bytes, direction::host_to_device, bulk.get());
        std::memset(token, i, token_bytes);

        overtake::scoped_priority urgent(5); // this thread's copies are urgent until the scope ends
        auto began = std::chrono::steady_clock::now();
        overtake::memcpy_async(token_on_device, token, token_bytes, direction::host_to_device, worker);
        cuda(cuStreamSynchronize(worker));
        took_us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began).count());
    }
    cuda(cuStreamSynchronize(loader));
    std::sort(took_us.begin(), took_us.end());
    std::printf("tokens behind %d layers: p50 %.0f us, worst %.0f us; %llu urgent copies\n", layers,
                took_us[took_us.size() / 2], took_us.back(),
                static_cast<unsigned long long>(overtake::statistics().urgent_copies));
}

} // namespace

int main()
{
    try {
        run();
        overtake::close();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
