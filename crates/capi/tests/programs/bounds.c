/* The C library bounds what it is given: sizes, counts and times; calls in the functions of tasks; arrays that are
 * adopted while their dispatcher closes; functions that end without an answer. */
#include "arrays.h"

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct overtake_pipeline Pipeline;
typedef struct overtake_pipeline_end End;
typedef struct overtake_pipeline_options Options;

static Tasks *the_tasks;
static End *the_end;

/* Room for copies beyond all memory is refused, and does not end the process. */
static void reserves(void)
{
    struct overtake_copy_queue *queue = NULL;
    const size_t reserves[] = {((size_t)1 << 20) + 1, (size_t)1 << 40, SIZE_MAX / 2, SIZE_MAX};
    CUstream stream = new_stream();
    for (int i = 0; i < 4; i++)
        REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "copies, at most 1048576",
                overtake_copy_queue_open(stream, 1, reserves[i], &queue));
    REQUIRE(queue == NULL);
    OK(cuStreamDestroy(stream));
}

/* Counts that no array has are refused without a look at it. */
static void counts(Tasks *tasks)
{
    Task *none = NULL;
    Spec spec = spec_of(OVERTAKE_TASK_HOST, "odd", NULL);
    spec.run = nothing, spec.references = (1 << 20) + 1;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "references is 1048577", overtake_submit(tasks, &spec, NULL));
    spec.references = (uint32_t)-1;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "references is 4294967295", overtake_submit(tasks, &spec, NULL));
    spec.references = 0, spec.after = &none, spec.after_count = SIZE_MAX;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "more than there is memory for", overtake_submit(tasks, &spec, NULL));
    spec.after = NULL, spec.after_count = 0, spec.after_launch = &none, spec.after_launch_count = SIZE_MAX / 8;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "more than there is memory for", overtake_submit(tasks, &spec, NULL));
}

static int looks(void *data)
{
    int is_done = -1;
    OK(overtake_task_wait_for(data, 0, &is_done));
    REFUSED(OVERTAKE_ERROR_REFUSED, "not from the function of a task", overtake_task_wait_for(data, 1, &is_done));
    REFUSED(OVERTAKE_ERROR_REFUSED, "not from the function of a task",
            overtake_tasks_wait_for(the_tasks, OVERTAKE_FOR_EVER, &is_done));
    OK(overtake_tasks_wait_for(the_tasks, 0, &is_done));
    REQUIRE(is_done == 0);
    return 0;
}

static int fails(void *data)
{
    (void)data;
    return 42;
}

/* Waits end with their time, and change nothing. */
static void timed_waits(Dispatcher *dispatcher)
{
    int is_done = -1;
    Arrays *arrays = NULL;
    Tasks *tasks = new_tasks(dispatcher);
    OK(overtake_arrays_open(dispatcher, NULL, &arrays));
    Spec spec = spec_of(OVERTAKE_TASK_HOST, "held", NULL);
    spec.run = nothing, spec.references = 1;
    Task *held = submit_after(tasks, spec, NULL);
    const int64_t spans[] = {0, 1, 1000000};
    for (int i = 0; i < 3; i++) {
        OK(overtake_task_wait_for(held, spans[i], &is_done));
        REQUIRE(is_done == 0);
        is_done = -1;
        OK(overtake_tasks_wait_for(tasks, spans[i], &is_done));
        REQUIRE(is_done == 0);
    }
    OK(overtake_arrays_wait_for(arrays, 0, &is_done));
    REQUIRE(is_done == 1);
    const int64_t wrong[] = {-2, -1000000000, INT64_MIN};
    for (int i = 0; i < 3; i++) {
        REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "OVERTAKE_FOR_EVER", overtake_task_wait_for(held, wrong[i], &is_done));
        REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "timeout_ns is -", overtake_tasks_wait_for(tasks, wrong[i], &is_done));
        REQUIRE(overtake_arrays_wait_for(arrays, wrong[i], &is_done) == OVERTAKE_ERROR_INVALID_ARGUMENT);
    }
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "is_done is null", overtake_task_wait_for(held, 0, NULL));
    the_tasks = tasks;
    OK(overtake_task_wait(run_after(new_tasks(dispatcher), "looks", looks, held, NULL)));
    OK(overtake_task_release(held));
    OK(overtake_task_wait_for(held, INT64_MAX, &is_done));
    REQUIRE(is_done == 1);
    OK(overtake_tasks_wait_for(tasks, OVERTAKE_FOR_EVER, &is_done));
    Task *failed = run_after(tasks, "fails", fails, NULL, NULL);
    REFUSED(OVERTAKE_ERROR_TASK_FAILED, "returned 42", overtake_task_wait_for(failed, INT64_MAX, &is_done));
    REFUSED(OVERTAKE_ERROR_TASK_FAILED, "returned 42", overtake_tasks_wait_for(tasks, INT64_MAX, &is_done));
    OK(overtake_arrays_close(arrays));
}

static Options options_of_line(void)
{
    return (Options){.struct_size = sizeof(Options), .stages = 2, .name = "line", .bytes = 4096};
}

/* Of negative times one is for ever; times as long as there are do not overflow. */
static void times_of_pipelines(Tasks *tasks)
{
    Pipeline *line = NULL;
    End *producer = NULL, *consumer = NULL;
    Options options = options_of_line();
    uint64_t *const spans[] = {&options.period_ns, &options.deadline_ns, &options.tolerance_ns, &options.work_span_ns,
                               &options.raise_within_ns};
    for (int i = 0; i < 5; i++) {
        *spans[i] = (uint64_t)-5;
        REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "it was a negative number",
                overtake_pipeline_open(tasks, &options, &line, &producer, &consumer));
        *spans[i] = INT64_MAX;
    }
    options.priority = 2;
    OK(overtake_pipeline_open(tasks, &options, &line, &producer, &consumer));
    struct overtake_frame frame = {.struct_size = sizeof frame};
    const int64_t wrong[] = {-2, -1000000000, INT64_MIN};
    for (int i = 0; i < 3; i++) {
        REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "OVERTAKE_FOR_EVER",
                overtake_pipeline_wait(consumer, wrong[i], &frame));
        REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "timeout_ns is -",
                overtake_pipeline_acquire(producer, wrong[i], &frame));
    }
    OK(overtake_pipeline_acquire(producer, INT64_MAX, &frame));
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "ago_ns", overtake_pipeline_captured(producer, (uint64_t)-1));
    OK(overtake_pipeline_captured(producer, INT64_MAX));
    OK(overtake_pipeline_commit(producer));
    OK(overtake_pipeline_wait(consumer, INT64_MAX, &frame));
    OK(overtake_pipeline_leave(producer));
    OK(overtake_pipeline_leave(consumer));
    OK(overtake_pipeline_free(line));
}

static int opens_and_leaves(void *data)
{
    Pipeline *line = NULL;
    End *producer = NULL, *consumer = NULL;
    Options options = options_of_line();
    (void)data;
    REFUSED(OVERTAKE_ERROR_REFUSED, "overtake_pipeline_open: not from the function of a task",
            overtake_pipeline_open(the_tasks, &options, &line, &producer, &consumer));
    REQUIRE(line == NULL && producer == NULL && consumer == NULL);
    REQUIRE(overtake_close() == OVERTAKE_ERROR_REFUSED);
    OK(overtake_pipeline_leave(the_end));
    REQUIRE(overtake_pipeline_leave(the_end) == OVERTAKE_ERROR_INVALID_HANDLE);
    return 0;
}

/* An end that is left in the function of a task is left, so the other one does not wait for ever. The close waits for
 * the threads that leave: those after this find none, and no memory that comes back late. */
static void inside(void)
{
    Dispatcher *dispatcher = new_dispatcher();
    Tasks *tasks = new_tasks(dispatcher);
    for (int is_consumer = 0; is_consumer < 2; is_consumer++) {
        Pipeline *line = NULL;
        End *ends[2] = {NULL, NULL};
        Options options = options_of_line();
        struct overtake_frame frame = {.struct_size = sizeof frame};
        OK(overtake_pipeline_open(tasks, &options, &line, &ends[0], &ends[1]));
        if (!is_consumer) /* with a frame in hand */
            OK(overtake_pipeline_acquire(ends[0], 0, &frame));
        the_tasks = tasks, the_end = ends[is_consumer];
        OK(overtake_task_wait(run_after(tasks, "leaves", opens_and_leaves, NULL, NULL)));
        int code = OVERTAKE_OK;
        do { /* there may be free stages until the thread has left */
            code = is_consumer ? overtake_pipeline_acquire(ends[0], OVERTAKE_FOR_EVER, &frame)
                               : overtake_pipeline_wait(ends[1], OVERTAKE_FOR_EVER, &frame);
            if (code == OVERTAKE_OK)
                OK(overtake_pipeline_commit(ends[0]));
        } while (code == OVERTAKE_OK);
        REQUIRE(code == OVERTAKE_ERROR_ENDED);
        OK(overtake_pipeline_leave(ends[!is_consumer]));
        OK(overtake_pipeline_free(line));
    }
    OK(overtake_dispatcher_close(dispatcher));
}

static atomic_int is_leaving;
static long leaves_after_ns = 400000;

static int leaves(void *data)
{
    struct timespec begun, now;
    OK(clock_gettime(CLOCK_MONOTONIC, &begun));
    atomic_store(&is_leaving, 1);
    do
        OK(clock_gettime(CLOCK_MONOTONIC, &now));
    while ((now.tv_sec - begun.tv_sec) * 1000000000 + now.tv_nsec - begun.tv_nsec < leaves_after_ns);
    int code = overtake_pipeline_leave(data);
    REQUIRE(code == OVERTAKE_OK || code == OVERTAKE_ERROR_INVALID_HANDLE);
    leaves_after_ns += code == OVERTAKE_OK ? 4000 : -4000; /* so most of them meet the close */
    return 0;
}

/* A dispatcher that is closed has no pipeline any more, also if an end of one is just left in a function of another. */
static void left_beside_the_end(Tasks *others)
{
    size_t before = 0, after = 0, total = 0;
    for (int i = 0; i < 300; i++) {
        Dispatcher *dispatcher = NULL;
        Tasks *tasks = NULL;
        Pipeline *line = NULL;
        End *producer = NULL, *consumer = NULL;
        Options options = options_of_line();
        OK(cuMemGetInfo(&before, &total));
        OK(overtake_dispatcher_open(NULL, &dispatcher));
        OK(overtake_tasks_open(dispatcher, NULL, &tasks));
        OK(overtake_pipeline_open(tasks, &options, &line, &producer, &consumer));
        OK(overtake_pipeline_leave(consumer));
        atomic_store(&is_leaving, 0);
        Task *task = run_after(others, "leaves", leaves, producer, NULL);
        while (!atomic_load(&is_leaving))
            ;
        OK(overtake_dispatcher_close(dispatcher));
        OK(cuMemGetInfo(&after, &total));
        REQUIRE(after == before);
        OK(overtake_task_wait(task));
        OK(overtake_task_free(task));
    }
}

static void frees_badly(void *data)
{
    REQUIRE(overtake_task_free(data) == OVERTAKE_ERROR_INVALID_HANDLE);
}

/* A function that frees data does not change the text of the failure that the program asks for. */
static void last_errors(void)
{
    struct overtake_template *template = NULL;
    struct overtake_step_spec step = {.struct_size = sizeof step, .kind = OVERTAKE_TASK_HOST, .free_data = frees_badly};
    OK(overtake_template_new(&template));
    step.run = (overtake_run_step_callback)abort; /* it is not replayed */
    OK(overtake_template_add(template, &step, NULL));
    REQUIRE(overtake_admission_free(NULL) == OVERTAKE_ERROR_INVALID_HANDLE);
    OK(overtake_template_free(template));
    SAYS("the admission is null");
}

/* A refused step is none of the template's. */
static void refused_steps(Tasks *tasks)
{
    const int wrong[] = {-1, 1000};
    for (int i = 0; i < 2; i++) {
        struct overtake_template *template = NULL;
        struct overtake_step_spec step = {.struct_size = sizeof step, .kind = OVERTAKE_TASK_HOST, .name = "refused",
                                          .free_data = count_freed};
        size_t number = 4711;
        OK(overtake_template_new(&template));
        step.run = (overtake_run_step_callback)abort, step.priority = wrong[i];
        int freed_before = atomic_load(&freed);
        REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "is not one of 1", overtake_template_add(template, &step, &number));
        REQUIRE(atomic_load(&freed) == freed_before + 1 && number == 4711);
        struct overtake_replay_spec replay = {.struct_size = sizeof replay};
        Task *task = NULL;
        OK(overtake_template_replay(template, tasks, &replay, &task));
        OK(overtake_task_wait(task)); /* it does not run */
        OK(overtake_template_free(template));
    }
}

typedef struct {
    struct overtake_answering answering; /* first: the data points at it */
    int answer, calls;
} Answers;

static void answer(Lane *lane, void *const *addresses, void *arguments, void *data, int *place)
{
    Answers *answers = data;
    REQUIRE(lane == NULL && addresses == NULL && arguments == NULL);
    answers->calls++;
    if (answers->answer != 4711)
        *place = answers->answer;
}

static int entered, left, freed_inside;

static void *no_state(void)
{
    return NULL;
}

static int enter(void)
{
    return ++entered;
}

static void leave(int state)
{
    REQUIRE(state == entered);
    left++;
}

static void free_inside(void *data)
{
    REQUIRE(data != NULL && entered == left + 1);
    freed_inside++;
}

static int heard;

static void hear(Lane *lane, void *const *addresses, void *text, void *data, int *level)
{
    REQUIRE(lane == NULL && addresses == NULL && data != NULL && entered == left + 1);
    REQUIRE(strcmp(text, "a message") == 0 && *level == OVERTAKE_LOG_WARNING);
    heard++;
}

/* A function that ends without an answer has failed. Those of an interpreter run and go inside it. */
static void answers(Tasks *tasks)
{
    uint32_t unanswered = 0;
    const struct overtake_interpreter interpreter = {no_state, enter, leave};
    const int given[] = {0, 42, 4711};
    const char *const words[] = {"", "returned 42", "an exception, such as Ctrl-C"};
    for (int i = 0; i < 3; i++) {
        Answers each = {{answer, &unanswered, free_inside, &interpreter}, given[i], 0};
        Task *task = run_after(tasks, "answers", overtake_answer_run, &each, NULL);
        REQUIRE(overtake_task_wait(task) == (i == 0 ? OVERTAKE_OK : OVERTAKE_ERROR_TASK_FAILED) && each.calls == 1);
        if (i > 0)
            SAYS(words[i]);
        REQUIRE(unanswered == (i == 2) && entered == 2 * i + 1 && left == entered);
        overtake_answer_free(&each);
        REQUIRE(freed_inside == i + 1 && left == entered);
    }
    REQUIRE(overtake_answer_run(NULL) == OVERTAKE_ERROR_INVALID_ARGUMENT);
    overtake_answer_free(NULL);
    struct overtake_answering listening = {hear, &unanswered, free_inside, &interpreter};
    overtake_answer_log(&listening, OVERTAKE_LOG_WARNING, "a message");
    REQUIRE(heard == 1 && left == entered && unanswered == 1);
    overtake_answer_log(NULL, OVERTAKE_LOG_WARNING, "a message");
    struct {
        char tensor[48];
        void *manager_ctx, *deleter;
    } managed = {.manager_ctx = &listening};
    overtake_capsule_delete(&managed);
    REQUIRE(freed_inside == 4 && left == entered);
    managed.manager_ctx = NULL;
    overtake_capsule_delete(&managed);
    overtake_capsule_delete(NULL);
    OK(overtake_before_fork());
    OK(overtake_after_fork());
}

/* A queue that is lost makes no copy: its stream and its memory may be gone. */
static void lets_queue_go(void)
{
    unsigned char *memory = NULL;
    void *queue = NULL;
    CUdeviceptr device = 0;
    CUstream stream = new_stream();
    OK(cuMemAllocHost((void **)&memory, 8192));
    OK(cuMemAlloc(&device, 4096));
    OK(cuMemsetD8(device, 7, 4096));
    OK(overtake_copy_queue_open(stream, 1, 8, (struct overtake_copy_queue **)&queue));
    memset(memory, 1, 8192);
    OK(overtake_copy_queue_copy(queue, memory, (void *)device, 4096, OVERTAKE_COPY_DEVICE_TO_HOST));
    overtake_let_go(&queue);
    OK(cuStreamSynchronize(stream));
    REQUIRE(queue == NULL && memory[0] == 1);
    OK(cuStreamDestroy(stream));
    OK(cuMemFree(device));
    OK(cuMemFreeHost(memory));
}

/* What a finalizer has: it says nothing. What cannot be freed stays. */
static void lets_go(Dispatcher *dispatcher, Tasks *tasks)
{
    void *task = submit_after(tasks, spec_of(OVERTAKE_TASK_JOIN, "goes", NULL), NULL);
    void *stale = task, *stays = dispatcher;
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "the task is null", overtake_task_free(NULL));
    const pid_t child = fork();
    if (child == 0) {
        overtake_let_go(&task);
        _exit(task == NULL);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    overtake_let_go(&task);
    overtake_let_go(&stale);
    overtake_let_go(&task);
    overtake_let_go(&stays);
    overtake_let_go(NULL);
    REQUIRE(task == NULL && stale == NULL && stays == dispatcher);
    SAYS("the task is null");
}

typedef struct {
    Arrays *arrays;
    void *memory;
    int adopted;
} Adopter;

static void *adopt(void *data)
{
    Adopter *adopter = data;
    for (int code = OVERTAKE_OK; code != OVERTAKE_ERROR_INVALID_HANDLE; adopter->adopted++) {
        Array *array = NULL;
        struct overtake_adopt_spec spec = {.struct_size = sizeof spec, .memory = adopter->memory, .count = 16,
                                           .element_bytes = 4, .free_data = count_freed};
        code = overtake_array_adopt(adopter->arrays, &spec, &array);
        REQUIRE((code == OVERTAKE_OK) == (array != NULL));
    }
    return NULL;
}

/* Memory that is adopted while the dispatcher closes is the program's again when both calls have returned. */
static void adopted_while_closing(void)
{
    enum { ADOPTERS = 3 };
    void *memory = pinned_bytes(64, 0);
    for (int round = 0; round < 40; round++) {
        Dispatcher *dispatcher = new_dispatcher();
        Adopter adopters[ADOPTERS] = {{NULL, memory, 0}, {NULL, memory, 0}, {NULL, memory, 0}};
        pthread_t threads[ADOPTERS];
        int freed_before = atomic_load(&freed), adopted = 0;
        for (int i = 0; i < ADOPTERS; i++) {
            OK(overtake_arrays_open(dispatcher, NULL, &adopters[i].arrays));
            OK(pthread_create(&threads[i], NULL, adopt, &adopters[i]));
        }
        OK(overtake_dispatcher_close(dispatcher));
        for (int i = 0; i < ADOPTERS; i++) {
            OK(pthread_join(threads[i], NULL));
            adopted += adopters[i].adopted;
        }
        REQUIRE(atomic_load(&freed) - freed_before == adopted);
    }
    OK(cuMemFreeHost(memory));
}

int main(void)
{
    open_device();
    Dispatcher *dispatcher = new_dispatcher();
    Tasks *tasks = new_tasks(dispatcher);
    reserves();
    counts(tasks);
    timed_waits(dispatcher);
    times_of_pipelines(tasks);
    inside();
    left_beside_the_end(tasks);
    last_errors();
    refused_steps(tasks);
    answers(tasks);
    lets_go(dispatcher, tasks);
    lets_queue_go();
    OK(overtake_dispatcher_close(dispatcher));
    adopted_while_closing();
    OK(overtake_close());
    puts("ok");
    return 0;
}
