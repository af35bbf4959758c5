// How long copies wait while kernels are launched for the first time beside bulk, and how long those launches take.
//
// One thread keeps copies of 256 MiB to the device queued, four at a time. A second makes 64 KiB copies on a stream of
// the greatest priority, and a third launches 41 kernels, 20 ms apart, each for the first time.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <thread>
#include <utility>
#include <vector>

using Clock = std::chrono::steady_clock;

static void ok(cudaError_t error)
{
    if (error != cudaSuccess) {
        std::printf("%s\n", cudaGetErrorString(error));
        std::exit(1);
    }
}

static double us_since(Clock::time_point begin)
{
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

template <int number> __global__ void kernel(float *value)
{
    float sum = value[threadIdx.x];
    for (int step = 0; step < number + 3; step++)
        sum = sum * 1.0001f + number;
    value[threadIdx.x] = sum;
}

template <int number> static void launch(std::vector<double> &taken_us, cudaStream_t stream, float *value)
{
    Clock::time_point begin = Clock::now();
    kernel<number><<<1, 32, 0, stream>>>(value);
    ok(cudaGetLastError());
    taken_us.push_back(us_since(begin));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

template <int... numbers>
static void launch_all(std::integer_sequence<int, numbers...>, std::vector<double> &taken_us, cudaStream_t stream,
                       float *value)
{
    (launch<numbers>(taken_us, stream, value), ...);
}

static void print(const char *what, std::vector<double> &taken_us)
{
    std::sort(taken_us.begin(), taken_us.end());
    size_t count = taken_us.size();
    std::printf("%s: p50 %.0f p99 %.0f max %.0f us (n %zu)   ", what, taken_us[count / 2], taken_us[count * 99 / 100],
                taken_us.back(), count);
}

int main()
{
    constexpr size_t bulk_bytes = 256 << 20, small_bytes = 64 << 10;
    char *bulk_host, *bulk_device, *small_host, *small_device;
    float *value;
    ok(cudaMallocHost(&bulk_host, bulk_bytes));
    ok(cudaMalloc(&bulk_device, bulk_bytes));
    ok(cudaMallocHost(&small_host, small_bytes));
    ok(cudaMalloc(&small_device, small_bytes));
    ok(cudaMalloc(&value, 4096));
    cudaStream_t bulk, small, launches;
    ok(cudaStreamCreateWithFlags(&bulk, cudaStreamNonBlocking));
    ok(cudaStreamCreateWithPriority(&small, cudaStreamNonBlocking, -5));
    ok(cudaStreamCreateWithFlags(&launches, cudaStreamNonBlocking));
    std::atomic<bool> warm{false}, stop{false};
    std::vector<double> copies_us, launches_us;
    std::thread loader([&] {
        while (!stop) {
            for (int copy = 0; copy < 4; copy++)
                ok(cudaMemcpyAsync(bulk_device, bulk_host, bulk_bytes, cudaMemcpyHostToDevice, bulk));
            ok(cudaStreamSynchronize(bulk));
        }
    });
    std::thread copier([&] {
        while (!stop) {
            Clock::time_point begin = Clock::now();
            ok(cudaMemcpyAsync(small_device, small_host, small_bytes, cudaMemcpyHostToDevice, small));
            ok(cudaStreamSynchronize(small));
            if (warm)
                copies_us.push_back(us_since(begin));
            std::this_thread::sleep_for(std::chrono::microseconds(500));
        }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    warm = true;
    launch_all(std::make_integer_sequence<int, 41>(), launches_us, launches, value);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stop = true;
    loader.join();
    copier.join();
    ok(cudaDeviceSynchronize());
    print("first launches", launches_us);
    print("small copies", copies_us);
    std::printf("\n");
}
