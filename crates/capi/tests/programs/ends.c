/* Ends of tasks through the C ABI: functions that hear of them, tasks that are cancelled, and tasks that wait for room
 * until others have ended. */
#include "tasks.h"

#include <time.h>

static int note(void *data)
{
    atomic_fetch_add((atomic_int *)data, 1);
    return 0;
}

static int fails(void *data)
{
    (void)data;
    return 42;
}

static void eventually(atomic_int *count, int expected)
{
    const struct timespec pause = {0, 1000000};
    for (int i = 0; i < 20000 && atomic_load(count) != expected; i++)
        nanosleep(&pause, NULL);
    REQUIRE(atomic_load(count) == expected);
}

static Task *held(Tasks *tasks, overtake_run_callback run, void *data)
{
    Spec spec = spec_of(OVERTAKE_TASK_HOST, "held", data);
    spec.run = run, spec.references = 1;
    return submit_after(tasks, spec, NULL);
}

/* A wait in it would wait for itself. */
static int waits(void *data)
{
    REFUSED(OVERTAKE_ERROR_REFUSED, "not from the function of a task", overtake_tasks_wait(data));
    return 0;
}

static void ends_are_heard(Dispatcher *dispatcher)
{
    Tasks *tasks = new_tasks(dispatcher);
    atomic_int runs = 0, calls = 0;
    atomic_store(&freed, 0);
    Task *task = held(tasks, note, &runs);
    for (int i = 0; i < 3; i++)
        OK(overtake_task_when_done(task, note, &calls, count_freed));
    OK(overtake_task_when_done(task, fails, NULL, count_freed)); /* concerns nobody else */
    OK(overtake_task_when_done(task, waits, tasks, NULL));
    REQUIRE(calls == 0 && freed == 0);
    OK(overtake_task_release(task));
    OK(overtake_task_wait(task));
    eventually(&freed, 1 + 4);
    REQUIRE(runs == 1 && calls == 3);
    /* It has ended: the call is made here. */
    OK(overtake_task_when_done(task, note, &calls, count_freed));
    REQUIRE(calls == 4 && freed == 6);
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "run is null", overtake_task_when_done(task, NULL, NULL, count_freed));
    REQUIRE(freed == 7);
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "task", overtake_task_when_done(NULL, note, &calls, count_freed));
    REQUIRE(calls == 4 && freed == 8);
    Task *broken = run_after(tasks, "broken", fails, NULL, NULL);
    OK(overtake_task_when_done(broken, note, &calls, NULL));
    eventually(&calls, 5);
    OK(overtake_tasks_free(tasks));
}

static void cancelled(Dispatcher *dispatcher)
{
    Tasks *tasks = new_tasks(dispatcher);
    atomic_int runs = 0;
    int is_cancelled = 7;
    Task *task = held(tasks, note, &runs), *behind = run_after(tasks, "behind", note, &runs, task);
    OK(overtake_task_cancel(task, &is_cancelled));
    REQUIRE(is_cancelled == 1);
    REFUSED(OVERTAKE_ERROR_TASK_NOT_RUN, "task \"held\" was not run: it was cancelled", overtake_task_wait(task));
    REFUSED(OVERTAKE_ERROR_TASK_NOT_RUN, "task \"behind\" was not run: task \"held\" was cancelled",
            overtake_task_wait(behind));
    OK(overtake_task_cancel(task, &is_cancelled));
    REQUIRE(is_cancelled == 0 && runs == 0);
    OK(overtake_tasks_wait(tasks)); /* none has failed */
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "is_cancelled", overtake_task_cancel(task, NULL));
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "task", overtake_task_cancel(NULL, &is_cancelled));
    OK(overtake_tasks_free(tasks));
}

static int submits_inside(void *data)
{
    Spec spec = spec_of(OVERTAKE_TASK_JOIN, "inside", NULL);
    spec.room_timeout_ns = OVERTAKE_FOR_EVER;
    REFUSED(OVERTAKE_ERROR_REFUSED, "must not wait for room", overtake_submit(data, &spec, NULL));
    return 0;
}

enum { ROOM = 4, MANY = 200 };

static void room(void)
{
    struct overtake_dispatcher_options options = {.struct_size = sizeof options, .tasks_max = ROOM};
    Dispatcher *dispatcher = NULL;
    OK(overtake_dispatcher_open(&options, &dispatcher));
    Tasks *tasks = new_tasks(dispatcher);
    atomic_int runs = 0;
    atomic_store(&freed, 0);
    Task *first = held(tasks, submits_inside, tasks);
    for (int i = 1; i < ROOM; i++)
        run_after(tasks, "behind", note, &runs, first);
    Spec spec = spec_of(OVERTAKE_TASK_HOST, "more", &runs);
    spec.run = note;
    REFUSED(OVERTAKE_ERROR_WOULD_BLOCK, "the graph is full", overtake_submit(tasks, &spec, NULL));
    spec.room_timeout_ns = 3000000;
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    REFUSED(OVERTAKE_ERROR_WOULD_BLOCK, "the graph is full", overtake_submit(tasks, &spec, NULL));
    clock_gettime(CLOCK_MONOTONIC, &end);
    REQUIRE((end.tv_sec - start.tv_sec) * 1000000000L + end.tv_nsec - start.tv_nsec >= spec.room_timeout_ns);
    REQUIRE(freed == 2);
    OK(overtake_task_release(first));
    spec.room_timeout_ns = OVERTAKE_FOR_EVER;
    for (int i = 0; i < MANY; i++)
        OK(overtake_submit(tasks, &spec, NULL));
    spec.room_timeout_ns = -2;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "timeout_ns is -2", overtake_submit(tasks, &spec, NULL));
    spec.room_timeout_ns = 1, spec.is_named = 1;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "waits for no room", overtake_submit(tasks, &spec, NULL));
    OK(overtake_tasks_wait(tasks));
    REQUIRE(runs == ROOM - 1 + MANY);
    OK(overtake_dispatcher_close(dispatcher));
}

int main(void)
{
    open_device();
    Dispatcher *dispatcher = new_dispatcher();
    ends_are_heard(dispatcher);
    cancelled(dispatcher);
    OK(overtake_dispatcher_close(dispatcher));
    room();
    OK(overtake_close());
    puts("ok");
    return 0;
}
