/* A copy is one operation of its stream, whichever threads submit to it. One thread replaces a table by single copies;
 * another one reads, copies and fills the whole table by single operations that the driver orders with those copies.
 * Each word of the table says which operation wrote it last, so a read of two versions met half a copy.
 *
 * usage: torn [reads in each mode, if there are to be so many: beside a thread that copies pageable memory without a
 * pause, a driver may keep a small copy out for seconds] */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "client.h"

enum { TABLE = 4 * MIB, WORDS = TABLE / 4, VERSIONS = 2, COPIES = 40 };
enum { PAGE = 4096, BARRIER = TABLE - 3 * PAGE };

typedef enum { ASYNC, BLOCKING } Call;

/* Both threads use the same stream, or one of them the legacy stream and the other one a blocking stream. */
typedef struct {
    const char *name;
    bool pinned, to_host;
    Call call;
    CUstream copies, others;
    bool is_elsewhere; /* the other thread has another context current */
    bool has_barrier;  /* a page of the target is protected before each copy, and a handler lifts that */
} Mode;

typedef struct {
    Mode mode;
    CUcontext context;
    CUdeviceptr table, shadow;
    uint32_t *versions[VERSIONS], *ends;
    unsigned long reads, torn, torn_on_host;
    uint32_t has_copied, has_read;
} Work;

static uint32_t *new_version(bool pinned, uint32_t value)
{
    uint32_t *words = pinned ? new_pinned_bytes(TABLE) : aligned_alloc(PAGE, TABLE);
    REQUIRE(words != NULL);
    for (size_t i = 0; i < WORDS; i++)
        words[i] = value;
    return words;
}

static void lift(int signal, siginfo_t *info, void *state)
{
    (void)signal, (void)state;
    if (mprotect((void *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1)), PAGE, PROT_READ | PROT_WRITE) != 0)
        abort();
}

/* The thread whose copies have several parts under the layer. To the host it reads whole versions. */
static void *copy(void *argument)
{
    Work *work = argument;
    OK(cuCtxSetCurrent(work->context));
    for (unsigned long i = 0; i < COPIES || (work->reads > 0 && load_word(&work->has_read) == 0); i++) {
        uint32_t *version = work->versions[i % VERSIONS];
        CUstream stream = work->mode.copies;
        if (work->mode.has_barrier)
            REQUIRE(mprotect((char *)version + BARRIER, PAGE, PROT_READ) == 0);
        if (work->mode.to_host && work->mode.call == BLOCKING)
            OK(cuMemcpyDtoH(version, work->table, TABLE));
        else if (work->mode.to_host)
            OK(cuMemcpyDtoHAsync(version, work->table, TABLE, stream));
        else if (work->mode.call == BLOCKING)
            OK(cuMemcpyHtoD(work->table, version, TABLE));
        else
            OK(cuMemcpyHtoDAsync(work->table, version, TABLE, stream));
        if (work->mode.pinned || work->mode.to_host)
            OK(cuStreamSynchronize(stream));
        for (size_t word = 1; work->mode.to_host && word < WORDS; word++)
            if (version[word] != version[0]) {
                work->torn_on_host++;
                break;
            }
    }
    store_word(&work->has_copied, 1);
    return NULL;
}

/* The first and the last word of a range, by one operation. */
static void read_ends(const Work *work, CUdeviceptr from)
{
    CUDA_MEMCPY2D read = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = from, .srcPitch = TABLE - 4,
                          .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = work->ends, .dstPitch = 4,
                          .WidthInBytes = 4, .Height = 2};
    OK(cuMemcpy2DAsync(&read, work->mode.others));
    OK(cuStreamSynchronize(work->mode.others));
}

static void operate(Work *work)
{
    CUstream stream = work->mode.others;
    for (unsigned long i = 0; load_word(&work->has_copied) == 0; i++) {
        CUdeviceptr from = work->table;
        if (i % 3 == 1 && !work->mode.is_elsewhere)
            OK(cuMemsetD32Async(work->table, 100 + (uint32_t)i, WORDS, stream));
        if (i % 3 == 2) {
            OK(cuMemcpyPeerAsync(work->shadow, work->context, work->table, work->context, TABLE, stream));
            from = work->shadow;
        }
        read_ends(work, from);
        work->torn += work->ends[0] != work->ends[1];
        if (i + 1 >= work->reads)
            store_word(&work->has_read, 1);
    }
}

static void run(Mode mode, CUcontext context, unsigned long reads)
{
    CUcontext other = NULL;
    struct sigaction action = {.sa_sigaction = lift, .sa_flags = SA_SIGINFO};
    struct sigaction before;
    Work work = {.mode = mode, .context = context, .reads = reads};
    work.table = new_device_bytes(TABLE);
    work.shadow = new_device_bytes(TABLE);
    work.ends = new_pinned_bytes(8);
    OK(cuMemsetD32(work.table, 1, WORDS));
    OK(cuCtxSynchronize());
    for (uint32_t i = 0; i < VERSIONS; i++)
        work.versions[i] = new_version(mode.pinned, i + 1);
    if (mode.has_barrier)
        REQUIRE(sigaction(SIGSEGV, &action, &before) == 0);
    if (mode.is_elsewhere)
        OK(cuCtxCreate_v2(&other, 0, 0));
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, copy, &work) == 0);
    operate(&work);
    REQUIRE(pthread_join(thread, NULL) == 0);
    if (mode.is_elsewhere)
        OK(cuCtxDestroy(other));
    OK(cuCtxSetCurrent(context));
    OK(cuCtxSynchronize());
    if (mode.has_barrier)
        REQUIRE(sigaction(SIGSEGV, &before, NULL) == 0);
    printf("%s: %lu torn\n", mode.name, work.torn + work.torn_on_host);
    for (uint32_t i = 0; i < VERSIONS; i++)
        if (mode.pinned)
            OK(cuMemFreeHost(work.versions[i]));
        else
            free(work.versions[i]);
    OK(cuMemFreeHost(work.ends));
    OK(cuMemFree(work.table));
    OK(cuMemFree(work.shadow));
}

int main(int count, char **arguments)
{
    unsigned long reads = count > 1 ? strtoul(arguments[1], NULL, 10) : 0;
    CUcontext context = open_device();
    Traffic traffic = arm();
    CUstream own = new_stream(), blocking = NULL;
    OK(cuStreamCreate(&blocking, 0));
    const Mode modes[] = {
        {"pinned to the device", true, false, ASYNC, own, own, false, false},
        {"pinned to the host", true, true, ASYNC, own, own, false, false},
        {"pinned beside the legacy stream", true, false, ASYNC, blocking, CU_STREAM_LEGACY, false, false},
        {"pageable to the device", false, false, ASYNC, own, own, false, false},
        {"pageable to the host", false, true, ASYNC, own, own, false, false},
        {"pageable in the legacy stream", false, false, ASYNC, CU_STREAM_LEGACY, CU_STREAM_LEGACY, false, false},
        {"pageable beside a blocking stream", false, false, ASYNC, CU_STREAM_LEGACY, blocking, false, false},
        {"pageable beside the legacy stream", false, false, ASYNC, blocking, CU_STREAM_LEGACY, false, false},
        {"blocking to the device", false, false, BLOCKING, CU_STREAM_LEGACY, CU_STREAM_LEGACY, false, false},
        {"blocking to the host", false, true, BLOCKING, CU_STREAM_LEGACY, blocking, false, false},
        {"blocking beside a blocking stream", false, false, BLOCKING, CU_STREAM_LEGACY, blocking, false, false},
        {.name = "pageable, and a thread in another context", .copies = own, .others = own, .is_elsewhere = true},
        {.name = "pageable behind a write barrier", .to_host = true, .copies = own, .others = own, .has_barrier = true},
    };
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        run(modes[i], context, reads);
    OK(cuStreamDestroy(blocking));
    OK(cuStreamDestroy(own));
    free_traffic(&traffic);
    close_device();
    return 0;
}
