/* Frames from a producer to a consumer: waits that are in vain, one that is given up, one that fails, and ends that
 * leave. The same program in C++, Rust and Python stands beside it; all four print pipeline.txt. */
#include <cuda.h>
#include <overtake.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 4096, SHORT_MS = 20 };
typedef struct overtake_pipeline_end End;
static const int64_t SHORT_NS = SHORT_MS * INT64_C(1000000);

static void check(int code)
{
    if (code == 0)
        return;
    fprintf(stderr, "%s: %s\n", overtake_error_name(code), overtake_last_error());
    exit(1);
}

static void open_line(struct overtake_tasks *tasks, End **producer, End **consumer)
{
    struct overtake_pipeline *pipeline;
    struct overtake_pipeline_options options = {.struct_size = sizeof options, .name = "camera", .bytes = BYTES};
    options.stages = 2;
    check(overtake_pipeline_open(tasks, &options, &pipeline, producer, consumer));
}

static int shoot(End *producer, int value)
{
    struct overtake_frame frame = {.struct_size = sizeof frame};
    int code = overtake_pipeline_acquire(producer, OVERTAKE_FOR_EVER, &frame); /* it keeps every frame */
    if (code != 0)
        return code;
    memset(frame.host, value, BYTES);
    check(overtake_pipeline_copy(producer, frame.device, frame.host, BYTES, OVERTAKE_COPY_HOST_TO_DEVICE, NULL));
    return overtake_pipeline_commit(producer);
}

static int view(End *consumer)
{
    struct overtake_task *download;
    struct overtake_frame frame = {.struct_size = sizeof frame};
    int code = overtake_pipeline_wait(consumer, OVERTAKE_FOR_EVER, &frame);
    if (code != 0)
        return code;
    check(overtake_pipeline_copy(consumer, frame.host, frame.device, BYTES, OVERTAKE_COPY_DEVICE_TO_HOST, &download));
    check(overtake_task_wait(download));
    check(overtake_task_free(download));
    printf("frame %d has %d\n", (int)frame.number, ((char *)frame.host)[BYTES - 1]);
    return overtake_pipeline_release(consumer);
}

static int fail(struct overtake_lane *lane, void *data)
{
    (void)lane;
    overtake_set_last_error(data);
    return 1;
}

int main(void)
{
    CUcontext context;
    struct overtake_dispatcher *dispatcher;
    struct overtake_tasks *tasks;
    struct overtake_frame frame = {.struct_size = sizeof frame};
    struct overtake_task_spec failing = {.struct_size = sizeof failing, .kind = OVERTAKE_TASK_KERNEL};
    End *producer, *consumer;
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    check(overtake_dispatcher_open(NULL, &dispatcher));
    check(overtake_tasks_open(dispatcher, NULL, &tasks));
    open_line(tasks, &producer, &consumer);

    if (overtake_pipeline_wait(consumer, SHORT_NS, &frame) == OVERTAKE_ERROR_TIMEOUT)
        printf("consumer: no frame within %d ms\n", SHORT_MS);
    check(shoot(producer, 7));
    check(view(consumer));

    check(overtake_pipeline_acquire(producer, OVERTAKE_FOR_EVER, &frame));
    check(overtake_pipeline_give_up(producer)); /* frame 1: the consumer never sees it */
    check(shoot(producer, 9));
    check(view(consumer));

    check(shoot(producer, 10));
    check(shoot(producer, 11));
    if (overtake_pipeline_acquire(producer, SHORT_NS, &frame) == OVERTAKE_ERROR_TIMEOUT)
        printf("producer: no stage within %d ms\n", SHORT_MS);
    check(view(consumer));
    check(view(consumer));

    failing.name = "shoot", failing.launch = fail, failing.data = "the cable is out";
    check(overtake_pipeline_acquire(producer, OVERTAKE_FOR_EVER, &frame));
    check(overtake_pipeline_submit(producer, &failing, NULL));
    check(overtake_pipeline_commit(producer));
    if (view(consumer) == OVERTAKE_ERROR_FRAME_FAILED)
        printf("consumer: %s\n", overtake_last_error()); /* the next call is about the next frame */

    check(shoot(producer, 13));
    check(overtake_pipeline_leave(producer));
    check(view(consumer));
    if (view(consumer) == OVERTAKE_ERROR_ENDED)
        puts("consumer: the producer has left");

    open_line(tasks, &producer, &consumer);
    check(overtake_pipeline_leave(consumer));
    if (shoot(producer, 0) == OVERTAKE_ERROR_ENDED)
        printf("producer: %s\n", overtake_last_error());
    return overtake_dispatcher_close(dispatcher);
}
