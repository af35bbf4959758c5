/* The calls of storm.c: handles in pools that all threads share, data that is counted, and a function for each group of
 * calls. */
#ifndef STORM_H
#define STORM_H

enum { THREADS = 16, DISPATCHERS = 4, PLACES = 24, MEMORY = 1 << 16, ELEMENTS = 256, QUEUES = 1 << 14 };

/* The kinds of handles. */
enum { DISPATCHER, SET, TASK, TEMPLATE, ARRAYS, ARRAY, ACCESS, KERNEL, PIPELINE, END, ADMISSION, QUEUE, KINDS };

/* Data of a function, or of memory that was adopted. */
typedef struct Datum {
    struct Datum *next;
    const char *call;
    atomic_int freed;
    uint64_t random;
} Datum;

typedef struct {
    pthread_t thread;
    uint64_t random;
    CUstream stream;
    int calls, accepted, is_inside;
} Thread;

static _Atomic(void *) pools[KINDS][PLACES];
static _Atomic(Datum *) all_data;
static _Atomic(void *) all_queues[QUEUES]; /* one that is in use is not closed when another takes its place */
static atomic_int is_over, threads_left, queues_opened;
static int is_loud;
static CUcontext the_context;
static unsigned char *the_pinned;
static char *the_device, the_kernels[65536];
static size_t the_kernels_bytes;
static const uint32_t the_elements = ELEMENTS;

static uint32_t draw_from(uint64_t *random, uint32_t limit)
{
    *random ^= *random << 13, *random ^= *random >> 7, *random ^= *random << 17;
    return (uint32_t)(*random >> 20) % limit;
}

static uint32_t draw(Thread *thread, uint32_t limit)
{
    return draw_from(&thread->random, limit);
}

static int note(Thread *thread, const char *call, int code)
{
    if (is_loud)
        fprintf(stderr, "%s %d %s\n", call, code, code ? overtake_last_error() : "");
    if (code == OVERTAKE_ERROR_PANIC || strcmp(overtake_error_name(code), "unknown") == 0) {
        fprintf(stderr, "%s returns %d: %s\n", call, code, overtake_last_error());
        usleep(200000); /* for the message with the place of a panic */
        abort();
    }
    REQUIRE(code == OVERTAKE_OK || *overtake_last_error() != 0);
    thread->calls++, thread->accepted += code == OVERTAKE_OK;
    return code;
}

/* Notes a call by its name. */
#define TRY(call, ...) note(thread, #call, call(__VA_ARGS__))

static void free_any(uint64_t *random);

/* Functions that free data free handles too, as those of objects do. */
static void free_datum(void *data)
{
    Datum *datum = data;
    REQUIRE(atomic_fetch_add(&datum->freed, 1) == 0);
    uint64_t random = datum->random;
    if (draw_from(&random, 4) == 0)
        free_any(&random);
}

static Datum *new_datum(Thread *thread, const char *call)
{
    Datum *datum = calloc(1, sizeof *datum);
    REQUIRE(datum != NULL);
    datum->call = call, datum->random = thread->random | 1, datum->next = atomic_load(&all_data);
    while (!atomic_compare_exchange_weak(&all_data, &datum->next, datum))
        ;
    return datum;
}

/* A handle of this kind, most often: it may have been freed, or be none. */
static void *any(Thread *thread, int kind)
{
    switch (draw(thread, 40)) {
    case 0: return NULL;
    case 1: return (void *)(uintptr_t)(draw(thread, 1 << 20) * 16);
    case 2: kind = (int)draw(thread, KINDS); break;
    default: break;
    }
    return atomic_load(&pools[kind][draw(thread, kind == DISPATCHER ? DISPATCHERS : PLACES)]);
}

static void free_handle(Thread *thread, int kind, void *handle)
{
    switch (kind) {
    case SET: TRY(overtake_tasks_free, handle); break;
    case TASK: TRY(overtake_task_free, handle); break;
    case TEMPLATE: TRY(overtake_template_free, handle); break;
    case ARRAYS: TRY(overtake_arrays_close, handle); break;
    case ARRAY: TRY(overtake_array_free, handle); break;
    case ACCESS: TRY(overtake_access_close, handle); break;
    case KERNEL: TRY(overtake_kernel_free, handle); break;
    case PIPELINE: TRY(overtake_pipeline_free, handle); break;
    case END: TRY(overtake_pipeline_leave, handle); break;
    case ADMISSION: TRY(overtake_admission_free, handle); break;
    case QUEUE: TRY(overtake_copy_queue_close, handle); break;
    default: break;
    }
}

/* Shares a handle. The one before it is freed, though others may still have it. */
static void share(Thread *thread, int kind, void *handle)
{
    void *before = atomic_exchange(&pools[kind][draw(thread, PLACES)], handle);
    if (before != NULL)
        free_handle(thread, kind, before);
}

static void open_dispatcher(Thread *thread, int at)
{
    struct overtake_dispatcher_options options = {.struct_size = sizeof options, .lanes = 2};
    struct overtake_dispatcher *dispatcher = NULL;
    options.tasks_max = draw(thread, 3) ? 0 : 64, options.workers = 1 + draw(thread, 3);
    if (TRY(overtake_dispatcher_open, &options, &dispatcher) == OVERTAKE_OK)
        atomic_store(&pools[DISPATCHER][at], dispatcher);
}

static void read_kernels(void)
{
    FILE *file = fopen(KERNELS_PTX, "rb");
    REQUIRE(file != NULL);
    the_kernels_bytes = fread(the_kernels, 1, sizeof the_kernels, file);
    REQUIRE(the_kernels_bytes > 0 && fclose(file) == 0);
}

static void make_call(Thread *thread);

/* Functions of tasks make calls too. Those that would wait are refused. */
static int run_datum(void *data)
{
    Datum *datum = data;
    REQUIRE(atomic_load(&datum->freed) == 0);
    Thread inside = {.random = datum->random, .is_inside = 1};
    if (draw(&inside, 4) == 0)
        make_call(&inside);
    return draw(&inside, 12) == 0 ? 42 : 0;
}

static int launch_datum(Lane *lane, void *data)
{
    Thread inside = {.random = ((Datum *)data)->random, .is_inside = 1}, *thread = &inside;
    uint32_t turn = 0;
    OK(overtake_lane_turn(lane, &turn));
    if (draw(thread, 3) == 0)
        TRY(overtake_lane_copy, lane, the_device, the_pinned, 1 + draw(thread, 4096), OVERTAKE_COPY_HOST_TO_DEVICE);
    if (draw(thread, 6) == 0)
        TRY(overtake_lane_completes, lane, any(thread, TASK));
    if (turn < 2 && draw(thread, 4) == 0)
        TRY(overtake_lane_again, lane);
    return run_datum(data);
}

static int run_uses(void *const *addresses, void *data)
{
    REQUIRE(addresses != NULL);
    return run_datum(data);
}

static int launch_uses(Lane *lane, void *const *addresses, void *data)
{
    REQUIRE(addresses != NULL);
    return launch_datum(lane, data);
}

static int run_step(void *arguments, void *data)
{
    return run_datum(data) | run_datum(arguments);
}

static int launch_step(Lane *lane, void *arguments, void *data)
{
    return launch_datum(lane, data) | run_datum(arguments);
}

static int any_priority(Thread *thread)
{
    return draw(thread, 16) == 0 ? (int)draw(thread, 2000) - 1000 : (int)draw(thread, 4);
}

/* The description of a task, which may be wrong. */
static Spec any_spec(Thread *thread, const char *call, struct overtake_task **after)
{
    Spec spec = {.struct_size = sizeof spec, .kind = (int)draw(thread, 8), .name = draw(thread, 4) ? "gust" : NULL};
    spec.data = new_datum(thread, call), spec.free_data = free_datum;
    int is_host = spec.kind == OVERTAKE_TASK_HOST || spec.kind == OVERTAKE_TASK_LIGHT;
    if (is_host != (draw(thread, 20) == 0))
        spec.run = run_datum;
    else
        spec.launch = launch_datum;
    if (spec.kind == OVERTAKE_TASK_JOIN && draw(thread, 20))
        spec.launch = NULL;
    spec.references = draw(thread, 12) == 0 ? 1 + draw(thread, 2) : 0;
    spec.retries = draw(thread, 10) == 0 && !is_host ? draw(thread, 3) : 0;
    after[0] = any(thread, TASK), after[1] = any(thread, TASK);
    if (draw(thread, 3) == 0)
        spec.after = after, spec.after_count = draw(thread, 3);
    if (draw(thread, 12) == 0)
        spec.after_launch = draw(thread, 8) ? after : NULL, spec.after_launch_count = 1;
    return spec;
}

static void share_task(Thread *thread, int code, Task *task)
{
    if (code == OVERTAKE_OK && task != NULL)
        share(thread, TASK, task);
}

static void sets(Thread *thread)
{
    Tasks *set = NULL;
    Task *task = NULL;
    int is_done = 0;
    switch (draw(thread, 9)) {
    case 0:
    case 1:
        if (TRY(overtake_tasks_open, any(thread, DISPATCHER), draw(thread, 2) ? "set" : NULL, &set) == OVERTAKE_OK)
            share(thread, SET, set);
        break;
    case 2: TRY(overtake_tasks_wait_for, any(thread, SET), draw(thread, 300000), &is_done); break;
    case 3: TRY(overtake_tasks_stop, any(thread, SET)); break;
    case 4: TRY(overtake_tasks_start, any(thread, SET)); break;
    case 5: share_task(thread, TRY(overtake_tasks_named, any(thread, SET), "gust", &task), task); break;
    case 6:
        set = any(thread, SET);
        TRY(overtake_group_begin, set);
        share_task(thread, TRY(overtake_group_before, set, &task), task);
        TRY(overtake_group_end, set);
        break;
    case 7: TRY(overtake_group_end, any(thread, SET)); break;
    default: TRY(overtake_tasks_free, any(thread, SET));
    }
}

static void tasks(Thread *thread)
{
    Task *task = any(thread, TASK), *made = NULL, *after[2];
    int is_done = 0;
    switch (draw(thread, 14)) {
    case 0: TRY(overtake_task_wait_for, task, (int64_t)draw(thread, 300000) - 100, &is_done); break;
    case 1: TRY(overtake_task_is_done, task, &is_done); break;
    case 2: TRY(overtake_task_hold, task); break;
    case 3: TRY(overtake_task_release, task); break;
    case 4: TRY(overtake_task_raise, task, any_priority(thread)); break;
    case 5: TRY(overtake_task_before, task, any(thread, TASK)); break;
    case 6: TRY(overtake_task_free, task); break;
    case 7: TRY(overtake_task_cancel, task, &is_done); break;
    case 8: {
        Datum *datum = new_datum(thread, "overtake_task_when_done");
        TRY(overtake_task_when_done, task, run_datum, datum, free_datum);
        break;
    }
    default: {
        Spec spec = any_spec(thread, "overtake_submit", after);
        spec.priority = any_priority(thread), spec.is_named = draw(thread, 12) == 0;
        spec.room_timeout_ns = draw(thread, 4) ? 0 : (int64_t)draw(thread, 300000) - 100;
        share_task(thread, TRY(overtake_submit, any(thread, SET), &spec, draw(thread, 3) ? &made : NULL), made);
    }
    }
}

static void templates(Thread *thread)
{
    struct overtake_template *template = NULL;
    Task *task = NULL;
    switch (draw(thread, 8)) {
    case 0:
        if (TRY(overtake_template_new, &template) == OVERTAKE_OK)
            share(thread, TEMPLATE, template);
        break;
    case 1: TRY(overtake_template_free, any(thread, TEMPLATE)); break;
    case 2:
    case 3:
    case 4: {
        size_t after = draw(thread, 3);
        struct overtake_step_spec step = {.struct_size = sizeof step, .kind = (int)draw(thread, 7), .name = "step"};
        step.data = new_datum(thread, "overtake_template_add"), step.free_data = free_datum;
        step.priority = any_priority(thread), step.after_count = draw(thread, 2);
        if (step.after_count != 0 || draw(thread, 20) == 0)
            step.after = &after;
        if ((step.kind >= OVERTAKE_TASK_HOST) != (draw(thread, 20) == 0))
            step.run = run_step;
        else
            step.launch = launch_step;
        TRY(overtake_template_add, any(thread, TEMPLATE), &step, NULL);
        break;
    }
    default: {
        Task *after = any(thread, TASK);
        struct overtake_replay_spec replay = {.struct_size = sizeof replay, .priority = any_priority(thread)};
        replay.arguments = new_datum(thread, "overtake_template_replay"), replay.free_arguments = free_datum;
        replay.after_count = draw(thread, 6) == 0;
        if (replay.after_count != 0 || draw(thread, 40) == 0)
            replay.after = &after;
        replay.device = draw(thread, 30) == 0;
        int code = draw(thread, 5)
                       ? TRY(overtake_template_replay, any(thread, TEMPLATE), any(thread, SET), &replay, &task)
                       : TRY(overtake_pipeline_replay, any(thread, END), any(thread, TEMPLATE), &replay, &task);
        share_task(thread, code, task);
    }
    }
}

/* Frees a handle whose end waits for nothing. */
static void free_any(uint64_t *random)
{
    static const int kinds[] = {SET, TASK, TEMPLATE, ARRAY, ACCESS, KERNEL, PIPELINE, END, ADMISSION};
    Thread inside = {.random = *random, .is_inside = 1};
    int kind = kinds[draw(&inside, sizeof kinds / sizeof *kinds)];
    free_handle(&inside, kind, any(&inside, kind));
}

#include "storm_data.h"

static void make_call(Thread *thread)
{
    static void (*const groups[])(Thread *) = {sets,  tasks,     tasks,  tasks,  templates, array_sets, arrays, arrays,
                                               computations, computations, pipelines, frames, frames, frames, queues};
    groups[draw(thread, sizeof groups / sizeof *groups)](thread);
}

#endif
