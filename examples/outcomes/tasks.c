/* Tasks in an order, one that is late, one that fails, one that is cancelled, and a full dispatcher. The same program
 * in C++, Rust and Python stands beside it; all four print tasks.txt. */
#include <cuda.h>
#include <overtake.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 4096, SHORT_MS = 20 };
static const int64_t SHORT_NS = SHORT_MS * 1000000;
typedef struct overtake_task Task;
typedef struct overtake_task_spec Spec;
static char *host, *device;
static struct overtake_tasks *tasks;

static void check(int code)
{
    if (code == 0)
        return;
    fprintf(stderr, "%s: %s\n", overtake_error_name(code), overtake_last_error());
    exit(1);
}

static int upload(struct overtake_lane *lane, void *data)
{
    (void)data;
    return overtake_lane_copy(lane, device, host, BYTES, OVERTAKE_COPY_HOST_TO_DEVICE);
}

static int twice(struct overtake_lane *lane, void *data)
{
    (void)data;
    return overtake_lane_copy(lane, device + BYTES, device, BYTES, OVERTAKE_COPY_DEVICE_TO_DEVICE);
}

static int download(struct overtake_lane *lane, void *data)
{
    (void)data;
    return overtake_lane_copy(lane, host, device, 2 * BYTES, OVERTAKE_COPY_DEVICE_TO_HOST);
}

static int nothing(void *data)
{
    (void)data;
    return 0;
}

static int fail(void *data)
{
    overtake_set_last_error(data);
    return 1;
}

static int submit(Spec spec, Task *after, Task **task)
{
    spec.struct_size = sizeof spec;
    spec.after = after != NULL ? &after : NULL, spec.after_count = after != NULL;
    return overtake_submit(tasks, &spec, task);
}

static void tell(const char *name, Task *task)
{
    printf("%s: %s\n", name, overtake_task_wait(task) == 0 ? "it has ended" : overtake_last_error());
}

/* Half of the memory goes to the device, is copied there to the other half, and all of it comes back. */
static void copies(void)
{
    Task *first, *second, *third;
    CUdeviceptr memory;
    check((int)cuMemHostAlloc((void **)&host, 2 * BYTES, 0));
    check((int)cuMemAlloc(&memory, 2 * BYTES));
    device = (char *)memory;
    memset(host, 7, BYTES);
    check(submit((Spec){.kind = OVERTAKE_TASK_UPLOAD, .name = "upload", .launch = upload}, NULL, &first));
    check(submit((Spec){.kind = OVERTAKE_TASK_KERNEL, .name = "twice", .launch = twice}, first, &second));
    check(submit((Spec){.kind = OVERTAKE_TASK_DOWNLOAD, .name = "download", .launch = download}, second, &third));
    check(overtake_task_wait(third));
    printf("download: %d %d\n", host[0], host[2 * BYTES - 1]);
}

int main(void)
{
    CUcontext context;
    struct overtake_dispatcher *dispatcher;
    struct overtake_dispatcher_options options = {.struct_size = sizeof options, .tasks_max = 8};
    Spec host_task = {.kind = OVERTAKE_TASK_HOST, .name = "held", .run = nothing, .references = 1}, behind;
    Task *held, *parse, *draw, *late, *gate, *last;
    int code, is_done, is_cancelled;
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    check(overtake_dispatcher_open(&options, &dispatcher));
    check(overtake_tasks_open(dispatcher, NULL, &tasks));
    copies();

    check(submit(host_task, NULL, &held));
    check(overtake_task_wait_for(held, SHORT_NS, &is_done));
    if (!is_done)
        printf("held: it has not ended within %d ms\n", SHORT_MS);
    check(overtake_task_release(held));
    tell("held", held);

    behind = (Spec){.kind = OVERTAKE_TASK_HOST, .name = "parse", .run = fail, .data = "the file is empty"};
    check(submit(behind, NULL, &parse));
    behind = (Spec){.kind = OVERTAKE_TASK_HOST, .name = "draw", .run = nothing};
    check(submit(behind, parse, &draw));
    tell("parse", parse);
    tell("draw", draw);

    host_task.name = "late";
    check(submit(host_task, NULL, &late));
    check(overtake_task_cancel(late, &is_cancelled));
    if (is_cancelled) /* it had not started */
        tell("late", late);

    host_task.name = "gate", behind.name = "behind";
    check(submit(host_task, NULL, &gate));
    while ((code = submit(behind, gate, NULL)) == 0)
        ;
    printf("full: %s\n", overtake_last_error());
    behind.room_timeout_ns = SHORT_NS;
    if (submit(behind, gate, NULL) == OVERTAKE_ERROR_WOULD_BLOCK)
        printf("full: there is no room within %d ms\n", SHORT_MS);
    check(overtake_task_release(gate));
    behind.room_timeout_ns = OVERTAKE_FOR_EVER;
    check(submit(behind, gate, &last));
    tell("last", last);
    return overtake_dispatcher_close(dispatcher);
}
