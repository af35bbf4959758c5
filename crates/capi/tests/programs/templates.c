/* Templates through the C ABI: recorded once, replayed with other arguments and priorities, also as a part of a frame;
 * and the measured times of computations. */
#include "arrays.h"

#include <time.h>

enum { BYTES = 16 << 10, REPLAYS = 12 };

typedef struct overtake_template Template;
typedef struct overtake_step_spec Step;
typedef struct overtake_replay_spec Replay;

typedef struct {
    unsigned char *in, *out;
    void *device;
    atomic_int priority, is_read, is_freed;
} Work;

static int upload(Lane *lane, void *arguments, void *data)
{
    Work *work = arguments;
    int priority = 0;
    REQUIRE(data == (void *)&freed);
    OK(overtake_lane_priority(lane, &priority));
    atomic_store(&work->priority, priority);
    return overtake_lane_copy(lane, work->device, work->in, BYTES, OVERTAKE_COPY_HOST_TO_DEVICE);
}

/* Work in two turns: a word each. */
static int fill_words(Lane *lane, void *arguments, void *data)
{
    Work *work = arguments;
    CUstream stream = NULL;
    uint32_t turn = 99;
    (void)data;
    OK(overtake_lane_stream(lane, &stream));
    OK(overtake_lane_turn(lane, &turn));
    if (turn == 0)
        OK(overtake_lane_again(lane));
    return (int)cuMemsetD32Async((CUdeviceptr)(uintptr_t)work->device + turn * 4, 0x01010101u * (turn + 1), 1, stream);
}

static int download(Lane *lane, void *arguments, void *data)
{
    Work *work = arguments;
    (void)data;
    return overtake_lane_copy(lane, work->out, work->device, BYTES, OVERTAKE_COPY_DEVICE_TO_HOST);
}

static int compare(void *arguments, void *data)
{
    Work *work = arguments;
    (void)data;
    for (int i = 0; i < 8; i++)
        REQUIRE(work->out[i] == 1 + i / 4);
    REQUIRE(memcmp(work->in + 8, work->out + 8, BYTES - 8) == 0);
    atomic_store(&work->is_read, 1);
    return 0;
}

static int has_no_cable(void *arguments, void *data)
{
    (void)arguments, (void)data;
    OK(overtake_set_last_error("the cable is out"));
    return 42;
}

static void free_arguments(void *arguments)
{
    atomic_store(&((Work *)arguments)->is_freed, 1);
}

static Step step_of(int kind, const char *name)
{
    return (Step){.struct_size = sizeof(Step), .kind = kind, .name = name, .data = &freed, .free_data = count_freed};
}

static size_t add(Template *template, Step step, const size_t *first)
{
    size_t number = 99;
    step.after = first, step.after_count = first != NULL;
    OK(overtake_template_add(template, &step, &number));
    return number;
}

static Template *recorded(void)
{
    Template *template = NULL;
    OK(overtake_template_new(&template));
    Step up = step_of(OVERTAKE_TASK_UPLOAD, "upload"), set = step_of(OVERTAKE_TASK_KERNEL, "fill");
    Step down = step_of(OVERTAKE_TASK_DOWNLOAD, "download"), last = step_of(OVERTAKE_TASK_HOST, "compare");
    up.launch = upload, set.launch = fill_words, down.launch = download, last.run = compare;
    size_t first = add(template, up, NULL), second = add(template, set, &first), third = add(template, down, &second);
    REQUIRE(first == 0 && second == 1 && third == 2 && add(template, last, &third) == 3);
    return template;
}

static Work new_work(unsigned seed)
{
    Work work = {.in = pinned_bytes(BYTES, seed), .out = pinned_bytes(BYTES, 0), .device = on_device(BYTES)};
    return work;
}

static void replays(Tasks *tasks)
{
    static Work works[REPLAYS];
    Template *template = recorded();
    Task *before = NULL;
    atomic_store(&freed, 0);
    for (int i = 0; i < REPLAYS; i++) {
        works[i] = new_work(7u * (unsigned)i);
        Replay replay = {.struct_size = sizeof replay, .priority = i % 2 ? 5 : 0, .arguments = &works[i]};
        replay.free_arguments = free_arguments;
        replay.after = before ? &before : NULL, replay.after_count = before != NULL;
        Task *task = NULL;
        OK(overtake_template_replay(template, tasks, &replay, &task));
        if (before != NULL)
            OK(overtake_task_free(before));
        before = task;
    }
    OK(overtake_task_wait(before));
    OK(overtake_task_free(before));
    Step late = step_of(OVERTAKE_TASK_LIGHT, "late");
    late.run = compare;
    REFUSED(OVERTAKE_ERROR_REFUSED, "record task \"late\" in a new one", overtake_template_add(template, &late, NULL));
    OK(overtake_tasks_wait(tasks));
    OK(overtake_template_free(template));
    for (int i = 0; i < REPLAYS; i++) {
        REQUIRE(works[i].is_read);
        /* A replay before an urgent one inherits its priority. */
        REQUIRE(i % 2 == 0 || works[i].priority == 5);
        while (!atomic_load(&works[i].is_freed))
            ; /* a moment after its tasks have ended */
    }
    while (atomic_load(&freed) < 5)
        ;
    REQUIRE(atomic_load(&freed) == 5);
}

/* Without a later replay a task has the priority of its own replay, or of its step. */
static void priorities(Tasks *tasks)
{
    Template *template = NULL;
    OK(overtake_template_new(&template));
    Step up = step_of(OVERTAKE_TASK_UPLOAD, "upload");
    up.launch = upload, up.priority = 3;
    add(template, up, NULL);
    Work work = new_work(1);
    for (int priority = 1; priority <= 5; priority += 4) {
        Replay replay = {.struct_size = sizeof replay, .priority = priority, .arguments = &work};
        Task *task = NULL;
        OK(overtake_template_replay(template, tasks, &replay, &task));
        OK(overtake_task_wait(task));
        OK(overtake_task_free(task));
        REQUIRE(work.priority == (priority == 1 ? 3 : 5));
    }
    OK(overtake_template_free(template));
}

static atomic_int called;

static int set_word(Lane *lane, void *arguments, void *data)
{
    CUstream stream = NULL;
    (void)arguments;
    atomic_fetch_add(&called, 1);
    OK(overtake_lane_stream(lane, &stream));
    return (int)cuMemsetD32Async((CUdeviceptr)(uintptr_t)*(void **)data, 0x01010101u, 1, stream);
}

/* Each replay sets the word again, and the functions are called for the first one alone. */
static void fixed(Dispatcher *dispatcher, Tasks *tasks)
{
    Template *template = NULL;
    void *device = on_device(BYTES);
    OK(overtake_template_new(&template));
    Step set = {.struct_size = sizeof set, .kind = OVERTAKE_TASK_KERNEL, .name = "set", .launch = set_word};
    set.data = &device;
    size_t first = add(template, set, NULL);
    add(template, set, &first);
    OK(overtake_template_fix(template));
    REFUSED(OVERTAKE_ERROR_REFUSED, "fix it before its first replay", overtake_template_fix(template));
    REFUSED(OVERTAKE_ERROR_REFUSED, "record task \"set\" in a new one", overtake_template_add(template, &set, NULL));
    struct overtake_dispatcher_statistics counts = {.struct_size = sizeof counts};
    for (int i = 0; i < REPLAYS; i++) {
        Replay replay = {.struct_size = sizeof replay};
        Task *task = NULL;
        unsigned word = 0;
        OK((int)cuMemsetD8((CUdeviceptr)(uintptr_t)device, 0, BYTES));
        OK(overtake_template_replay(template, tasks, &replay, &task));
        OK(overtake_task_wait(task));
        OK(overtake_task_free(task));
        OK((int)cuMemcpyDtoH(&word, (CUdeviceptr)(uintptr_t)device, sizeof word));
        REQUIRE(word == 0x01010101u);
    }
    OK(overtake_dispatcher_read_statistics(dispatcher, &counts));
    REQUIRE(atomic_load(&called) == 2 && counts.graph_launches == REPLAYS && counts.graph_fallbacks == 0);
    OK(overtake_template_free(template));
}

static void refusals(Tasks *tasks)
{
    Template *template = NULL;
    OK(overtake_template_new(&template));
    Step fails = step_of(OVERTAKE_TASK_HOST, "fails"), wrong = fails;
    fails.run = has_no_cable;
    int freed_before = atomic_load(&freed);
    size_t unknown = 7;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "task \"fails\": a task of the host has run",
            overtake_template_add(template, &wrong, NULL));
    wrong = fails, wrong.kind = OVERTAKE_TASK_JOIN;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "of a template", overtake_template_add(template, &wrong, NULL));
    wrong = fails, wrong.after = &unknown, wrong.after_count = 1;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "a step that is none of the 0",
            overtake_template_add(template, &wrong, NULL));
    wrong.after_count = 0;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "after is set, but after_count is 0",
            overtake_template_add(template, &wrong, NULL));
    REQUIRE(atomic_load(&freed) == freed_before + 4);
    add(template, fails, NULL);
    Work work = {.in = NULL};
    Replay replay = {.struct_size = sizeof replay, .arguments = &work, .free_arguments = free_arguments};
    Task *task = NULL;
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "the set of tasks is null",
            overtake_template_replay(template, NULL, &replay, &task));
    REQUIRE(work.is_freed && task == NULL);
    replay.after = &task;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "after is set, but after_count is 0",
            overtake_template_replay(template, tasks, &replay, &task));
    replay.after = NULL;
    OK(overtake_template_replay(template, tasks, &replay, &task));
    REFUSED(OVERTAKE_ERROR_TASK_FAILED, "task \"fails\" failed: the cable is out", overtake_task_wait(task));
    OK(overtake_task_free(task));
    OK(overtake_template_free(template));
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "is not a template here", overtake_template_free(template));
}

enum { ROOM = 8, MANY = 100 };

static int counts(void *arguments, void *data)
{
    (void)data;
    atomic_fetch_add((atomic_int *)arguments, 1);
    return 0;
}

static int replays_inside(void *arguments, void *data)
{
    Replay replay = {.struct_size = sizeof replay, .arguments = data, .room_timeout_ns = OVERTAKE_FOR_EVER};
    REFUSED(OVERTAKE_ERROR_REFUSED, "must not wait for room",
            overtake_template_replay(((void **)arguments)[0], ((void **)arguments)[1], &replay, NULL));
    return 0;
}

static void free_once(void *arguments)
{
    (void)arguments;
    atomic_fetch_add(&freed, 1);
}

/* A replay waits until a full dispatcher has room for all its tasks. */
static void room(void)
{
    struct overtake_dispatcher_options options = {.struct_size = sizeof options, .tasks_max = ROOM};
    Dispatcher *dispatcher = NULL;
    OK(overtake_dispatcher_open(&options, &dispatcher));
    Tasks *tasks = new_tasks(dispatcher);
    Template *template = NULL, *inside = NULL;
    Task *held[ROOM], *task = NULL;
    atomic_int runs = 0;
    OK(overtake_template_new(&template));
    OK(overtake_template_new(&inside));
    Step one = {.struct_size = sizeof one, .kind = OVERTAKE_TASK_HOST, .name = "one", .run = counts}, enters = one;
    size_t first = add(template, one, NULL);
    add(template, one, &first);
    void *both[] = {template, tasks};
    enters.name = "enters", enters.run = replays_inside, enters.data = &runs;
    add(inside, enters, NULL);
    Spec spec = spec_of(OVERTAKE_TASK_JOIN, "held", NULL);
    spec.references = 1;
    Task *gate = submit_after(tasks, spec, NULL), *looked = NULL;
    Replay replay = {.struct_size = sizeof replay, .arguments = both, .after = &gate, .after_count = 1};
    OK(overtake_template_replay(inside, tasks, &replay, &looked));
    int count = 0;
    for (; overtake_submit(tasks, &spec, &held[count]) == OVERTAKE_OK; count++)
        REQUIRE(count < ROOM - 1);
    atomic_store(&freed, 0);
    replay = (Replay){.struct_size = sizeof replay, .arguments = &runs, .free_arguments = free_once};
    REFUSED(OVERTAKE_ERROR_WOULD_BLOCK, "the graph is full", overtake_template_replay(template, tasks, &replay, &task));
    replay.room_timeout_ns = 3000000;
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    REFUSED(OVERTAKE_ERROR_WOULD_BLOCK, "the graph is full", overtake_template_replay(template, tasks, &replay, &task));
    clock_gettime(CLOCK_MONOTONIC, &end);
    REQUIRE((end.tv_sec - start.tv_sec) * 1000000000L + end.tv_nsec - start.tv_nsec >= replay.room_timeout_ns);
    replay.room_timeout_ns = -2;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "timeout_ns is -2",
            overtake_template_replay(template, tasks, &replay, &task));
    REQUIRE(freed == 3 && runs == 0 && task == NULL);
    OK(overtake_task_release(gate)); /* that makes room for one task, and the replay has two */
    OK(overtake_task_wait(looked));
    while (count > 0)
        OK(overtake_task_release(held[--count]));
    replay.room_timeout_ns = OVERTAKE_FOR_EVER;
    for (int i = 0; i < MANY; i++)
        OK(overtake_template_replay(template, tasks, &replay, NULL));
    OK(overtake_tasks_wait(tasks));
    REQUIRE(runs == 2 * MANY);
    OK(overtake_dispatcher_close(dispatcher));
    REQUIRE(freed == 3 + MANY);
    OK(overtake_template_free(template));
    OK(overtake_template_free(inside));
}

/* The tasks of a frame. */
static void frames(Tasks *tasks)
{
    struct overtake_pipeline *pipeline = NULL;
    struct overtake_pipeline_end *producer = NULL, *consumer = NULL;
    struct overtake_pipeline_options options = {.struct_size = sizeof options, .bytes = BYTES, .priority = 4};
    OK(overtake_pipeline_open(tasks, &options, &pipeline, &producer, &consumer));
    Template *template = recorded();
    Work work = new_work(3);
    Replay replay = {.struct_size = sizeof replay, .arguments = &work};
    struct overtake_frame frame = {.struct_size = sizeof frame};
    REFUSED(OVERTAKE_ERROR_REFUSED, "call overtake_pipeline_acquire first",
            overtake_pipeline_replay(producer, template, &replay, NULL));
    OK(overtake_pipeline_acquire(producer, OVERTAKE_FOR_EVER, &frame));
    OK(overtake_pipeline_replay(producer, template, &replay, NULL));
    replay.priority = 2;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "set priority and room_timeout_ns to 0",
            overtake_pipeline_replay(producer, template, &replay, NULL));
    replay.priority = 0, replay.room_timeout_ns = 1;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "set priority and room_timeout_ns to 0",
            overtake_pipeline_replay(producer, template, &replay, NULL));
    OK(overtake_pipeline_commit(producer));
    OK(overtake_pipeline_wait(consumer, OVERTAKE_FOR_EVER, &frame));
    REQUIRE(work.is_read && work.priority == 4);
    OK(overtake_pipeline_leave(consumer));
    OK(overtake_pipeline_leave(producer));
    OK(overtake_pipeline_free(pipeline));
    OK(overtake_template_free(template));
}

typedef struct {
    int rows;
    uint64_t count, bytes;
} Seen;

static void see(const struct overtake_computation_times *times, void *data)
{
    Seen *seen = data;
    REQUIRE(times->struct_size >= sizeof *times && strcmp(times->name, "work_add") == 0 && times->device == 0);
    REQUIRE(times->least_us > 0 && times->least_us <= times->mean_us && times->last_us >= times->least_us);
    seen->rows++, seen->count += times->count, seen->bytes = times->bytes;
}

/* Times by kernel and size, where they are asked for. */
static void times(Dispatcher *dispatcher, int measures)
{
    enum { COUNT = 4096 };
    static const uint32_t count = COUNT;
    struct overtake_arrays_options options = {.struct_size = sizeof options, .measures = (uint32_t)measures};
    Arrays *arrays = NULL;
    OK(overtake_arrays_open(dispatcher, &options, &arrays));
    Kernel *kernel = load(arrays, "work_add");
    Array *source = new_array(arrays, COUNT, 4), *sum = new_array(arrays, COUNT, 4);
    fill(source, COUNT, 1, 0);
    for (int i = 0; i < 3; i++) {
        Argument arguments[] = {use(source, OVERTAKE_USE_READ), use(source, OVERTAKE_USE_READ),
                                use(sum, OVERTAKE_USE_DISCARD), value(&count, sizeof count)};
        Computation add = {.struct_size = sizeof add, .arguments = arguments, .arguments_count = 4};
        add.kernel = kernel, add.grid[0] = COUNT / 256, add.block[0] = 256;
        OK(overtake_compute(arrays, &add, NULL));
    }
    OK(overtake_arrays_wait(arrays));
    Seen seen = {0, 0, 0};
    OK(overtake_arrays_read_times(arrays, see, &seen));
    REQUIRE(seen.rows == measures && seen.count == 3 * (uint64_t)measures);
    REQUIRE(seen.bytes == (measures ? 3 * COUNT * 4 : 0));
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "tell is null", overtake_arrays_read_times(arrays, NULL, NULL));
    OK(overtake_arrays_close(arrays));
}

int main(void)
{
    open_device();
    Dispatcher *dispatcher = new_dispatcher();
    Tasks *tasks = new_tasks(dispatcher);
    replays(tasks);
    priorities(tasks);
    frames(tasks);
    fixed(dispatcher, tasks);
    times(dispatcher, 0);
    times(dispatcher, 1);
    refusals(tasks);
    OK(overtake_dispatcher_close(dispatcher));
    room();
    OK(overtake_close());
    puts("ok");
    return 0;
}
