/* Shared by the clients: results that can be compared, and traffic of two urgencies that arms the drop-in.
 *
 * A client prints codes, orders and checksums, never times, addresses or handles: its output must not depend on
 * whether a library stands between it and the driver. */
#ifndef CLIENT_H
#define CLIENT_H

#include <time.h>

#include "device.h"
#include "more.h"

enum { KIB = 1 << 10, MIB = 1 << 20 };

static inline void nap_us(long microseconds)
{
    struct timespec span = {.tv_sec = microseconds / 1000000, .tv_nsec = microseconds % 1000000 * 1000};
    nanosleep(&span, NULL);
}

/* A number, and the one after it. */
static inline uint64_t next_word(uint64_t state)
{
    return state * 6364136223846793005ULL + 1442695040888963407ULL;
}

/* Reproducible bytes, eight at a time. No word waits for the one before it, so that a compiler can take several at
 * once: programs spend more time here than with their driver. */
static inline uint64_t word_at(uint64_t seed, uint64_t place)
{
    uint64_t word = (seed * 0x9e3779b97f4a7c15ULL + place) * 6364136223846793005ULL;
    return word ^ (word >> 29);
}

/* A word at a time. With a constant size `memcpy` is one instruction, else it is a call. */
static inline void paint(void *bytes, size_t count, uint64_t seed)
{
    unsigned char *at = bytes;
    uint64_t place = 0, word;
    for (; count >= 8; count -= 8, at += 8) {
        word = word_at(seed, place++);
        memcpy(at, &word, 8);
    }
    word = word_at(seed, place);
    memcpy(at, &word, count);
}

static inline uint64_t with_word(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * 0x100000001b3ULL;
    return sum ^ (sum >> 29);
}

/* Of every fourth word there is a sum of its own, for the same reason. */
static inline uint64_t checksum(const void *bytes, size_t count)
{
    enum { SUMS = 4 };
    const unsigned char *at = bytes;
    uint64_t sums[SUMS] = {0xcbf29ce484222325ULL, 1, 2, 3}, words[SUMS];
    for (; count >= sizeof words; count -= sizeof words, at += sizeof words) {
        memcpy(words, at, sizeof words);
        for (int i = 0; i < SUMS; i++)
            sums[i] = with_word(sums[i], words[i]);
    }
    memset(words, 0, sizeof words);
    memcpy(words, at, count);
    for (int i = 0; i < SUMS; i++)
        sums[0] = with_word(with_word(sums[0], words[i]), i == 0 ? count : sums[i]);
    return sums[0];
}

static inline uint64_t mix(uint64_t sum, uint64_t value)
{
    return checksum((uint64_t[2]){sum, value}, 16);
}

/* Prints the result of a call, which must be the same natively and under the drop-in. */
#define CODE(call) printf("%s: %u\n", #call, (unsigned int)(call))

static inline const char *kernels_text(void)
{
    static char text[65536];
    if (*text == 0) {
        FILE *file = fopen(KERNELS_PTX, "rb");
        REQUIRE(file != NULL);
        REQUIRE(fread(text, 1, sizeof text - 1, file) > 0);
        fclose(file);
    }
    return text;
}

static inline CUfunction load_kernel(const char *name)
{
    static CUmodule module;
    CUfunction function = NULL;
    if (module == NULL)
        OK(cuModuleLoadData(&module, kernels_text()));
    OK(cuModuleGetFunction(&function, module, name));
    return function;
}

/* Fills every multiprocessor until the word in memory has the value. */
static inline void fill_gpu_until(CUdeviceptr word, uint32_t value, CUstream stream)
{
    int multiprocessors = 0;
    OK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    OK(cuLaunchKernel(load_kernel("soft_wait_u32"), 32 * (unsigned int)multiprocessors, 1, 1, 1024, 1, 1, 0, stream,
                      (void *[]){&word, &value}, NULL));
}

/* Bulk and small pinned copies, both directions, on two streams. */
enum { TRAFFIC_BULK = 2 * MIB, TRAFFIC_SMALL = 64 * KIB, TRAFFIC_EACH = 3 };

typedef struct {
    CUstream bulk, urgent;
    unsigned char *in, *out, *small_in, *small_out;
    CUdeviceptr device, small_device;
} Traffic;

static inline Traffic new_traffic(void)
{
    Traffic traffic = {.bulk = new_stream(), .urgent = new_stream()};
    traffic.in = new_pinned_bytes(TRAFFIC_EACH * TRAFFIC_BULK);
    traffic.out = new_pinned_bytes(TRAFFIC_EACH * TRAFFIC_BULK);
    traffic.small_in = new_pinned_bytes(TRAFFIC_EACH * TRAFFIC_SMALL);
    traffic.small_out = new_pinned_bytes(TRAFFIC_EACH * TRAFFIC_SMALL);
    traffic.device = new_device_bytes(TRAFFIC_EACH * TRAFFIC_BULK);
    traffic.small_device = new_device_bytes(TRAFFIC_EACH * TRAFFIC_SMALL);
    return traffic;
}

static inline void send_traffic(Traffic *traffic)
{
    for (size_t i = 0; i < TRAFFIC_EACH; i++) {
        size_t at = i * TRAFFIC_BULK, small = i * TRAFFIC_SMALL;
        OK(cuMemcpyHtoDAsync(traffic->device + at, traffic->in + at, TRAFFIC_BULK, traffic->bulk));
        OK(cuMemcpyHtoDAsync(traffic->small_device + small, traffic->small_in + small, TRAFFIC_SMALL,
                             traffic->urgent));
        OK(cuMemcpyDtoHAsync(traffic->out + at, traffic->device + at, TRAFFIC_BULK, traffic->bulk));
        OK(cuMemcpyDtoHAsync(traffic->small_out + small, traffic->small_device + small, TRAFFIC_SMALL,
                             traffic->urgent));
    }
}

static inline uint64_t traffic_round(Traffic *traffic, uint64_t seed)
{
    paint(traffic->in, TRAFFIC_EACH * TRAFFIC_BULK, seed);
    paint(traffic->small_in, TRAFFIC_EACH * TRAFFIC_SMALL, ~seed);
    send_traffic(traffic);
    OK(cuStreamSynchronize(traffic->urgent));
    REQUIRE(memcmp(traffic->small_in, traffic->small_out, TRAFFIC_EACH * TRAFFIC_SMALL) == 0);
    OK(cuStreamSynchronize(traffic->bulk));
    REQUIRE(memcmp(traffic->in, traffic->out, TRAFFIC_EACH * TRAFFIC_BULK) == 0);
    return mix(checksum(traffic->out, TRAFFIC_BULK), checksum(traffic->small_out, TRAFFIC_SMALL));
}

/* Opening happens beside the program, so that it takes rounds and time until copies are treated apart. */
static inline uint64_t run_traffic(Traffic *traffic, int rounds)
{
    uint64_t sum = 0;
    for (int round = 0; round < rounds; round++) {
        sum = mix(sum, traffic_round(traffic, (uint64_t)round));
        nap_us(5000);
    }
    return sum;
}

static inline void free_traffic(Traffic *traffic)
{
    OK(cuStreamDestroy(traffic->bulk));
    OK(cuStreamDestroy(traffic->urgent));
    OK(cuMemFreeHost(traffic->in));
    OK(cuMemFreeHost(traffic->out));
    OK(cuMemFreeHost(traffic->small_in));
    OK(cuMemFreeHost(traffic->small_out));
    OK(cuMemFree(traffic->device));
    OK(cuMemFree(traffic->small_device));
}

enum { ROUNDS_THAT_ARM = 25 };

/* From here on the drop-in, where there is one, prioritises the copies of this context. */
static inline Traffic arm(void)
{
    Traffic traffic = new_traffic();
    printf("armed: %016llx\n", (unsigned long long)run_traffic(&traffic, ROUNDS_THAT_ARM));
    return traffic;
}

#endif
