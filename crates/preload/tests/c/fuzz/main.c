/* Random programs for the driver whose outcome is the same every time: a difference from the native run is a defect of
 * the drop-in.
 *
 * usage: fuzz FIRST [COUNT] [--steps N] [--threads N] [--skip THREAD.STEP,...] [--options SEED] [--end WAY] [--loud]
 *             [--contexts N] [VARIABLE=VALUE ...]
 *
 * Runs COUNT programs, one after the other, with the seeds from FIRST on; then the process ends in a way of its own. A
 * program has a few threads, each with its own streams, events and buffers and perhaps its own context. A step draws
 * from its own number alone, so that any step can be left out without another one changing. Every call is printed
 * with its result, and every buffer with the sum of its bytes. The environment and the end are those of the seed
 * --options (FIRST). With --contexts only the programs whose seed is a multiple of N make contexts of their own: a
 * driver takes most of a second for each, and makes those of all processes one after the other. */
#define _GNU_SOURCE
#include "bounds.h"
#include "common.h"
#include "contexts.h"
#include "ends.h"
#include "errors.h"
#include "graphs.h"
#include "memory.h"
#include "options.h"
#include "places.h"
#include "threads.h"
#include "waits.h"
#include "writes.h"

enum { THREADS_MAX = 8 };

static struct {
    uint32_t first, count, options, contexts;
    int steps, threads, is_loud;
    const char *skipped, *end;
} request;

/* The steps of a program, their frequency, and the room that each needs unless it takes care of that itself. */
static const struct {
    const char *name;
    void (*make)(Part *);
    uint32_t weight;
    int room;
} operations[] = {
    {"copy", copy_async, 8, WAITING_ROOM},
    {"run", copy_run, 6, WAITING_ROOM},
    {"blocking", copy_blocking, 4, WAITING_ROOM},
    {"shape", shapes, 5, WAITING_ROOM},
    {"batch", batches, 4, WAITING_ROOM},
    {"fine batch", fine_batches, 3, WAITING_ROOM},
    {"peer", peers, 3, WAITING_ROOM},
    {"write", writes, 5, NO_ROOM},
    {"passing memory", passing_memory, 4, WAITING_ROOM},
    {"look", look, 2, WAITING_ROOM},
    {"touch", touch, 4, WAITING_ROOM},
    {"held", held, 4, NO_ROOM},
    {"full", full, 3, NO_ROOM},
    {"synchronise", synchronise, 2, WAITING_ROOM},
    {"renew lane", renew_lane, 2, WAITING_ROOM},
    {"renew buffer", renew_buffer, 2, WAITING_ROOM},
    {"replay", replay, 2, NO_ROOM},
    {"spoilt capture", spoilt_capture, 1, NO_ROOM},
    {"passing context", passing_context, 1, WAITING_ROOM},
    {"passing thread", passing_thread, 1, WAITING_ROOM},
    {"no context", without_context, 1, WAITING_ROOM},
    {"errors", errors, 3, WAITING_ROOM},
    {"ask memory", ask_memory, 1, WAITING_ROOM},
    {"ask streams", ask_streams, 1, WAITING_ROOM},
    {"past end", past_end, 2, WAITING_ROOM},
    {"other memory", other_memory, 6, WAITING_ROOM},
    {"registered meanwhile", registered_meanwhile, 1, WAITING_ROOM},
    {"detached contexts", detached_contexts, 1, WAITING_ROOM},
    {"ended capture", ended_capture, 2, NO_ROOM},
    {"replays", replays, 1, NO_ROOM},
    {"strained thread", strained_thread, 2, WAITING_ROOM},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* A random number from the seed of a program and the name of a draw. */
static uint32_t seeded(uint32_t seed, int thread, int step)
{
    return (uint32_t)mix(seed, ((uint64_t)(uint32_t)thread << 32) + (uint32_t)step) | 1;
}

static int is_skipped(int thread, int step)
{
    char name[32];
    size_t length = (size_t)snprintf(name, sizeof name, "%d.%d", thread, step);
    for (const char *at = request.skipped; at != NULL; at = strchr(at, ',') == NULL ? NULL : strchr(at, ',') + 1)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == 0))
            return 1;
    return 0;
}

static void make_step(Part *part, int step)
{
    uint32_t all = 0, which;
    size_t i = 0;
    part->order.random = seeded(part->seed, part->number, step);
    for (size_t j = 0; j < OPERATIONS; j++)
        all += operations[j].weight;
    for (which = draw(part, all); which >= operations[i].weight; i++)
        which -= operations[i].weight;
    note(&part->order.log, "%u: %d.%d %s\n", part->seed, part->number, step, operations[i].name);
    if (operations[i].room != NO_ROOM)
        enter_room(operations[i].room);
    operations[i].make(part);
    if (operations[i].room != NO_ROOM)
        leave_room(operations[i].room);
}

static void make_buffers(Part *part)
{
    for (int i = 0; i < BUFFERS; i++) {
        Buffer *buffer = &part->buffers[i];
        buffer->kind = i < DEVICES ? DEVICE : i < PINNED_END ? PINNED : i < REGISTERED_END ? REGISTERED : PAGEABLE;
        buffer->writer = LEGACY;
        make_buffer(buffer, part->bytes, (uint64_t)i);
        if (buffer->kind == DEVICE)
            OK(cuMemsetD8(buffer->address, (unsigned char)i, part->bytes));
    }
    part->scratch = new_device_bytes(SCRATCH_BYTES), part->scratch_pinned = new_pinned_bytes(SCRATCH_BYTES);
    if (part->other == NULL)
        return;
    part->away.writer = LEGACY;
    OK(cuCtxSetCurrent(part->other));
    make_buffer(&part->away, part->bytes, 0);
    OK(cuMemsetD8(part->away.address, 77, part->bytes));
    OK(cuCtxSynchronize());
    OK(cuCtxSetCurrent(part->current));
}

static CUmodule make_all(Part *part)
{
    CUmodule module = NULL;
    int multiprocessors = 0;
    part->order.random = 1;
    begin_order(&part->order, part->seed);
    part->gate = new_gate();
    part->gated_lane = APART;
    OK(cuModuleLoadData(&module, kernels_text()));
    OK(cuModuleGetFunction(&part->add, module, "soft_atomic_add_u32"));
    OK(cuModuleGetFunction(&part->fill, module, "soft_wait_u32"));
    OK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    part->multiprocessors = (unsigned int)multiprocessors;
    make_buffers(part);
    /* The per-thread stream is made on its first use, and making a stream may wait for held streams. */
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    OK(cuCtxSynchronize());
    return module;
}

static void sum_one(Part *part, int number, const Buffer *buffer, unsigned char *bytes)
{
    const unsigned char *at = buffer->host;
    if (buffer->kind == DEVICE) {
        OK(cuMemcpyDtoH(bytes, buffer->address, part->bytes));
        at = bytes;
    }
    note(&part->order.log, "buffer %d: %016llx\n", number, (unsigned long long)checksum(at, part->bytes));
}

/* Every byte of every buffer. */
static void sum_all(Part *part)
{
    unsigned char *bytes = malloc(part->bytes);
    REQUIRE(bytes != NULL);
    OK(cuCtxSynchronize());
    for (int i = 0; i < BUFFERS; i++)
        sum_one(part, i, &part->buffers[i], bytes);
    if (part->other != NULL) {
        OK(cuCtxSetCurrent(part->other));
        sum_one(part, BUFFERS, &part->away, bytes);
        OK(cuMemFree(part->away.address));
        OK(cuCtxSetCurrent(part->current));
    }
    for (int which = 0; which < PLACES; which++)
        if (part->places[which].address != 0)
            sum_one(part, BUFFERS + 1 + which, &part->places[which], bytes);
    free(bytes);
}

static void free_all(Part *part, CUmodule module)
{
    end_order(&part->order);
    for (int i = 0; i < BUFFERS; i++)
        free_buffer(&part->buffers[i]);
    for (int which = 0; which < PLACES; which++)
        free_place(part, which);
    free_gate(part->gate);
    OK(cuMemFree(part->scratch));
    OK(cuMemFreeHost(part->scratch_pinned));
    OK(cuModuleUnload(module));
}

static void *run_part(void *argument)
{
    Part *part = argument;
    enter_room(WAITING_ROOM);
    if (part->has_own_context)
        OK(cuCtxCreate_v2(&part->current, 0, 0));
    else
        OK(cuCtxSetCurrent(part->current = part->shared));
    CUmodule module = make_all(part);
    leave_room(WAITING_ROOM);
    for (int step = 0; step < part->steps; step++)
        if (!is_skipped(part->number, step))
            make_step(part, step);
    /* All threads at once. */
    pthread_barrier_wait(part->end);
    part->order.random = seeded(part->seed, part->number, -1);
    enter_room(WAITING_ROOM);
    common_table(part);
    sum_all(part);
    free_all(part, module);
    if (part->has_own_context)
        OK(cuCtxDestroy(part->current));
    leave_room(WAITING_ROOM);
    /* A thread's default stream ends with it, and a driver may then wait for the device: no thread may hold a stream.
     * */
    pthread_barrier_wait(part->end);
    return NULL;
}

/* The second device's context, where there is one. */
static CUcontext open_other(CUcontext shared)
{
    CUcontext other = NULL;
    int count = 0;
    OK(cuDeviceGetCount(&count));
    if (count < 2)
        return NULL;
    OK(cuDevicePrimaryCtxRetain(&other, 1));
    OK(cuCtxSetCurrent(shared));
    return other;
}

/* As close_device, after the end of the context and of everything in it. Later programs have it again. */
static void reset_device(void)
{
    CODE(cuDevicePrimaryCtxReset(0));
    OK(cuCtxSetCurrent(NULL));
    CODE(cuDevicePrimaryCtxRelease(0));
}

static void run_program(uint32_t seed)
{
    uint32_t shape = seeded(seed, -1, 0) >> 8;
    int threads = request.threads > 0 ? request.threads : 1 + (int)(shape % 5 / 2);
    int steps = request.steps > 0 ? request.steps : 8 + (int)(shape / 5 % 40);
    Part *parts = calloc((size_t)threads, sizeof *parts);
    int has_contexts = request.contexts == 0 || seed % request.contexts == 0;
    CUcontext shared = open_device(), other = open_other(shared);
    Common common = open_common(seed);
    pthread_barrier_t end;
    REQUIRE(parts != NULL && pthread_barrier_init(&end, NULL, (unsigned int)threads) == 0);
    for (int i = 0; i < threads; i++) {
        Part *part = &parts[i];
        part->shared = shared, part->other = other, part->end = &end, part->common = &common;
        part->number = i, part->steps = steps, part->seed = seed;
        part->bytes = shape / 256 % 16 == 0 ? BYTES_MAX : BYTES_SMALL;
        part->is_alone = threads == 1, part->has_contexts = has_contexts;
        part->has_own_context = has_contexts && shape / 4096 % 3 == 0 && i % 2 == 1;
        part->order.log.is_loud = request.is_loud;
        REQUIRE(pthread_create(&part->thread, NULL, run_part, part) == 0);
    }
    for (int i = 0; i < threads; i++) {
        REQUIRE(pthread_join(parts[i].thread, NULL) == 0);
        if (!request.is_loud)
            fputs(parts[i].order.log.text, stdout);
    }
    REQUIRE(pthread_barrier_destroy(&end) == 0);
    free(parts);
    close_common(&common);
    if (other != NULL)
        OK(cuDevicePrimaryCtxRelease(1));
    if (has_contexts && seeded(seed, -3, 0) / 256 % 4 == 0)
        reset_device();
    else
        close_device();
    fflush(stdout);
}

static void understand(int count, char **arguments)
{
    request.first = request.options = count > 0 ? (uint32_t)strtoul(arguments[0], NULL, 10) : 1;
    request.count = 1;
    for (int i = 1; i < count; i++) {
        const char *word = arguments[i];
        if (strchr(word, '=') != NULL) {
            REQUIRE(putenv(arguments[i]) == 0);
        } else if (word[0] != '-') {
            request.count = (uint32_t)strtoul(word, NULL, 10);
        } else if (strcmp(word, "--loud") == 0) {
            request.is_loud = 1;
        } else {
            REQUIRE(i + 1 < count);
            const char *value = arguments[++i];
            if (strcmp(word, "--steps") == 0)
                request.steps = atoi(value);
            else if (strcmp(word, "--threads") == 0)
                request.threads = atoi(value);
            else if (strcmp(word, "--skip") == 0)
                request.skipped = value;
            else if (strcmp(word, "--contexts") == 0)
                request.contexts = (uint32_t)strtoul(value, NULL, 10);
            else if (strcmp(word, "--options") == 0)
                request.options = (uint32_t)strtoul(value, NULL, 10);
            else if (strcmp(word, "--end") == 0)
                request.end = value;
            else
                REQUIRE(!"a known option");
        }
    }
    REQUIRE(request.threads <= THREADS_MAX);
}

int main(int count, char **arguments)
{
    understand(count - 1, arguments + 1);
    /* A kernel that is loaded at its first launch waits for held streams. */
    REQUIRE(setenv("CUDA_MODULE_LOADING", "EAGER", 1) == 0);
    choose_options(request.options);
    REQUIRE(*kernels_text() != 0); /* before there are threads */
    CUcontext kept = NULL;
    OK(cuInit(0));
    if (request.options % 2 || request.contexts > 0) /* one context for all programs, or one for each */
        OK(cuDevicePrimaryCtxRetain(&kept, 0));
    for (uint32_t i = 0; i < request.count; i++)
        run_program(request.first + i);
    end_with(request.end != NULL ? request.end : ends[seeded(request.options, -2, 0) / 256 % ENDS].name);
    return 0;
}
