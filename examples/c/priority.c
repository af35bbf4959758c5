/* A program that loads weights in the background and copies a token behind each layer. The four lines marked
 * "overtake" are the changes for overtake. (Opening could be left out: it moves the cost of the first copies to the
 * start.)
 *
 *     gcc priority.c -I$CUDA_HOME/include $(pkg-config --cflags --libs overtake) -lcuda -o priority
 *
 * The same with the CUDA runtime, built by nvcc or linked with -lcudart:
 *
 *     cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream);                 becomes
 *     overtake_memcpy_async(device, host, bytes, cudaMemcpyHostToDevice, stream, priority);
 *
 * Without any change to the source: `overtake run -- ./program`. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda.h>
#include <overtake.h> /* overtake: 1 */

enum { LAYER_BYTES = 32 << 20, LAYERS = 16, PLACES = 4, TOKEN_BYTES = 64 << 10 };
enum { TO_DEVICE = OVERTAKE_COPY_HOST_TO_DEVICE };

static void must(int code, const char *call)
{
    if (code != 0) {
        fprintf(stderr, "%s: %s: %s\n", call, overtake_error_name(code), overtake_last_error());
        exit(1);
    }
}
#define MUST(call) must((int)(call), #call)

static double now_us(void)
{
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void *pinned(size_t bytes)
{
    void *pointer = NULL;
    MUST(cuMemHostAlloc(&pointer, bytes, CU_MEMHOSTALLOC_PORTABLE));
    return pointer;
}

static void *device(size_t bytes)
{
    CUdeviceptr pointer = 0;
    MUST(cuMemAlloc(&pointer, bytes));
    return (void *)(uintptr_t)pointer;
}

static CUstream stream(void)
{
    CUstream stream = NULL;
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(void)
{
    CUcontext context = NULL;
    double took_us[LAYERS];
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
    MUST(overtake_open(NULL)); /* overtake: 2 */

    void *layer = pinned(LAYER_BYTES), *weights = device((size_t)PLACES * LAYER_BYTES);
    char *token = pinned(TOKEN_BYTES), *answer = pinned(TOKEN_BYTES);
    void *token_on_device = device(TOKEN_BYTES);
    CUstream loader = stream(), worker = stream();
    memset(layer, 1, LAYER_BYTES);

    for (int i = 0; i < LAYERS; i++) {
        char *place = (char *)weights + (size_t)(i % PLACES) * LAYER_BYTES;
        MUST(overtake_memcpy_async(place, layer, LAYER_BYTES, TO_DEVICE, loader, 1)); /* overtake: 3 */
        memset(token, i, TOKEN_BYTES);
        took_us[i] = -now_us();
        MUST(overtake_memcpy_async(token_on_device, token, TOKEN_BYTES, TO_DEVICE, worker, 5)); /* overtake: 4 */
        MUST(cuStreamSynchronize(worker));
        took_us[i] += now_us();
    }
    MUST(cuMemcpyDtoHAsync(answer, (CUdeviceptr)(uintptr_t)token_on_device, TOKEN_BYTES, worker));
    MUST(cuStreamSynchronize(worker));
    MUST(cuStreamSynchronize(loader));
    if (memcmp(answer, token, TOKEN_BYTES) != 0)
        must(1, "the token came back changed");

    struct overtake_statistics sums = {.struct_size = sizeof sums};
    MUST(overtake_read_statistics(&sums));
    qsort(took_us, LAYERS, sizeof took_us[0], by_size);
    printf("tokens behind %d layers: p50 %.0f us, worst %.0f us; %llu urgent copies, %llu bulk by copy kernel\n",
           LAYERS, took_us[LAYERS / 2], took_us[LAYERS - 1], (unsigned long long)sums.urgent_copies,
           (unsigned long long)sums.kernel_copies);
    MUST(overtake_close());
    return 0;
}
