/* Memory that goes as soon as it may: freed, unregistered, unmapped or overwritten right after the synchronisation that
 * allows it, while other copies run. */
#define _DEFAULT_SOURCE
#include <sys/mman.h>

#include "client.h"

enum { BYTES = 2 * MIB };

static uint64_t sum;

static void freed_after_the_copy(Traffic *traffic, CUstream stream, size_t bytes)
{
    unsigned char *pinned = new_pinned_bytes(bytes), back[64];
    CUdeviceptr device = new_device_bytes(bytes);
    paint(pinned, bytes, bytes);
    OK(cuMemcpyHtoDAsync(traffic->device, traffic->in, TRAFFIC_BULK, traffic->bulk));
    OK(cuMemcpyHtoDAsync(device, pinned, bytes, stream));
    OK(cuStreamSynchronize(stream));
    memset(pinned, 0xee, bytes);
    OK(cuMemFreeHost(pinned));
    OK(cuMemcpyDtoH(back, device + bytes - 64, 64));
    sum = mix(sum, checksum(back, 64));
    OK(cuMemFree(device));
}

static void unmapped_after_the_copy(Traffic *traffic, size_t bytes)
{
    unsigned char *map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), back[64];
    CUdeviceptr device = new_device_bytes(BYTES);
    CUevent event = NULL;
    REQUIRE(map != MAP_FAILED);
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuMemHostRegister(map, BYTES, 0));
    paint(map, BYTES, bytes + 1);
    OK(cuMemcpyHtoDAsync(device, map, bytes, traffic->bulk));
    OK(cuMemcpyDtoHAsync(traffic->small_out, traffic->small_device, TRAFFIC_SMALL, traffic->urgent));
    OK(cuEventRecord(event, traffic->bulk));
    OK(cuEventSynchronize(event));
    OK(cuMemHostUnregister(map));
    REQUIRE(munmap(map, BYTES) == 0);
    OK(cuMemcpyDtoH(back, device + bytes - 64, 64));
    sum = mix(sum, checksum(back, 64));
    OK(cuEventDestroy(event));
    OK(cuMemFree(device));
}

/* The same address pinned, then pageable, then pinned again: its former kind must not be remembered. */
static void one_address_of_many_kinds(Traffic *traffic)
{
    unsigned char *map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), back[64];
    REQUIRE(map != MAP_FAILED);
    for (uint64_t round = 0; round < 6; round++) {
        if (round % 2 == 0)
            OK(cuMemHostRegister(map, BYTES, 0));
        paint(map, BYTES, round);
        OK(cuMemcpyHtoDAsync(traffic->device, map, BYTES, traffic->bulk));
        OK(cuMemcpyHtoDAsync(traffic->small_device, map + MIB, TRAFFIC_SMALL, traffic->urgent));
        OK(cuStreamSynchronize(traffic->bulk));
        OK(cuStreamSynchronize(traffic->urgent));
        if (round % 2 == 0)
            OK(cuMemHostUnregister(map));
        OK(cuMemcpyDtoH(back, traffic->device + BYTES - 64, 64));
        REQUIRE(memcmp(back, map + BYTES - 64, 64) == 0);
        OK(cuMemcpyDtoH(back, traffic->small_device + TRAFFIC_SMALL - 64, 64));
        REQUIRE(memcmp(back, map + MIB + TRAFFIC_SMALL - 64, 64) == 0);
    }
    REQUIRE(munmap(map, BYTES) == 0);
}

/* A pageable source may be overwritten as soon as the call has returned. */
static void pageable_sources(Traffic *traffic, size_t bytes)
{
    unsigned char *plain = new_bytes(bytes, 3), *back = malloc(bytes);
    uint64_t want = checksum(plain, bytes);
    OK(cuMemcpyHtoDAsync(traffic->device, plain, bytes, traffic->bulk));
    memset(plain, 0, bytes);
    OK(cuStreamSynchronize(traffic->bulk));
    OK(cuMemcpyDtoHAsync(back, traffic->device, bytes, traffic->bulk));
    OK(cuStreamSynchronize(traffic->bulk));
    REQUIRE(checksum(back, bytes) == want);
    free(plain);
    free(back);
}

/* Freed in stream order: the copy before it must be done, and the next user of the memory must not be disturbed. */
static void freed_in_stream_order(Traffic *traffic, size_t bytes)
{
    unsigned char back[64];
    CUdeviceptr first = 0, second = 0;
    OK(cuMemAllocAsync(&first, bytes, traffic->bulk));
    OK(cuMemcpyHtoDAsync(first, traffic->in, bytes, traffic->bulk));
    OK(cuMemcpyDtoHAsync(traffic->out, first, bytes, traffic->bulk));
    OK(cuMemFreeAsync(first, traffic->bulk));
    OK(cuMemAllocAsync(&second, bytes, traffic->bulk));
    OK(cuMemsetD8Async(second, 0x5a, bytes, traffic->bulk));
    OK(cuMemcpyHtoDAsync(traffic->small_device, traffic->small_in, TRAFFIC_SMALL, traffic->urgent));
    OK(cuStreamSynchronize(traffic->bulk));
    REQUIRE(memcmp(traffic->in, traffic->out, bytes) == 0);
    OK(cuMemcpyDtoH(back, second + bytes - 64, 64));
    sum = mix(sum, checksum(back, 64));
    OK(cuMemFreeAsync(second, traffic->bulk));
    OK(cuStreamSynchronize(traffic->urgent));
}

static void managed_memory(Traffic *traffic)
{
    CUdeviceptr managed = 0;
    CUresult code = cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL);
    printf("managed: %u\n", code);
    if (code != CUDA_SUCCESS)
        return;
    CODE(cuMemcpyHtoDAsync(managed, traffic->in, BYTES, traffic->bulk));
    CODE(cuMemcpyAsync(traffic->device, managed, BYTES, traffic->bulk));
    CODE(cuMemcpyDtoHAsync(traffic->out, traffic->device, BYTES, traffic->bulk));
    OK(cuStreamSynchronize(traffic->bulk));
    printf("%d %d\n", memcmp(traffic->in, traffic->out, BYTES) == 0,
           memcmp(traffic->in, (void *)(uintptr_t)managed, BYTES) == 0);
    OK(cuMemFree(managed));
}

int main(void)
{
    open_device();
    Traffic traffic = arm();
    for (int round = 0; round < 10; round++) {
        freed_after_the_copy(&traffic, traffic.bulk, BYTES);
        freed_after_the_copy(&traffic, traffic.urgent, 40 * KIB);
        unmapped_after_the_copy(&traffic, BYTES);
        unmapped_after_the_copy(&traffic, 40 * KIB);
        one_address_of_many_kinds(&traffic);
        pageable_sources(&traffic, BYTES);
        pageable_sources(&traffic, 40 * KIB);
        freed_in_stream_order(&traffic, BYTES);
        freed_in_stream_order(&traffic, 40 * KIB);
    }
    managed_memory(&traffic);
    printf("%016llx\n", (unsigned long long)sum);
    free_traffic(&traffic);
    close_device();
    return 0;
}
