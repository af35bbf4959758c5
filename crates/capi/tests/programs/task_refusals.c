/* Refused calls about tasks: wrong handles, wrong descriptions, calls that would wait for themselves. Each frees the
 * data that it was given, and none hangs. */
#include "tasks.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static int is_refused_inside;
static Dispatcher *the_dispatcher;
static Tasks *the_tasks;
static Task *the_held;
static Lane *the_lane;

static void wrong_handles(Tasks *tasks, Task *task)
{
    Tasks *other = NULL;
    Lane *lane = NULL;
    int done = 4711;
    unsigned char byte = 0;
    void *const wrong[] = {NULL, &byte, (void *)(uintptr_t)1, (char *)(void *)task + 16, tasks, the_dispatcher};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        REQUIRE(overtake_task_wait(wrong[i]) == OVERTAKE_ERROR_INVALID_HANDLE);
        REQUIRE(overtake_task_is_done(wrong[i], &done) == OVERTAKE_ERROR_INVALID_HANDLE && done == 4711);
        REQUIRE(overtake_task_free(wrong[i]) == OVERTAKE_ERROR_INVALID_HANDLE);
        REQUIRE(overtake_task_before(task, wrong[i]) == OVERTAKE_ERROR_INVALID_HANDLE);
        REQUIRE(overtake_lane_again(wrong[i]) == OVERTAKE_ERROR_INVALID_HANDLE);
    }
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "the task is null", overtake_task_release(NULL));
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "is not a set of tasks here", overtake_tasks_wait((Tasks *)(void *)task));
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "dispatcher", overtake_tasks_open((void *)tasks, NULL, &other));
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "dispatcher", overtake_dispatcher_close((void *)tasks));
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "lane is null", overtake_lane_sync_point(lane));
    OK(overtake_task_free(task));
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "it was freed or closed", overtake_task_wait(task));
    REQUIRE(overtake_task_free(task) == OVERTAKE_ERROR_INVALID_HANDLE);
}

static void refused_spec(Tasks *tasks, int code, const char *words, Spec spec)
{
    Task *task = (Task *)&code;
    int before = atomic_load(&freed);
    REFUSED(code, words, overtake_submit(tasks, &spec, &task));
    REQUIRE(task == (Task *)&code);
    if (code != OVERTAKE_ERROR_INVALID_ARGUMENT || spec.struct_size == sizeof spec)
        REQUIRE(atomic_load(&freed) == before + 1);
}

static void wrong_descriptions(Tasks *tasks, Task *foreign)
{
    Spec good = spec_of(OVERTAKE_TASK_HOST, "odd", &tasks), spec = good;
    good.run = nothing;
    refused_spec(tasks, OVERTAKE_ERROR_INVALID_ARGUMENT, "task \"odd\": a task of the host has run", spec);
    spec = good, spec.launch = no_work;
    refused_spec(tasks, OVERTAKE_ERROR_INVALID_ARGUMENT, "has run, and not launch", spec);
    spec = good, spec.kind = OVERTAKE_TASK_KERNEL;
    refused_spec(tasks, OVERTAKE_ERROR_INVALID_ARGUMENT, "has launch, and not run", spec);
    spec = good, spec.kind = OVERTAKE_TASK_JOIN;
    refused_spec(tasks, OVERTAKE_ERROR_INVALID_ARGUMENT, "a join has no function", spec);
    spec = good, spec.kind = 0;
    refused_spec(tasks, OVERTAKE_ERROR_INVALID_ARGUMENT, "kind 0", spec);
    spec = good, spec.name = "\xff";
    refused_spec(tasks, OVERTAKE_ERROR_INVALID_ARGUMENT, "UTF-8", spec);
    spec = good, spec.priority = -1;
    refused_spec(tasks, OVERTAKE_ERROR_INVALID_ARGUMENT, "priority -1", spec);
    spec = good, spec.priority = overtake_priorities() + 1;
    refused_spec(tasks, OVERTAKE_ERROR_INVALID_ARGUMENT, "\"odd\" has priority", spec);
    spec = good, spec.run = nothing, spec.retries = 1;
    refused_spec(tasks, OVERTAKE_ERROR_REFUSED, "task \"odd\" is refused", spec);
    spec = good, spec.run = nothing, spec.after_count = 1;
    refused_spec(tasks, OVERTAKE_ERROR_INVALID_ARGUMENT, "after is null, but after_count is 1: set after", spec);
    spec.after_count = 0, spec.after_launch_count = 2;
    refused_spec(tasks, OVERTAKE_ERROR_INVALID_ARGUMENT, "after_launch is null, but after_launch_count is 2", spec);
    Task *no_task = (Task *)&spec;
    spec.after_launch = &no_task, spec.after_launch_count = 0;
    refused_spec(tasks, OVERTAKE_ERROR_INVALID_ARGUMENT,
                 "after_launch is set, but after_launch_count is 0: set after_launch_count", spec);
    spec.after_launch = NULL, spec.after = &no_task;
    refused_spec(tasks, OVERTAKE_ERROR_INVALID_ARGUMENT,
                 "after is set, but after_count is 0: set after_count to the number of its elements, or after to null",
                 spec);
    spec = good, spec.after_launch = &no_task, spec.after_launch_count = 1;
    refused_spec(tasks, OVERTAKE_ERROR_INVALID_HANDLE, "is not a task here", spec);
    spec = good, spec.after = &no_task, spec.after_count = 1;
    refused_spec(tasks, OVERTAKE_ERROR_INVALID_HANDLE, "is not a task here", spec);
    spec.after = &foreign;
    refused_spec(tasks, OVERTAKE_ERROR_INVALID_ARGUMENT, "two dispatchers", spec);
    refused_spec(NULL, OVERTAKE_ERROR_INVALID_HANDLE, "set of tasks is null; task \"odd\" needs a set", good);
    spec = good, spec.struct_size = 8;
    refused_spec(tasks, OVERTAKE_ERROR_INVALID_ARGUMENT, "struct_size", spec);
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "spec is null", overtake_submit(tasks, NULL, NULL));
}

/* Calls that would wait for the function that makes them. */
static int waits(Lane *lane, void *data)
{
    (void)data;
    the_lane = lane;
    REFUSED(OVERTAKE_ERROR_REFUSED, "not from the function of a task", overtake_task_wait(the_held));
    REFUSED(OVERTAKE_ERROR_REFUSED, "not from the function of a task", overtake_tasks_wait(the_tasks));
    REFUSED(OVERTAKE_ERROR_REFUSED, "not from the function of a task", overtake_dispatcher_close(the_dispatcher));
    REQUIRE(overtake_lane_stream(lane, NULL) == OVERTAKE_ERROR_INVALID_ARGUMENT);
    is_refused_inside = 1;
    return 0;
}

static void *use_elsewhere(void *lane)
{
    return (void *)(intptr_t)overtake_lane_again(lane);
}

static int lends(Lane *lane, void *data)
{
    pthread_t thread;
    void *code = NULL;
    (void)data;
    OK(pthread_create(&thread, NULL, use_elsewhere, lane));
    OK(pthread_join(thread, &code));
    REQUIRE((intptr_t)code == OVERTAKE_ERROR_INVALID_HANDLE);
    return 0;
}

static void inside_functions(void)
{
    Spec spec = spec_of(OVERTAKE_TASK_JOIN, "held", NULL);
    spec.references = 1;
    the_held = submit_after(the_tasks, spec, NULL);
    OK(overtake_task_wait(launch_after(the_tasks, OVERTAKE_TASK_KERNEL, "waits", waits, NULL, NULL)));
    OK(overtake_task_wait(launch_after(the_tasks, OVERTAKE_TASK_KERNEL, "lends", lends, NULL, NULL)));
    REQUIRE(is_refused_inside);
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "lane", overtake_lane_again(the_lane));
    OK(overtake_task_release(the_held));
}

static void options_and_outputs(void)
{
    struct overtake_dispatcher_options options = {.struct_size = 8};
    struct overtake_dispatcher_statistics counts = {.struct_size = 4};
    Dispatcher *dispatcher = NULL;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "struct_size", overtake_dispatcher_open(&options, &dispatcher));
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "dispatcher is null", overtake_dispatcher_open(NULL, NULL));
    options.struct_size = sizeof options, options.workers = 1000;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "workers is 1000", overtake_dispatcher_open(&options, &dispatcher));
    options.workers = 200;
    REFUSED(CUDA_ERROR_INVALID_VALUE, "workers is 200", overtake_dispatcher_open(&options, &dispatcher));
    options.workers = 0, options.order = 7;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "order 7", overtake_dispatcher_open(&options, &dispatcher));
    REQUIRE(dispatcher == NULL);
    REQUIRE(overtake_dispatcher_read_statistics(the_dispatcher, &counts) == OVERTAKE_ERROR_INVALID_ARGUMENT);
    char picture[8] = "before";
    size_t needed = 0;
    REFUSED(OVERTAKE_ERROR_BUFFER_TOO_SMALL, "it needs ",
            overtake_dispatcher_dot(the_dispatcher, picture, sizeof picture, &needed));
    REQUIRE(needed > sizeof picture && strcmp(picture, "before") == 0);
    REQUIRE(overtake_dispatcher_dot(the_dispatcher, NULL, 0, NULL) == OVERTAKE_ERROR_BUFFER_TOO_SMALL);
    Task *join = NULL;
    REFUSED(OVERTAKE_ERROR_REFUSED, "no group", overtake_group_end(the_tasks));
    REFUSED(OVERTAKE_ERROR_REFUSED, "no group", overtake_group_before(the_tasks, &join));
    REFUSED(OVERTAKE_ERROR_REFUSED, "no group", overtake_group_behind(the_tasks, &join));
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "task is null", overtake_group_before(the_tasks, NULL));
    REQUIRE(join == NULL);
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "text is null", overtake_set_last_error(NULL));
}

static int fails_twice(Lane *lane, void *data)
{
    (void)lane;
    return atomic_fetch_add((atomic_int *)data, 1) < 2 ? 42 : 0;
}

/* A launch that fails is repeated as often as its task says, and no more. */
static void repeated(void)
{
    Tasks *tasks = new_tasks(the_dispatcher);
    for (unsigned retries = 1; retries <= 2; retries++) {
        atomic_int calls = 0;
        Spec spec = spec_of(OVERTAKE_TASK_KERNEL, "again", &calls);
        spec.launch = fails_twice, spec.retries = retries;
        int code = overtake_task_wait(submit_after(tasks, spec, NULL));
        REQUIRE(calls == 1 + (int)retries && code == (retries == 2 ? OVERTAKE_OK : OVERTAKE_ERROR_TASK_FAILED));
    }
}

/* A full dispatcher says so, and takes tasks again when others have ended. */
static void full(void)
{
    struct overtake_dispatcher_options options = {.struct_size = sizeof options, .tasks_max = 4, .lanes = 1};
    Dispatcher *dispatcher = NULL;
    OK(overtake_dispatcher_open(&options, &dispatcher));
    Tasks *tasks = new_tasks(dispatcher);
    Task *held[4];
    Spec spec = spec_of(OVERTAKE_TASK_JOIN, "held", NULL);
    spec.references = 1;
    for (int i = 0; i < 4; i++)
        held[i] = submit_after(tasks, spec, NULL);
    REFUSED(OVERTAKE_ERROR_WOULD_BLOCK, "wait until tasks have ended", overtake_submit(tasks, &spec, NULL));
    OK(overtake_task_release(held[2]));
    OK(overtake_submit(tasks, &spec, NULL));
    wrong_descriptions(the_tasks, held[0]);
    OK(overtake_dispatcher_close(dispatcher));
}

/* The child has none of the threads, and perhaps a lock that another thread held. */
static void in_a_child(void)
{
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        Dispatcher *dispatcher = NULL;
        void *memory = NULL;
        int is_off = overtake_access_wait_for(NULL, 0, &memory) == OVERTAKE_ERROR_OFF &&
                     overtake_tasks_wait(the_tasks) == OVERTAKE_ERROR_OFF &&
                     overtake_dispatcher_close(the_dispatcher) == OVERTAKE_ERROR_OFF &&
                     overtake_dispatcher_open(NULL, &dispatcher) == OVERTAKE_ERROR_OFF &&
                     strstr(overtake_last_error(), "child of a fork") != NULL;
        _exit(is_off ? 0 : 1);
    }
    REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    Dispatcher *none = NULL;
    OK(cuInit(0));
    REQUIRE(overtake_dispatcher_open(NULL, &none) != OVERTAKE_OK && *overtake_last_error() != 0); /* no context */
    open_device();
    the_dispatcher = new_dispatcher();
    the_tasks = new_tasks(the_dispatcher);
    wrong_handles(the_tasks, run_after(the_tasks, "task", nothing, NULL, NULL));
    options_and_outputs();
    inside_functions();
    repeated();
    full();
    in_a_child();
    REFUSED(OVERTAKE_ERROR_REFUSED, "overtake_dispatcher_close first", overtake_close());
    OK(overtake_tasks_wait(the_tasks));
    OK(overtake_dispatcher_close(the_dispatcher));
    REQUIRE(overtake_tasks_wait(the_tasks) == OVERTAKE_ERROR_INVALID_HANDLE);
    Spec late = spec_of(OVERTAKE_TASK_HOST, "late", &the_tasks);
    late.run = nothing;
    refused_spec(the_tasks, OVERTAKE_ERROR_INVALID_HANDLE, "closed; task \"late\" needs a set of a dispatcher", late);
    REQUIRE(overtake_dispatcher_close(the_dispatcher) == OVERTAKE_ERROR_INVALID_HANDLE);
    OK(overtake_close());
    puts("ok");
    return 0;
}
