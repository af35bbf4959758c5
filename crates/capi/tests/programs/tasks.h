/* Steps of the programs with tasks. */
#ifndef TASKS_H
#define TASKS_H

#include <stdatomic.h>

#include "expect.h"

typedef struct overtake_dispatcher Dispatcher;
typedef struct overtake_tasks Tasks;
typedef struct overtake_task Task;
typedef struct overtake_lane Lane;
typedef struct overtake_task_spec Spec;

static atomic_int freed;

static inline void count_freed(void *data)
{
    (void)data;
    atomic_fetch_add(&freed, 1);
}

static inline Dispatcher *new_dispatcher(void)
{
    Dispatcher *dispatcher = NULL;
    OK(overtake_dispatcher_open(NULL, &dispatcher));
    REQUIRE(dispatcher != NULL);
    return dispatcher;
}

static inline Tasks *new_tasks(Dispatcher *dispatcher)
{
    Tasks *tasks = NULL;
    OK(overtake_tasks_open(dispatcher, NULL, &tasks));
    return tasks;
}

static inline Spec spec_of(int kind, const char *name, void *data)
{
    Spec spec;
    memset(&spec, 0, sizeof spec);
    spec.struct_size = sizeof spec, spec.kind = kind, spec.name = name;
    spec.data = data, spec.free_data = count_freed;
    return spec;
}

/* Submits a task after another one, or after none. */
static inline Task *submit_after(Tasks *tasks, Spec spec, Task *first)
{
    Task *task = NULL;
    spec.after = first != NULL ? &first : NULL, spec.after_count = first != NULL;
    OK(overtake_submit(tasks, &spec, &task));
    REQUIRE(task != NULL);
    return task;
}

static inline Task *run_after(Tasks *tasks, const char *name, overtake_run_callback run, void *data, Task *first)
{
    Spec spec = spec_of(OVERTAKE_TASK_HOST, name, data);
    spec.run = run;
    return submit_after(tasks, spec, first);
}

static inline Task *launch_after(Tasks *tasks, int kind, const char *name, overtake_launch_callback launch, void *data,
                                 Task *first)
{
    Spec spec = spec_of(kind, name, data);
    spec.launch = launch;
    return submit_after(tasks, spec, first);
}

static inline int nothing(void *data)
{
    (void)data;
    return 0;
}

static inline int no_work(Lane *lane, void *data)
{
    (void)lane;
    (void)data;
    return 0;
}

static inline int is_done(Task *task)
{
    int done = -1;
    OK(overtake_task_is_done(task, &done));
    return done;
}

#define SAYS(words) REQUIRE(strstr(overtake_last_error(), words) != NULL)

#define REFUSED(code, words, call)                                                                                    \
    do {                                                                                                              \
        REQUIRE((call) == (code));                                                                                    \
        SAYS(words);                                                                                                  \
    } while (0)

#endif
