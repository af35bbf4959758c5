/* Threads copy pageable memory of many sizes there and back, and overwrite each source as soon as its call has
 * returned. A source lies in allocated memory, or in a mapped file, shared or private; of a private one the program
 * has changed a byte. Meanwhile the process forks, and its children, which have no CUDA, end. Every byte is
 * verified. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

enum { THREADS = 3, COPIES = 40, FORKS = 12, MOST = 3 * MIB };

/* Copies of each thread, there and as many back. */
static int copies = COPIES;

typedef struct {
    CUcontext context;
    uint64_t seed;
    uint64_t sum;
} Task;

typedef enum { ALLOCATED, SHARED, PRIVATE, KINDS } Kind;

/* A source and its file, if it has one. */
typedef struct {
    Kind kind;
    unsigned char *bytes;
    char path[64];
} Source;

static Source new_source(Kind kind, size_t bytes, uint64_t seed)
{
    Source source = {.kind = kind, .bytes = new_bytes(bytes, seed)};
    if (kind == ALLOCATED)
        return source;
    strcpy(source.path, access("/dev/shm", W_OK) == 0 ? "/dev/shm/pageable.XXXXXX" : "pageable.XXXXXX");
    int file = mkstemp(source.path);
    REQUIRE(file >= 0 && write(file, source.bytes, bytes) == (ssize_t)bytes);
    free(source.bytes);
    int sharing = kind == SHARED ? MAP_SHARED : MAP_PRIVATE;
    source.bytes = mmap(NULL, bytes, PROT_READ | PROT_WRITE, sharing, file, 0);
    REQUIRE(source.bytes != MAP_FAILED && close(file) == 0);
    if (kind == PRIVATE)
        source.bytes[seed % bytes] ^= 0xff;
    return source;
}

static void end_source(Source *source, size_t bytes)
{
    if (source->kind == ALLOCATED) {
        free(source->bytes);
        return;
    }
    REQUIRE(munmap(source->bytes, bytes) == 0 && unlink(source->path) == 0);
}

static void there_and_back(CUdeviceptr device, CUstream stream, size_t bytes, Task *task)
{
    Source whole = new_source(task->seed / 7 % KINDS, bytes, task->seed);
    unsigned char *source = whole.bytes, *target = malloc(bytes);
    uint64_t want = checksum(source, bytes);
    REQUIRE(target != NULL);
    OK(cuMemcpyHtoDAsync(device, source, bytes, stream));
    memset(source, 0xee, bytes);
    OK(cuMemcpyDtoHAsync(target, device, bytes, stream));
    REQUIRE(checksum(target, bytes) == want);
    task->sum = mix(task->sum, want);
    end_source(&whole, bytes);
    free(target);
}

static void *copy(void *argument)
{
    Task *task = argument;
    CUdeviceptr device = 0;
    OK(cuCtxSetCurrent(task->context));
    CUstream stream = new_stream();
    OK(cuMemAlloc(&device, MOST));
    for (int i = 0; i < copies; i++) {
        task->seed = task->seed * 6364136223846793005u + 1442695040888963407u;
        there_and_back(device, stream, 1 + (size_t)(task->seed >> 33) % MOST, task);
    }
    OK(cuMemFree(device));
    OK(cuStreamDestroy(stream));
    return NULL;
}

/* The copy of a child fails as it does natively, and neither hangs nor touches memory. */
static void fork_once(CUdeviceptr device)
{
    static unsigned char bytes[MIB];
    int status = -1;
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        _exit(cuMemcpyHtoD(device, bytes, sizeof bytes) == CUDA_SUCCESS);
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    pthread_t threads[THREADS];
    Task tasks[THREADS];
    CUcontext context = NULL;
    CUdeviceptr device = 0;
    /* Without forks: a real driver may hang natively when it is forked while threads copy. */
    const char *more = getenv("PAGEABLE_COPIES");
    int forks = more == NULL ? FORKS : 0;
    copies = more == NULL ? COPIES : atoi(more);
    open_device();
    OK(cuCtxGetCurrent(&context));
    OK(cuMemAlloc(&device, MIB));
    for (uint64_t i = 0; i < THREADS; i++) {
        tasks[i] = (Task){.context = context, .seed = i + 1};
        REQUIRE(pthread_create(&threads[i], NULL, copy, &tasks[i]) == 0);
    }
    for (int i = 0; i < forks; i++)
        fork_once(device);
    for (int i = 0; i < THREADS; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
        printf("thread %d: %016llx\n", i, (unsigned long long)tasks[i].sum);
    }
    OK(cuMemFree(device));
    close_device();
    return 0;
}
