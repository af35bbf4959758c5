/* Random use of the C ABI from several threads: every function, in any order, with valid and invalid arguments. No
 * call crashes or hangs, each returns a number of the header, and every byte arrives.
 *
 * usage: random FIRST COUNT [loud]
 *
 * Each stream has memory of its own and a model of it in plain memory: a copy that was accepted is made in both. The
 * environment is drawn as for the random programs of the drop-in, so that copies go by every way. */
#define _GNU_SOURCE
#include <pthread.h>

#include <cuda.h>
#include <overtake.h>

#include "device.h"

#include "../../../preload/tests/c/fuzz/options.h"

enum { BYTES = 320 << 10, LANES = 3, THREADS_MAX = 3, SCRATCH = 4096, STEPS_MAX = 60 };

/* A stream, its memory, and the expected content. */
typedef struct {
    CUstream stream;
    CUdeviceptr device;
    unsigned char *in, *out, *device_model, *out_model;
} Lane;

typedef struct {
    pthread_t thread;
    CUcontext context;
    Lane lanes[LANES];
    CUdeviceptr scratch;
    unsigned char *scratch_pinned;
    uint32_t random;
    int number, steps, scopes;
} User;

/* A thread may not close a context while another thread is inside a copy of it. */
static pthread_rwlock_t copying = PTHREAD_RWLOCK_INITIALIZER;
static int is_loud;
static atomic_int messages;

static uint32_t draw(User *user, size_t limit)
{
    return (uint32_t)((next_random(&user->random) >> 4) % limit);
}

static int noted(const User *user, const char *call, int code)
{
    if (is_loud)
        fprintf(stderr, "%d: %.*s %d %s\n", user->number, (int)strcspn(call, "("), call, code,
                code ? overtake_last_error() : "");
    REQUIRE(code != OVERTAKE_ERROR_PANIC);
    REQUIRE(strcmp(overtake_error_name(code), "unknown") != 0);
    REQUIRE(code == OVERTAKE_OK || *overtake_last_error() != 0);
    return code;
}

/* Makes a call that may fail, in a documented way. */
#define TRY(call) noted(user, #call, call)
#define WORKS(call) REQUIRE(TRY(call) == OVERTAKE_OK)

/* Valid in three of four draws; `is_valid` says whether it is. */
static int any_priority(User *user, int *is_valid)
{
    static const int wrong[] = {-1, -2147483647 - 1, 2147483647, 33};
    *is_valid = draw(user, 8) != 0;
    return *is_valid ? (int)draw(user, (size_t)overtake_priorities() + 1) : wrong[draw(user, 4)];
}

static int is_off(void)
{
    return strcmp(overtake_deployment(), "off") == 0;
}

static size_t any_bytes(User *user)
{
    static const size_t limits[] = {16, 5000, 30 << 10, BYTES / 2, BYTES / 2};
    return 1 + draw(user, limits[draw(user, 5)]);
}

/* Makes an accepted copy in the model as well: `way` is 0 to the device, 1 to the host, 2 within the device. */
static void model(Lane *lane, int way, size_t to, size_t from, size_t bytes)
{
    unsigned char *target = way == 1 ? lane->out_model : lane->device_model;
    memmove(target + to, (way == 0 ? lane->in : lane->device_model) + from, bytes);
}

static void *target_of(Lane *lane, int way, size_t at)
{
    return way == 1 ? (void *)(lane->out + at) : (void *)(uintptr_t)(lane->device + at);
}

static const void *source_of(Lane *lane, int way, size_t at)
{
    return way == 0 ? (const void *)(lane->in + at) : (const void *)(uintptr_t)(lane->device + at);
}

static const int kinds[] = {OVERTAKE_COPY_HOST_TO_DEVICE, OVERTAKE_COPY_DEVICE_TO_HOST, OVERTAKE_COPY_DEVICE_TO_DEVICE};

/* A copy that is refused for its priority has not been made. */
static void judge(int code, int is_valid)
{
    REQUIRE(is_valid ? code == OVERTAKE_OK : code == OVERTAKE_OK || code == OVERTAKE_ERROR_INVALID_ARGUMENT);
}

static void copy(User *user)
{
    Lane *lane = &user->lanes[draw(user, LANES)];
    int way = (int)draw(user, 5) / 2, is_valid, priority = any_priority(user, &is_valid);
    size_t bytes = any_bytes(user), to = draw(user, BYTES / 2 - bytes + 1), from = draw(user, BYTES / 2 - bytes + 1);
    if (way == 2)
        to += BYTES / 2; /* apart from the source */
    int kind = draw(user, 3) ? kinds[way] : OVERTAKE_COPY_DEFAULT;
    int code = TRY(overtake_memcpy_async(target_of(lane, way, to), source_of(lane, way, from), bytes, kind,
                                         lane->stream, priority));
    judge(code, is_valid);
    if (code == OVERTAKE_OK)
        model(lane, way, to, from, bytes);
}

static void rectangle(User *user)
{
    Lane *lane = &user->lanes[draw(user, LANES)];
    int way = (int)draw(user, 2), is_valid, priority = any_priority(user, &is_valid);
    size_t width = 1 + draw(user, 800), height = 1 + draw(user, 150);
    size_t to_pitch = width + draw(user, 100), from_pitch = width + draw(user, 100);
    int code = TRY(overtake_memcpy_2d_async(target_of(lane, way, 0), to_pitch, source_of(lane, way, 0), from_pitch,
                                            width, height, kinds[way], lane->stream, priority));
    judge(code, is_valid);
    for (size_t row = 0; code == OVERTAKE_OK && row < height; row++)
        model(lane, way, row * to_pitch, row * from_pitch, width);
}

/* Each copy of a batch has its own part of the memory. */
static void batch(User *user)
{
    enum { PARTS = 8, PART = BYTES / PARTS };
    Lane *lane = &user->lanes[draw(user, LANES)];
    int way = (int)draw(user, 2), is_valid, priority = any_priority(user, &is_valid);
    void *targets[PARTS];
    const void *sources[PARTS];
    size_t sizes[PARTS], count = draw(user, PARTS + 1);
    for (size_t i = 0; i < count; i++) {
        sizes[i] = 1 + draw(user, PART);
        targets[i] = target_of(lane, way, i * PART), sources[i] = source_of(lane, way, i * PART);
    }
    int code = TRY(overtake_memcpy_batch_async(targets, sources, sizes, count, lane->stream, priority));
    judge(code, is_valid || count == 0);
    for (size_t i = 0; code == OVERTAKE_OK && i < count; i++)
        model(lane, way, i * PART, i * PART, sizes[i]);
}

/* Compares every byte with the model. */
/* The same parts through a queue, which is flushed once or as it is closed. */
static void queue(User *user)
{
    enum { PARTS = 8, PART = BYTES / PARTS };
    Lane *lane = &user->lanes[draw(user, LANES)];
    struct overtake_copy_queue *queue = NULL;
    int way = (int)draw(user, 2), is_valid, priority = any_priority(user, &is_valid);
    if (TRY(overtake_copy_queue_open(lane->stream, priority, draw(user, 9), &queue)) != OVERTAKE_OK)
        return;
    for (size_t i = 0; i < PARTS; i++) {
        size_t bytes = 1 + draw(user, PART);
        WORKS(overtake_copy_queue_copy(queue, target_of(lane, way, i * PART), source_of(lane, way, i * PART), bytes,
                                       draw(user, 2) ? kinds[way] : OVERTAKE_COPY_DEFAULT));
        model(lane, way, i * PART, i * PART, bytes);
    }
    TRY(overtake_copy_queue_copy(queue, NULL, NULL, 1, 9));
    WORKS(overtake_copy_queue_set(queue, (void *)(uintptr_t)user->scratch, draw(user, 1000), draw(user, SCRATCH)));
    if (draw(user, 2))
        WORKS(overtake_copy_queue_flush(queue));
    WORKS(overtake_copy_queue_close(queue));
    TRY(overtake_copy_queue_flush(queue));
}

static void look(User *user)
{
    Lane *lane = &user->lanes[draw(user, LANES)];
    OK(cuStreamSynchronize(lane->stream));
    REQUIRE(memcmp(lane->out, lane->out_model, BYTES) == 0);
}

static void wrong_copies(User *user)
{
    static const int wrong_kinds[] = {0, 5, -1, 2147483647};
    void *device = (void *)(uintptr_t)user->scratch, *host = user->scratch_pinned;
    CUstream stream = user->lanes[0].stream;
    size_t huge = (size_t)-1, size = SCRATCH;
    const void *source = host;
    TRY(overtake_memcpy_async(device, host, SCRATCH, wrong_kinds[draw(user, 4)], stream, 1));
    REQUIRE(TRY(overtake_memcpy_async(device, host, huge >> draw(user, 20), OVERTAKE_COPY_DEFAULT, stream, 1)) != 0);
    WORKS(overtake_memcpy_async(device, host, 0, OVERTAKE_COPY_HOST_TO_DEVICE, stream, 1));
    REQUIRE(TRY(overtake_memcpy_2d_async(device, 10, host, 10, 11, 5, OVERTAKE_COPY_HOST_TO_DEVICE, stream, 2)) != 0);
    REQUIRE(TRY(overtake_memcpy_2d_async(device, (size_t)2 << 20, host, (size_t)2 << 20, (size_t)2 << 20,
                                         ((size_t)1 << 43) + 1, OVERTAKE_COPY_HOST_TO_DEVICE, stream, 1)) != 0);
    REQUIRE(TRY(overtake_memcpy_batch_async(NULL, &source, &size, 1, stream, 1)) == OVERTAKE_ERROR_INVALID_ARGUMENT);
    REQUIRE(TRY(overtake_memcpy_batch_async(&device, &source, NULL, 1, stream, 1)) == OVERTAKE_ERROR_INVALID_ARGUMENT);
}

static void streams(User *user)
{
    Lane *lane = &user->lanes[draw(user, LANES)];
    int is_valid, priority = any_priority(user, &is_valid), found = 4711;
    int code = draw(user, 2) ? TRY(overtake_set_stream_priority(lane->stream, priority))
                             : TRY(overtake_adopt_stream(lane->stream, priority));
    REQUIRE(code == OVERTAKE_OK || code == OVERTAKE_ERROR_INVALID_ARGUMENT);
    WORKS(overtake_stream_priority(lane->stream, &found));
    REQUIRE(found >= 0 && found <= overtake_priorities());
    REQUIRE(TRY(overtake_stream_priority(lane->stream, NULL)) == OVERTAKE_ERROR_INVALID_ARGUMENT);
    TRY(overtake_set_stream_priority(NULL, priority));
    if (draw(user, 2))
        WORKS(overtake_release_stream(lane->stream));
}

static void renew_stream(User *user)
{
    Lane *lane = &user->lanes[draw(user, LANES)];
    WORKS(overtake_release_stream(lane->stream));
    if (draw(user, 2))
        OK(cuStreamSynchronize(lane->stream));
    CUstream old = lane->stream;
    CUevent last = NULL;
    OK(cuEventCreate(&last, CU_EVENT_DISABLE_TIMING));
    OK(cuEventRecord(last, old));
    lane->stream = new_stream();
    OK(cuStreamWaitEvent(lane->stream, last, 0));
    OK(cuStreamDestroy(old));
    OK(cuEventDestroy(last));
}

static void threads(User *user)
{
    int is_valid, priority = any_priority(user, &is_valid), before = 4711;
    int code = TRY(overtake_set_thread_priority(priority, draw(user, 4) ? &before : NULL));
    REQUIRE(is_valid ? code == OVERTAKE_OK : 1);
    REQUIRE(before == 4711 || (before >= 0 && before <= overtake_priorities()));
    priority = any_priority(user, &is_valid);
    if (draw(user, 2) && TRY(overtake_push_priority(priority)) == OVERTAKE_OK)
        user->scopes++;
    else if (TRY(overtake_pop_priority()) == OVERTAKE_OK)
        REQUIRE(user->scopes-- > 0);
}

static void rules(User *user)
{
    static const char *const texts[] = {"", "[[rule]]\npriority = \"pass\"\n",
                                        "[[rule]]\nbytes_min = \"64K\"\npriority = 1\n",
                                        "[[", "[[rule]]\npriority = 99\n", "\xff\xfe", "x = [", "[[rule]]\n"};
    TRY(overtake_set_rules(texts[draw(user, sizeof texts / sizeof *texts)]));
    REQUIRE(TRY(overtake_set_rules(NULL)) == OVERTAKE_ERROR_INVALID_ARGUMENT);
    WORKS(overtake_set_rules(draw(user, 2) ? "" : texts[2]));
}

static void statistics(User *user)
{
    unsigned char room[2 * sizeof(struct overtake_statistics)];
    struct overtake_statistics sums;
    uint32_t size = draw(user, sizeof room + 1);
    memset(room, 0xee, sizeof room);
    memcpy(room, &size, sizeof size);
    int code = TRY(overtake_read_statistics((struct overtake_statistics *)(void *)room));
    for (size_t i = code == OVERTAKE_OK ? size : sizeof size; i < sizeof room; i++)
        REQUIRE(room[i] == 0xee);
    sums.struct_size = sizeof sums;
    WORKS(overtake_read_statistics(&sums));
    REQUIRE(sums.struct_size == sizeof sums);
    REQUIRE(TRY(overtake_read_statistics(NULL)) == OVERTAKE_ERROR_INVALID_ARGUMENT);
}

static void report(User *user)
{
    static const size_t sizes[] = {0, 1, 100, 1000, 1 << 16};
    size_t size = sizes[draw(user, 5)], needed = 4711;
    char *text = malloc(size + 16);
    REQUIRE(text != NULL);
    memset(text, 0x5e, size + 16);
    int code = TRY(overtake_report_json(text, size, draw(user, 4) ? &needed : NULL));
    REQUIRE(code != OVERTAKE_OK || text[0] == '{' || is_off());
    for (size_t i = 0; i < 16; i++)
        REQUIRE(text[size + i] == 0x5e);
    TRY(overtake_report_json(NULL, size, &needed));
    free(text);
}

#include "random_tasks.h"

static void names(User *user)
{
    int number = (int)draw(user, 1200) - 20;
    REQUIRE(*overtake_error_name(number) != 0 && *overtake_error_text(number) != 0);
    REQUIRE(overtake_last_error() != NULL && *overtake_version_text() != 0 && overtake_version() >= 0);
    REQUIRE(*overtake_deployment() != 0 && overtake_priorities() >= 1);
}

static void count_message(void *data, int level, const char *text)
{
    (void)level;
    REQUIRE(text != NULL && data == &messages);
    atomic_fetch_add(&messages, 1);
}

static void opens(User *user)
{
    static const char *const texts[] = {"", "wait_budget_us = 30\n", "priorities = 0\n",
                                        "\xff", "nonsense", "[["};
    TRY(overtake_open(draw(user, 2) ? NULL : texts[draw(user, 6)]));
    if (draw(user, 4) != 0)
        return;
    WORKS(overtake_set_log_callback(draw(user, 2) ? count_message : NULL, &messages));
}

static void closes(User *user)
{
    REQUIRE(pthread_rwlock_unlock(&copying) == 0);
    REQUIRE(pthread_rwlock_wrlock(&copying) == 0);
    TRY(overtake_close());
    if (draw(user, 2))
        TRY(overtake_open(NULL));
    REQUIRE(pthread_rwlock_unlock(&copying) == 0);
    REQUIRE(pthread_rwlock_rdlock(&copying) == 0);
}

/* Makes a context, perhaps opens and closes the layer in it, and destroys it. */
static void passing_context(User *user)
{
    CUcontext mine = NULL;
    unsigned char back[SCRATCH];
    OK(cuCtxCreate_v2(&mine, 0, 0));
    CUstream stream = new_stream();
    CUdeviceptr device = new_device_bytes(BYTES);
    unsigned char *pinned = new_pinned_bytes(BYTES);
    memset(pinned, (int)draw(user, 256), BYTES);
    if (draw(user, 2))
        WORKS(overtake_open(NULL));
    if (draw(user, 2))
        WORKS(overtake_adopt_stream(stream, 1 + (int)draw(user, (size_t)overtake_priorities())));
    WORKS(overtake_memcpy_async((void *)(uintptr_t)device, pinned, BYTES, OVERTAKE_COPY_DEFAULT, stream, 1));
    WORKS(overtake_memcpy_async((void *)(uintptr_t)device, pinned, SCRATCH, OVERTAKE_COPY_DEFAULT, stream,
                                overtake_priorities()));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(back, device + BYTES - SCRATCH, SCRATCH));
    REQUIRE(memcmp(back, pinned, SCRATCH) == 0);
    TRY(overtake_release_stream(stream));
    WORKS(overtake_close());
    OK(cuCtxDestroy(mine));
    OK(cuCtxSetCurrent(user->context));
}

static void without_context(User *user)
{
    OK(cuCtxSetCurrent(NULL));
    TRY(overtake_open(NULL));
    TRY(overtake_close());
    TRY(overtake_set_stream_priority(user->lanes[0].stream, 2));
    TRY(overtake_adopt_stream(NULL, 1));
    REQUIRE(TRY(overtake_memcpy_async((void *)(uintptr_t)user->scratch, user->scratch_pinned, SCRATCH,
                                      OVERTAKE_COPY_HOST_TO_DEVICE, NULL, 1)) != OVERTAKE_OK);
    OK(cuCtxSetCurrent(user->context));
}

static const struct {
    const char *name;
    void (*make)(User *);
    uint32_t weight;
} operations[] = {
    {"copy", copy, 14},        {"rectangle", rectangle, 5},  {"batch", batch, 5},
    {"look", look, 2},         {"wrong copies", wrong_copies, 1}, {"streams", streams, 3},
    {"renew stream", renew_stream, 1}, {"threads", threads, 3}, {"rules", rules, 1},
    {"statistics", statistics, 1}, {"report", report, 1},    {"names", names, 1},
    {"open", opens, 1},        {"close", closes, 1},         {"passing context", passing_context, 1},
    {"no context", without_context, 1}, {"tasks", tasks, 1},       {"queue", queue, 3},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static void make_lane(User *user, Lane *lane)
{
    lane->stream = new_stream(), lane->device = new_device_bytes(BYTES);
    lane->in = new_pinned_bytes(BYTES), lane->out = new_pinned_bytes(BYTES);
    fill(lane->in, BYTES, draw(user, 1000));
    memset(lane->out, 0, BYTES);
    OK(cuMemsetD8Async(lane->device, 0, BYTES, lane->stream));
    lane->device_model = calloc(1, BYTES), lane->out_model = calloc(1, BYTES);
    REQUIRE(lane->device_model != NULL && lane->out_model != NULL);
}

static void end_lane(User *user, Lane *lane)
{
    OK(cuStreamSynchronize(lane->stream));
    REQUIRE(memcmp(lane->out, lane->out_model, BYTES) == 0);
    OK(cuMemcpyDtoH(lane->out, lane->device, BYTES));
    REQUIRE(memcmp(lane->out, lane->device_model, BYTES) == 0);
    TRY(overtake_release_stream(lane->stream));
    OK(cuStreamDestroy(lane->stream));
    OK(cuMemFree(lane->device));
    OK(cuMemFreeHost(lane->in));
    OK(cuMemFreeHost(lane->out));
    free(lane->device_model);
    free(lane->out_model);
}

static void make_step(User *user)
{
    uint32_t all = 0, which;
    size_t i = 0;
    for (size_t j = 0; j < OPERATIONS; j++)
        all += operations[j].weight;
    for (which = draw(user, all); which >= operations[i].weight; i++)
        which -= operations[i].weight;
    if (is_loud)
        fprintf(stderr, "%d: %s\n", user->number, operations[i].name);
    REQUIRE(pthread_rwlock_rdlock(&copying) == 0);
    operations[i].make(user);
    REQUIRE(pthread_rwlock_unlock(&copying) == 0);
}

static void *run_user(void *argument)
{
    User *user = argument;
    OK(cuCtxSetCurrent(user->context));
    for (int i = 0; i < LANES; i++)
        make_lane(user, &user->lanes[i]);
    user->scratch = new_device_bytes(SCRATCH), user->scratch_pinned = new_pinned_bytes(SCRATCH);
    for (int i = 0; i < user->steps; i++)
        make_step(user);
    for (int i = 0; i < LANES; i++)
        end_lane(user, &user->lanes[i]);
    OK(cuMemFree(user->scratch));
    OK(cuMemFreeHost(user->scratch_pinned));
    return NULL;
}

static void run_program(uint32_t seed)
{
    static User users[THREADS_MAX];
    uint32_t state = seed * 2654435761u | 1;
    CUcontext context = open_device();
    int count = 1 + (int)((next_random(&state) >> 8) % THREADS_MAX);
    memset(users, 0, sizeof users);
    for (int i = 0; i < count; i++) {
        User *user = &users[i];
        user->context = context, user->number = i, user->random = next_random(&state) | 1;
        user->steps = 5 + (int)draw(user, STEPS_MAX);
        REQUIRE(pthread_create(&user->thread, NULL, run_user, user) == 0);
    }
    for (int i = 0; i < count; i++)
        REQUIRE(pthread_join(users[i].thread, NULL) == 0);
    if (seed % 2)
        REQUIRE(overtake_close() == OVERTAKE_OK);
    close_device();
}

int main(int count, char **arguments)
{
    REQUIRE(count >= 3);
    uint32_t first = (uint32_t)strtoul(arguments[1], NULL, 10), programs = (uint32_t)strtoul(arguments[2], NULL, 10);
    is_loud = count > 3;
    choose_options(first);
    fflush(stdout);
    for (uint32_t i = 0; i < programs; i++) {
        if (is_loud)
            fprintf(stderr, "program %u\n", first + i);
        run_program(first + i);
    }
    puts("ok");
    return 0;
}
