// The parts of a request, alone and beside a thread that loads pageable memory: every millisecond 256 KiB go to the
// device, a kernel changes them, and they come back. The requests of shapes.py without Python, whose own time hides
// the parts. Prints, for each phase, the quartile, the median and the p99 of each part in microseconds, and the rate of
// the loading in GB/s.
//
// nvcc -O2 -arch=sm_90 -cudart shared -I.. -o requests requests.cu
// ./requests [STEPS=200 [ROUNDS=2 [MIB of a load=8]]]     and the same under overtake run, by turns
#include <algorithm>
#include <atomic>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

#include "ok.h"

static const int BYTES = 256 << 10;
static const unsigned char CHANGE = 0x21;
static const int SOURCES = 8;
enum { UP, LAUNCH, DOWN, WAIT, ALL, PARTS };

__global__ void change(const unsigned char *in, unsigned char *out)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    out[at] = in[at] ^ CHANGE;
}

static double now_us()
{
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static void sleep_us(long us)
{
    timespec time = {0, us * 1000};
    nanosleep(&time, nullptr);
}

struct Request {
    unsigned char *input, *output, *there, *changed;
    cudaStream_t stream;
    std::vector<double> parts_us[2][PARTS];

    Request()
    {
        OK(cudaMallocHost(&input, BYTES));
        OK(cudaMallocHost(&output, BYTES));
        OK(cudaMalloc(&there, BYTES));
        OK(cudaMalloc(&changed, BYTES));
        OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        memset(input, 7, BYTES);
    }

    void step(int phase, bool counts)
    {
        double at_us[PARTS] = {now_us()};
        OK(cudaMemcpyAsync(there, input, BYTES, cudaMemcpyHostToDevice, stream));
        at_us[LAUNCH] = now_us();
        change<<<BYTES / 256, 256, 0, stream>>>(there, changed);
        at_us[DOWN] = now_us();
        OK(cudaMemcpyAsync(output, changed, BYTES, cudaMemcpyDeviceToHost, stream));
        at_us[WAIT] = now_us();
        OK(cudaStreamSynchronize(stream));
        at_us[ALL] = now_us();
        if (output[5] != (7 ^ CHANGE)) {
            printf("wrong bytes\n");
            exit(1);
        }
        for (int part = UP; counts && part < ALL; part++)
            parts_us[phase][part].push_back(at_us[part + 1] - at_us[part]);
        if (counts)
            parts_us[phase][ALL].push_back(at_us[ALL] - at_us[UP]);
    }
};

struct Loading {
    char *there;
    size_t bytes;
    std::vector<char *> sources;
    cudaStream_t stream;
    std::atomic<bool> ends{false};
    std::atomic<long> moved{0};

    explicit Loading(size_t bytes) : bytes(bytes)
    {
        OK(cudaMalloc(&there, bytes));
        OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        for (int number = 0; number < SOURCES; number++) {
            sources.push_back((char *)malloc(bytes));
            memset(sources.back(), number, bytes);
        }
    }

    void run()
    {
        for (long number = 0; !ends; number++) {
            OK(cudaMemcpyAsync(there, sources[number % SOURCES], bytes, cudaMemcpyHostToDevice, stream));
            OK(cudaStreamSynchronize(stream));
            moved += bytes;
        }
    }
};

int main(int count, char **words)
{
    int steps = count > 1 ? atoi(words[1]) : 200, rounds = count > 2 ? atoi(words[2]) : 2;
    Request request;
    Loading loading((size_t)(count > 3 ? atoi(words[3]) : 8) << 20);
    double rate_gbps = 0;
    // The first round warms up.
    for (int turn = 0; turn <= 2 * rounds + 1; turn++) {
        int phase = turn % 2;
        std::thread thread;
        if (phase == 1) {
            loading.ends = false;
            thread = std::thread([&] { loading.run(); });
            sleep_us(20000);
        }
        loading.moved = 0;
        double begun_us = now_us();
        for (int step = 0; step < steps; step++) {
            sleep_us(1000);
            request.step(phase, turn > 1);
        }
        if (phase == 1) {
            rate_gbps = loading.moved / (now_us() - begun_us) / 1e3;
            loading.ends = true;
            thread.join();
        }
    }
    const char *names[PARTS] = {"up", "launch", "down", "wait", "all"};
    for (int phase = 0; phase < 2; phase++) {
        printf("%s", phase == 1 ? "loaded" : "idle");
        for (int part = UP; part < PARTS; part++) {
            std::vector<double> &all_us = request.parts_us[phase][part];
            std::sort(all_us.begin(), all_us.end());
            size_t size = all_us.size();
            printf(" %s %.1f %.1f %.1f", names[part], all_us[size / 4], all_us[size / 2], all_us[size * 99 / 100]);
        }
        printf(" bulk %.1f\n", rate_gbps);
    }
    return 0;
}
