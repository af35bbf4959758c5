/* Tasks through the C ABI: their work arrives in order, references and groups keep them back, failures name them, and
 * the data of each is freed once. */
#include "tasks.h"

#include <time.h>

enum { BYTES = 256 << 10, WORDS = BYTES / 4, FRAMES = 20 };

typedef struct {
    unsigned char *in, *out;
    void *device;
    int is_read;
} Frame;

static int upload(Lane *lane, void *data)
{
    Frame *frame = data;
    return overtake_lane_copy(lane, frame->device, frame->in, BYTES, OVERTAKE_COPY_HOST_TO_DEVICE);
}

/* Work of the device in the stream of the lane, in two turns. */
static int fill(Lane *lane, void *data)
{
    Frame *frame = data;
    CUstream stream = NULL;
    uint32_t turn = 99;
    OK(overtake_lane_stream(lane, &stream));
    OK(overtake_lane_turn(lane, &turn));
    REQUIRE(turn < 2);
    if (turn == 0)
        OK(overtake_lane_again(lane));
    return (int)cuMemsetD32Async((CUdeviceptr)(uintptr_t)frame->device + turn * 4, 0x01010101u * (turn + 1), 1, stream);
}

static int download(Lane *lane, void *data)
{
    Frame *frame = data;
    return overtake_lane_copy(lane, frame->out, frame->device, BYTES, OVERTAKE_COPY_DEVICE_TO_HOST);
}

static int read_back(void *data)
{
    Frame *frame = data;
    for (int i = 0; i < 8; i++)
        REQUIRE(frame->out[i] == 1 + i / 4);
    REQUIRE(memcmp(frame->in + 8, frame->out + 8, BYTES - 8) == 0);
    frame->is_read = 1;
    return 0;
}

static uint64_t copies_so_far(void)
{
    struct overtake_statistics sums;
    sums.struct_size = sizeof sums;
    OK(overtake_read_statistics(&sums));
    return sums.urgent_copies + sums.kernel_copies + sums.engine_copies + sums.passed_on_copies;
}

static void pipelines(Dispatcher *dispatcher)
{
    static Frame frames[FRAMES];
    Tasks *tasks = new_tasks(dispatcher);
    uint64_t before = copies_so_far();
    atomic_store(&freed, 0);
    for (int i = 0; i < FRAMES; i++) {
        Frame *frame = &frames[i];
        frame->in = pinned_bytes(BYTES, 7u * (unsigned)i), frame->out = pinned_bytes(BYTES, 0);
        frame->device = on_device(BYTES);
        Spec spec = spec_of(OVERTAKE_TASK_UPLOAD, "upload", frame);
        spec.launch = upload, spec.priority = 1 + i % overtake_priorities();
        Task *first = submit_after(tasks, spec, NULL);
        Task *second = launch_after(tasks, OVERTAKE_TASK_KERNEL, "fill", fill, frame, first);
        Task *third = launch_after(tasks, OVERTAKE_TASK_DOWNLOAD, "download", download, frame, second);
        Task *last = run_after(tasks, "read", read_back, frame, third);
        OK(overtake_task_free(first));
        OK(overtake_task_free(second));
        OK(overtake_task_free(third));
        if (i == 0) {
            OK(overtake_task_wait(last));
            REQUIRE(is_done(last) && frame->is_read);
        }
        OK(overtake_task_free(last));
    }
    OK(overtake_tasks_wait(tasks));
    for (int i = 0; i < FRAMES; i++) {
        REQUIRE(frames[i].is_read);
        OK(cuMemFreeHost(frames[i].in));
        OK(cuMemFreeHost(frames[i].out));
        OK(cuMemFree((CUdeviceptr)(uintptr_t)frames[i].device));
    }
    /* The one layer of the process has seen them, unless it is off. */
    if (strcmp(overtake_deployment(), "off") != 0)
        REQUIRE(copies_so_far() == before + 2 * FRAMES);
    struct overtake_dispatcher_statistics counts;
    counts.struct_size = sizeof counts;
    OK(overtake_dispatcher_read_statistics(dispatcher, &counts));
    REQUIRE(counts.launches == 4 * FRAMES && counts.functions == FRAMES);
    REQUIRE(counts.tasks == 0 && counts.marks > 0 && !counts.is_device_lost);
    OK(overtake_tasks_free(tasks));
}

static int fails_with_words(void *data)
{
    (void)data;
    OK(overtake_set_last_error("the file is empty"));
    return 42;
}

static int fails_with_a_number(Lane *lane, void *data)
{
    (void)lane;
    (void)data;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static int fails_in_a_call(Lane *lane, void *data)
{
    return overtake_lane_copy(lane, data, data, 1, 77);
}

static void failures(Dispatcher *dispatcher)
{
    Tasks *tasks = new_tasks(dispatcher);
    atomic_store(&freed, 0);
    REQUIRE(overtake_task_wait(NULL) == OVERTAKE_ERROR_INVALID_HANDLE);
    char before[400];
    snprintf(before, sizeof before, "%s", overtake_last_error());
    Task *broken = run_after(tasks, "parse", fails_with_words, NULL, NULL);
    Task *after = launch_after(tasks, OVERTAKE_TASK_KERNEL, "draw", no_work, NULL, broken);
    Task *number = launch_after(tasks, OVERTAKE_TASK_KERNEL, "number", fails_with_a_number, NULL, NULL);
    Task *call = launch_after(tasks, OVERTAKE_TASK_UPLOAD, "call", fails_in_a_call, NULL, NULL);
    REQUIRE(strcmp(overtake_last_error(), before) == 0); /* it is that of the caller */
    REFUSED(OVERTAKE_ERROR_TASK_FAILED, "task \"parse\" failed: the file is empty", overtake_task_wait(broken));
    REFUSED(OVERTAKE_ERROR_TASK_NOT_RUN, "task \"draw\" was not run: task \"parse\" failed", overtake_task_wait(after));
    REFUSED(OVERTAKE_ERROR_TASK_FAILED, "\"number\" failed: its function returned 2, CUDA_ERROR_OUT_OF_MEMORY",
            overtake_task_wait(number));
    REFUSED(OVERTAKE_ERROR_TASK_FAILED, "task \"call\" failed: overtake_lane_copy: kind is one of",
            overtake_task_wait(call));
    Task *late = run_after(tasks, "late", nothing, NULL, broken);
    REFUSED(OVERTAKE_ERROR_TASK_NOT_RUN, "task \"late\" was not run", overtake_task_wait(late));
    REFUSED(OVERTAKE_ERROR_TASK_FAILED, "failed", overtake_tasks_wait(tasks));
    REQUIRE(is_done(late));
}

static int note(void *data)
{
    atomic_fetch_add((atomic_int *)data, 1);
    return 0;
}

static void references(Dispatcher *dispatcher)
{
    Tasks *tasks = new_tasks(dispatcher);
    atomic_int runs = 0;
    Spec spec = spec_of(OVERTAKE_TASK_HOST, "held", &runs);
    spec.run = note, spec.references = 2;
    Task *held = submit_after(tasks, spec, NULL), *after = run_after(tasks, "after", note, &runs, held);
    OK(overtake_task_hold(held));
    for (int i = 0; i < 3; i++) {
        REQUIRE(!is_done(held) && !is_done(after) && runs == 0);
        OK(overtake_task_release(held));
    }
    OK(overtake_task_wait(after));
    REQUIRE(runs == 2);
    REFUSED(OVERTAKE_ERROR_REFUSED, "\"held\"", overtake_task_release(held));

    spec.name = "second", spec.references = 1;
    Task *second = submit_after(tasks, spec, NULL);
    spec.name = "first";
    Task *first = submit_after(tasks, spec, NULL);
    OK(overtake_task_before(first, second));
    REFUSED(OVERTAKE_ERROR_REFUSED, "\"first\"", overtake_task_before(second, first)); /* a circle */
    OK(overtake_task_release(second));
    REQUIRE(!is_done(second));
    OK(overtake_task_release(first));
    OK(overtake_tasks_wait(tasks));
    REQUIRE(runs == 4);

    /* Many tasks later both are still known by their names. */
    Task *many[100];
    for (int i = 0; i < 100; i++) {
        spec.name = "another";
        many[i] = submit_after(tasks, spec, NULL);
    }
    for (int i = 0; i < 100; i++) {
        OK(overtake_task_release(many[i]));
    }
    OK(overtake_tasks_wait(tasks));
    REFUSED(OVERTAKE_ERROR_REFUSED, "task \"first\" has finished, so its order with \"second\"",
            overtake_task_before(first, second));
}

static Task *started_by_another;

static int completes(Lane *lane, void *data)
{
    int priority = 0;
    OK(overtake_lane_priority(lane, &priority));
    *(int *)data = priority;
    OK(overtake_lane_sync_point(lane));
    return overtake_lane_completes(lane, started_by_another);
}

static void completion_and_priorities(Dispatcher *dispatcher)
{
    Tasks *tasks = new_tasks(dispatcher);
    atomic_int runs = 0;
    int priority = 0;
    Spec spec = spec_of(OVERTAKE_TASK_LIGHT, "other", &runs);
    spec.run = note, spec.references = 1;
    started_by_another = submit_after(tasks, spec, NULL);
    OK(overtake_group_begin(tasks));
    Task *task = launch_after(tasks, OVERTAKE_TASK_KERNEL, "needed", completes, &priority, NULL);
    Task *needs = launch_after(tasks, OVERTAKE_TASK_KERNEL, "needs", no_work, NULL, task);
    OK(overtake_task_raise(needs, 3)); /* the task before it inherits it */
    REQUIRE(priority == 0);
    OK(overtake_group_end(tasks));
    OK(overtake_task_release(started_by_another));
    OK(overtake_tasks_wait(tasks));
    REQUIRE(priority == 3 && runs == 1);
}

static void sets_and_names(Dispatcher *dispatcher)
{
    Tasks *tasks = NULL;
    Task *later = NULL;
    atomic_int runs = 0;
    OK(overtake_tasks_open(dispatcher, "frame", &tasks));
    OK(overtake_tasks_named(tasks, "later", &later));
    Task *after = run_after(tasks, "after", note, &runs, later);
    Spec spec = spec_of(OVERTAKE_TASK_HOST, "later", &runs);
    spec.run = note, spec.is_named = 1;
    REQUIRE(!is_done(after));
    OK(overtake_submit(tasks, &spec, NULL));
    OK(overtake_task_wait(after));
    REQUIRE(runs == 2 && is_done(later));
    OK(overtake_tasks_stop(tasks));
    Task *first = run_after(tasks, "first", note, &runs, NULL);
    spec = spec_of(OVERTAKE_TASK_JOIN, NULL, NULL);
    Task *join = submit_after(tasks, spec, first);
    REQUIRE(!is_done(first));
    OK(overtake_tasks_start(tasks));
    OK(overtake_task_wait(join));
    REQUIRE(runs == 3);
}

/* The work waits on the device for a word. */
static int waits_for_a_word(Lane *lane, void *data)
{
    CUstream stream = NULL;
    CUdeviceptr word = 0;
    OK(cuMemHostGetDevicePointer(&word, data, 0));
    OK(overtake_lane_stream(lane, &stream));
    return (int)cuStreamWaitValue32(stream, word, 1, CU_STREAM_WAIT_VALUE_GEQ);
}

/* A function behind a launch does not wait for its results; one behind the task does. */
static void after_launches(Dispatcher *dispatcher)
{
    Tasks *tasks = new_tasks(dispatcher);
    _Atomic uint32_t *word = (void *)pinned_bytes(sizeof *word, 0);
    atomic_int runs = 0;
    *word = 0;
    Spec spec = spec_of(OVERTAKE_TASK_KERNEL, "kernel", (void *)word);
    spec.launch = waits_for_a_word, spec.references = 1;
    Task *kernel = submit_after(tasks, spec, NULL);
    Task *patient = run_after(tasks, "patient", note, &runs, kernel), *prompt = NULL;
    spec = spec_of(OVERTAKE_TASK_HOST, "prompt", &runs);
    spec.run = note, spec.after_launch = &kernel, spec.after_launch_count = 1;
    OK(overtake_submit(tasks, &spec, &prompt));
    for (int i = 0; i < 3; i++)
        OK(overtake_task_wait(run_after(tasks, "another", nothing, NULL, NULL)));
    REQUIRE(atomic_load(&runs) == 0);
    OK(overtake_task_release(kernel));
    const struct timespec pause = {0, 1000000};
    for (int i = 0; i < 20000 && atomic_load(&runs) == 0; i++)
        nanosleep(&pause, NULL);
    /* It has run, and ends with the tasks that it comes after. */
    REQUIRE(!is_done(kernel) && !is_done(patient) && !is_done(prompt) && atomic_load(&runs) == 1);
    *word = 1;
    OK(overtake_task_wait(patient));
    OK(overtake_task_wait(prompt));
    REQUIRE(is_done(kernel) && atomic_load(&runs) == 2);
    OK(overtake_tasks_wait(tasks));
    /* The size of the structure before it had these fields. */
    spec.struct_size = offsetof(struct overtake_task_spec, after_launch), spec.after_launch_count = 99;
    OK(overtake_submit(tasks, &spec, NULL));
    OK(overtake_tasks_wait(tasks));
    OK(overtake_tasks_free(tasks));
    OK(cuMemFreeHost((void *)word));
}

static char launched[8];

static int note_launch(Lane *lane, void *data)
{
    (void)lane;
    strncat(launched, data, 1);
    return 0;
}

/* Three tasks of a group go first in, first out; PhysX takes the last first. */
static void orders(void)
{
    int numbers[] = {OVERTAKE_ORDER_DEFAULT, OVERTAKE_ORDER_PHYSX};
    for (int i = 0; i < 2; i++) {
        struct overtake_dispatcher_options options = {.struct_size = sizeof options, .order = numbers[i]};
        Dispatcher *dispatcher = NULL;
        OK(overtake_dispatcher_open(&options, &dispatcher));
        Tasks *tasks = new_tasks(dispatcher);
        launched[0] = 0;
        OK(overtake_group_begin(tasks));
        for (char *name = "abc"; *name != 0; name++) {
            Spec spec = spec_of(OVERTAKE_TASK_KERNEL, "letter", name);
            spec.launch = note_launch, spec.free_data = NULL;
            submit_after(tasks, spec, NULL);
        }
        OK(overtake_group_end(tasks));
        OK(overtake_tasks_wait(tasks));
        REQUIRE(strcmp(launched, "abc") == 0 ? i == 0 : launched[0] == 'c' && i == 1);
        OK(overtake_dispatcher_close(dispatcher));
    }
}

static int captures(Lane *lane, void *data)
{
    (void)data;
    CUstream stream = NULL;
    OK(overtake_lane_stream(lane, &stream));
    return (int)cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
}

static struct overtake_dispatcher_statistics counts_of(Dispatcher *dispatcher)
{
    struct overtake_dispatcher_statistics counts;
    counts.struct_size = sizeof counts;
    OK(overtake_dispatcher_read_statistics(dispatcher, &counts));
    return counts;
}

enum { BULK = 4 << 20 };

/* Bulk behind a word. */
static int uploads_behind_a_word(Lane *lane, void *data)
{
    Frame *frame = data;
    OK(waits_for_a_word(lane, frame->out));
    return overtake_lane_copy(lane, frame->device, frame->in, BULK, OVERTAKE_COPY_HOST_TO_DEVICE);
}

/* A copy that has been submitted as bulk is lifted by an urgent task that comes to wait for it. */
static void lifts(Dispatcher *dispatcher)
{
    Tasks *tasks = new_tasks(dispatcher);
    Frame frame = {.in = pinned_bytes(BULK, 1), .out = pinned_bytes(BYTES, 0), .device = on_device(BULK)};
    _Atomic uint32_t *word = (void *)frame.out;
    uint64_t before = counts_of(dispatcher).lifts;
    *word = 0;
    /* While an urgent copy is to come, bulk goes as copies that give way. */
    Spec spec = spec_of(OVERTAKE_TASK_UPLOAD, "to come", &frame);
    spec.launch = upload, spec.priority = overtake_priorities(), spec.references = 1;
    Task *to_come = submit_after(tasks, spec, NULL);
    spec = spec_of(OVERTAKE_TASK_UPLOAD, "bulk", &frame);
    spec.launch = uploads_behind_a_word, spec.priority = OVERTAKE_PRIORITY_LOWEST;
    Task *bulk = submit_after(tasks, spec, NULL);
    REQUIRE(counts_of(dispatcher).lifts == before);
    spec = spec_of(OVERTAKE_TASK_KERNEL, "urgent", NULL);
    spec.launch = no_work, spec.priority = overtake_priorities();
    Task *urgent = submit_after(tasks, spec, bulk);
    /* Under the drop-in the copy is its own, and with OVERTAKE=off the driver's. Another thread may lift it. */
    const struct timespec pause = {0, 1000000};
    uint64_t expected = before + (strcmp(overtake_deployment(), "c") == 0);
    for (int i = 0; i < 20000 && counts_of(dispatcher).lifts != expected; i++)
        nanosleep(&pause, NULL);
    REQUIRE(counts_of(dispatcher).lifts == expected);
    *word = 1;
    OK(overtake_task_wait(urgent));
    OK(overtake_task_release(to_come));
    OK(overtake_tasks_wait(tasks));
    OK(overtake_tasks_free(tasks));
}

/* Another thread may take the steps that are left. */
static struct overtake_dispatcher_statistics counts_when(Dispatcher *dispatcher, uint64_t launches)
{
    const struct timespec pause = {0, 1000000};
    struct overtake_dispatcher_statistics counts = counts_of(dispatcher);
    for (int i = 0; i < 20000 && counts.launches < launches; i++) {
        nanosleep(&pause, NULL);
        counts = counts_of(dispatcher);
    }
    return counts;
}

/* Two lanes whose first work waits for a word. The third task joins both, which stands for the fourth too. Then a
 * capture is left open. */
static void counts(void)
{
    struct overtake_dispatcher_options options = {.struct_size = sizeof options, .groups = 1, .lanes = 2};
    Dispatcher *dispatcher = NULL;
    OK(overtake_dispatcher_open(&options, &dispatcher));
    Tasks *tasks = new_tasks(dispatcher);
    _Atomic uint32_t *word = (void *)pinned_bytes(sizeof *word, 0);
    *word = 0;
    Task *both[2];
    for (int i = 0; i < 2; i++)
        both[i] = launch_after(tasks, OVERTAKE_TASK_KERNEL, "waits", waits_for_a_word, (void *)word, NULL);
    Spec spec = spec_of(OVERTAKE_TASK_KERNEL, "joins", NULL);
    spec.launch = no_work, spec.after = both, spec.after_count = 2;
    Task *joins = NULL, *saved = NULL;
    OK(overtake_submit(tasks, &spec, &joins));
    Task *again[] = {joins, both[0], both[1]};
    spec.after = again, spec.after_count = 3;
    OK(overtake_submit(tasks, &spec, &saved));
    struct overtake_dispatcher_statistics now = counts_when(dispatcher, 4);
    REQUIRE(now.launches == 4 && now.joins == 1 && now.joins_saved == 1);
    REQUIRE(now.lifts == 0 && now.captures_ended == 0 && !is_done(saved));
    *word = 1;
    OK(overtake_tasks_wait(tasks));
    Task *captured = launch_after(tasks, OVERTAKE_TASK_KERNEL, "captures", captures, NULL, NULL);
    REFUSED(OVERTAKE_ERROR_TASK_FAILED, "capture", overtake_task_wait(captured));
    /* The size of the structure before it had these fields. */
    memset(&now, 7, sizeof now);
    now.struct_size = offsetof(struct overtake_dispatcher_statistics, lifts);
    OK(overtake_dispatcher_read_statistics(dispatcher, &now));
    REQUIRE(now.launches == 5 && now.lifts == 0x0707070707070707u);
    now = counts_of(dispatcher);
    REQUIRE(now.captures_ended == 1);
    OK(overtake_dispatcher_close(dispatcher));
    OK(cuMemFreeHost((void *)word));
}

/* A task that cannot start is told so when the dispatcher is closed, and its data is freed. */
static void closing(void)
{
    Dispatcher *dispatcher = new_dispatcher();
    Tasks *tasks = new_tasks(dispatcher);
    atomic_store(&freed, 0);
    Spec spec = spec_of(OVERTAKE_TASK_HOST, "held", NULL);
    spec.run = nothing, spec.references = 1;
    Task *held = submit_after(tasks, spec, NULL);
    run_after(tasks, "done", nothing, NULL, NULL);
    launch_after(tasks, OVERTAKE_TASK_KERNEL, "behind", no_work, NULL, held);
    OK(overtake_dispatcher_close(dispatcher));
    REQUIRE(atomic_load(&freed) == 3);
    REQUIRE(overtake_task_wait(held) == OVERTAKE_ERROR_INVALID_HANDLE);
}

int main(void)
{
    open_device();
    Dispatcher *dispatcher = new_dispatcher();
    pipelines(dispatcher);
    failures(dispatcher);
    references(dispatcher);
    completion_and_priorities(dispatcher);
    sets_and_names(dispatcher);
    after_launches(dispatcher);
    lifts(dispatcher);
    OK(overtake_dispatcher_close(dispatcher));
    REQUIRE(freed > 0);
    closing();
    orders();
    counts();
    OK(overtake_close());
    puts("ok");
    return 0;
}
