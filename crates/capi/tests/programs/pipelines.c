/* Pipelines through the C ABI: frames come in order with their bytes, copies join their stage, policies and failures
 * are counted, and calls that make no sense name their cure. */
#include "tasks.h"

#include <pthread.h>

enum { BYTES = 64 << 10, WORDS = BYTES / 4, FRAMES = 20 };

typedef struct overtake_pipeline Pipeline;
typedef struct overtake_pipeline_end End;
typedef struct overtake_frame Frame;
typedef struct overtake_pipeline_options Options;

typedef struct {
    Pipeline *pipeline;
    End *producer, *consumer;
} Line;

static Options options_of(int behind)
{
    return (Options){.struct_size = sizeof(Options), .stages = 2, .name = "camera", .bytes = BYTES, .behind = behind};
}

static Line open_line(Tasks *tasks, Options options)
{
    Line line = {NULL, NULL, NULL};
    OK(overtake_pipeline_open(tasks, &options, &line.pipeline, &line.producer, &line.consumer));
    REQUIRE(line.pipeline != NULL && line.producer != NULL && line.consumer != NULL);
    return line;
}

static void close_line(Line line)
{
    OK(overtake_pipeline_leave(line.producer));
    OK(overtake_pipeline_leave(line.consumer));
    OK(overtake_pipeline_free(line.pipeline));
}

static Frame acquire(End *producer)
{
    Frame frame = {.struct_size = sizeof frame};
    OK(overtake_pipeline_acquire(producer, OVERTAKE_FOR_EVER, &frame));
    REQUIRE(!frame.is_dropped && frame.bytes == BYTES && frame.host != NULL && frame.device != NULL);
    return frame;
}

static Frame wait_for(End *consumer)
{
    Frame frame = {.struct_size = sizeof frame};
    OK(overtake_pipeline_wait(consumer, OVERTAKE_FOR_EVER, &frame));
    REQUIRE(!frame.is_dropped && frame.bytes == BYTES);
    return frame;
}

static struct overtake_pipeline_statistics counts_of(Pipeline *pipeline)
{
    struct overtake_pipeline_statistics counts = {.struct_size = sizeof counts};
    OK(overtake_pipeline_read_statistics(pipeline, &counts));
    return counts;
}

static struct overtake_frame_record record_of(Pipeline *pipeline)
{
    struct overtake_frame_record record = {.struct_size = sizeof record};
    OK(overtake_pipeline_take_record(pipeline, &record));
    return record;
}

static void upload(End *end, Frame frame)
{
    OK(overtake_pipeline_copy(end, frame.device, frame.host, BYTES, OVERTAKE_COPY_HOST_TO_DEVICE, NULL));
}

/* The first word of the frame on the device. */
static int mark(Lane *lane, void *data)
{
    CUstream stream = NULL;
    OK(overtake_lane_stream(lane, &stream));
    return (int)cuMemsetD32Async((CUdeviceptr)(uintptr_t)data, 0x77777777u, 1, stream);
}

typedef struct {
    End *producer;
    int is_handed_over;
} Camera;

static void *shoot(void *data)
{
    Camera *camera = data;
    for (uint32_t number = 0; number < FRAMES; number++) {
        Frame frame = acquire(camera->producer);
        REQUIRE(frame.number == number && frame.priority == 3);
        for (int i = 0; i < WORDS; i++)
            ((uint32_t *)frame.host)[i] = number * WORDS + (uint32_t)i;
        upload(camera->producer, frame);
        OK(camera->is_handed_over ? overtake_pipeline_hand_over(camera->producer)
                                  : overtake_pipeline_commit(camera->producer));
    }
    OK(overtake_pipeline_leave(camera->producer));
    return NULL;
}

static void view(End *consumer, uint32_t number, uint32_t *seen)
{
    Frame frame = wait_for(consumer);
    REQUIRE(frame.number == number);
    Spec spec = spec_of(OVERTAKE_TASK_KERNEL, "mark", frame.device);
    spec.launch = mark;
    Task *marked = NULL, *down = NULL;
    OK(overtake_pipeline_submit(consumer, &spec, &marked));
    OK(overtake_task_wait(marked));
    OK(overtake_pipeline_copy(consumer, seen, frame.device, BYTES, OVERTAKE_COPY_DEVICE_TO_HOST, &down));
    OK(overtake_task_wait(down));
    REQUIRE(seen[0] == 0x77777777u);
    for (int i = 1; i < WORDS; i++)
        REQUIRE(seen[i] == number * WORDS + (uint32_t)i);
    OK(overtake_pipeline_complete(consumer));
    OK(overtake_pipeline_release(consumer));
    OK(overtake_task_free(marked));
    OK(overtake_task_free(down));
}

/* Frames come in order with their bytes, from another thread. */
static void bytes(Tasks *tasks, int is_handed_over)
{
    Options options = options_of(OVERTAKE_BEHIND_BLOCK);
    options.priority = 3, options.period_ns = 1000000, options.tolerance_ns = 1000, options.deadline_ns = 60000000000u;
    Line line = open_line(tasks, options);
    uint32_t *seen = (uint32_t *)(void *)pinned_bytes(BYTES, 0);
    Camera camera = {line.producer, is_handed_over};
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, shoot, &camera) == 0);
    for (uint32_t number = 0; number < FRAMES; number++)
        view(line.consumer, number, seen);
    Frame frame = {.struct_size = sizeof frame};
    REFUSED(OVERTAKE_ERROR_ENDED, "the other end of the pipeline has gone: there are no further frames",
            overtake_pipeline_wait(line.consumer, OVERTAKE_FOR_EVER, &frame));
    REQUIRE(pthread_join(thread, NULL) == 0);
    OK(overtake_tasks_wait(tasks));
    struct overtake_pipeline_statistics counts = counts_of(line.pipeline);
    REQUIRE(counts.frames == FRAMES && counts.delivered == FRAMES && counts.late == 0 && counts.under_way == 0);
    for (uint32_t number = 0; number < FRAMES; number++) {
        struct overtake_frame_record record = record_of(line.pipeline);
        REQUIRE(record.number == number && record.end == OVERTAKE_FRAME_DELIVERED && record.captured_ns > 0);
        REQUIRE(record.captured_ns <= record.committed_ns && record.committed_ns <= record.taken_ns);
        REQUIRE(record.taken_ns <= record.ended_ns);
    }
    REQUIRE(record_of(line.pipeline).end == 0);
    OK(overtake_pipeline_leave(line.consumer));
    OK(overtake_pipeline_free(line.pipeline));
    OK(cuMemFreeHost(seen));
}

/* Three frames in two stages, with a consumer that has not begun. */
static void overload(Tasks *tasks, int behind, uint64_t first, int dropped_as)
{
    Line line = open_line(tasks, options_of(behind));
    for (uint32_t number = 0; number < 3; number++) {
        Frame frame = {.struct_size = sizeof frame};
        OK(overtake_pipeline_acquire(line.producer, OVERTAKE_FOR_EVER, &frame));
        REQUIRE(frame.is_dropped == (behind == OVERTAKE_BEHIND_DROP_NEWEST && number == 2));
        if (frame.is_dropped) {
            REQUIRE(frame.host == NULL && frame.bytes == 0);
            continue;
        }
        REQUIRE(frame.number == number);
        *(uint32_t *)frame.host = number;
        OK(overtake_pipeline_commit(line.producer));
    }
    Frame frame = wait_for(line.consumer);
    REQUIRE(frame.number == first && *(uint32_t *)frame.host == first);
    OK(overtake_pipeline_release(line.consumer));
    struct overtake_frame_record record = record_of(line.pipeline);
    REQUIRE(record.end == dropped_as);
    struct overtake_pipeline_statistics counts = counts_of(line.pipeline);
    REQUIRE(counts.frames == 3 && counts.delivered == 1);
    REQUIRE(counts.full == (dropped_as == OVERTAKE_FRAME_FULL));
    REQUIRE(counts.replaced == (dropped_as == OVERTAKE_FRAME_REPLACED ? 3 - counts.delivered - counts.under_way : 0));
    close_line(line);
}

/* Of two pipelines with one place, the second has the newest frame when the first has released its own. */
static void admission(Tasks *tasks)
{
    struct overtake_admission *places = NULL;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "places is 0", overtake_admission_open(0, &places));
    OK(overtake_admission_open(1, &places));
    Options options = options_of(OVERTAKE_BEHIND_LATEST_ONLY);
    options.admission = places;
    Line lines[2] = {open_line(tasks, options), open_line(tasks, options)};
    OK(overtake_admission_free(places));
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "is not an admission here", overtake_admission_free(places));
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "is not an admission here",
            overtake_pipeline_open(tasks, &options, &(Pipeline *){NULL}, &(End *){NULL}, &(End *){NULL}));
    for (int line = 0; line < 2; line++) {
        acquire(lines[line].producer);
        OK(overtake_pipeline_commit(lines[line].producer));
    }
    REQUIRE(wait_for(lines[0].consumer).number == 0);
    Frame frame = {.struct_size = sizeof frame};
    REQUIRE(overtake_pipeline_wait(lines[1].consumer, 0, &frame) == OVERTAKE_ERROR_TIMEOUT);
    acquire(lines[1].producer);
    OK(overtake_pipeline_commit(lines[1].producer));
    OK(overtake_pipeline_release(lines[0].consumer));
    REQUIRE(wait_for(lines[1].consumer).number == 1);
    OK(overtake_pipeline_release(lines[1].consumer));
    close_line(lines[0]);
    close_line(lines[1]);
}

/* No more records are kept than the options say, also if the program takes some of them. */
static void records(Tasks *tasks)
{
    Options options = options_of(OVERTAKE_BEHIND_BLOCK);
    options.records_max = 2;
    Line line = open_line(tasks, options);
    struct overtake_frame_record small = {.struct_size = 8};
    uint64_t number = 0;
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < 2; i++) {
            acquire(line.producer);
            OK(overtake_pipeline_give_up(line.producer));
        }
        REQUIRE(overtake_pipeline_take_record(line.pipeline, &small) == OVERTAKE_ERROR_INVALID_ARGUMENT);
        number = record_of(line.pipeline).number;
        REQUIRE(number == 2 * (uint64_t)round);
    }
    REQUIRE(record_of(line.pipeline).number == number + 1 && record_of(line.pipeline).end == 0);
    REQUIRE(counts_of(line.pipeline).records_lost == 7);
    close_line(line);
}

/* A frame that cannot be on time any more is dropped before its work begins. */
static void overdue(Tasks *tasks)
{
    Options options = options_of(OVERTAKE_BEHIND_DROP_NEWEST);
    options.deadline_ns = 1, options.records_max = 1;
    Line line = open_line(tasks, options);
    Frame frame = acquire(line.producer);
    OK(overtake_pipeline_commit(line.producer));
    REFUSED(OVERTAKE_ERROR_TIMEOUT, "the producer has committed none",
            overtake_pipeline_wait(line.consumer, 0, &frame));
    acquire(line.producer);
    OK(overtake_pipeline_give_up(line.producer));
    struct overtake_pipeline_statistics counts = counts_of(line.pipeline);
    REQUIRE(counts.overdue == 1 && counts.given_up == 1 && counts.records_lost == 1 && counts.under_way == 0);
    REQUIRE(record_of(line.pipeline).end == OVERTAKE_FRAME_GIVEN_UP);
    close_line(line);
    /* The deadline begins with the capture. */
    options = options_of(OVERTAKE_BEHIND_BLOCK), options.deadline_ns = 1000000;
    line = open_line(tasks, options);
    acquire(line.producer);
    OK(overtake_pipeline_captured(line.producer, 1000001));
    OK(overtake_pipeline_commit(line.producer));
    wait_for(line.consumer);
    OK(overtake_pipeline_release(line.consumer));
    struct overtake_frame_record record = record_of(line.pipeline);
    REQUIRE(record.committed_ns - record.captured_ns > 1000000 && counts_of(line.pipeline).late == 1);
    close_line(line);
}

static int has_no_cable(Lane *lane, void *data)
{
    (void)lane, (void)data;
    OK(overtake_set_last_error("the cable is out"));
    return 42;
}

/* Each end hears of the failure of the other, and goes on. */
static void failures(Tasks *tasks)
{
    Line line = open_line(tasks, options_of(OVERTAKE_BEHIND_BLOCK));
    Frame frame = acquire(line.producer);
    Spec spec = spec_of(OVERTAKE_TASK_UPLOAD, "upload", NULL);
    spec.launch = has_no_cable;
    OK(overtake_pipeline_submit(line.producer, &spec, NULL));
    OK(overtake_pipeline_commit(line.producer));
    REFUSED(OVERTAKE_ERROR_FRAME_FAILED,
            "frame 0 of pipeline \"camera\" failed: task \"upload\" failed: the cable is out",
            overtake_pipeline_wait(line.consumer, OVERTAKE_FOR_EVER, &frame));
    acquire(line.producer);
    OK(overtake_pipeline_commit(line.producer));
    REQUIRE(wait_for(line.consumer).number == 1);
    OK(overtake_pipeline_leave(line.consumer));
    REFUSED(OVERTAKE_ERROR_ENDED, "the other end of the pipeline has gone",
            overtake_pipeline_acquire(line.producer, OVERTAKE_FOR_EVER, &frame));
    REQUIRE(counts_of(line.pipeline).failed == 1);
    OK(overtake_pipeline_leave(line.producer));
    OK(overtake_pipeline_free(line.pipeline));
}

static void opened_wrongly(Dispatcher *dispatcher, Tasks *tasks)
{
    Line line = {NULL, NULL, NULL};
    Options wrong = options_of(77);
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "behind 77 is not one of OVERTAKE_BEHIND_...",
            overtake_pipeline_open(tasks, &wrong, &line.pipeline, &line.producer, &line.consumer));
    wrong = options_of(0), wrong.stages = 255;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "pipeline \"camera\": stages is 255, between 1 and 254",
            overtake_pipeline_open(tasks, &wrong, &line.pipeline, &line.producer, &line.consumer));
    wrong = options_of(0), wrong.bytes = 0;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "set it to the size of a frame",
            overtake_pipeline_open(tasks, &wrong, &line.pipeline, &line.producer, &line.consumer));
    wrong = options_of(0);
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "consumer is null",
            overtake_pipeline_open(tasks, &wrong, &line.pipeline, &line.producer, NULL));
    Tasks *freed_set = new_tasks(dispatcher);
    OK(overtake_tasks_free(freed_set));
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "pipeline \"camera\" needs a set of a dispatcher that is open",
            overtake_pipeline_open(freed_set, &wrong, &line.pipeline, &line.producer, &line.consumer));
    REQUIRE(line.pipeline == NULL && line.producer == NULL && line.consumer == NULL);
}

static void used_wrongly(Tasks *tasks)
{
    Line line = open_line(tasks, options_of(OVERTAKE_BEHIND_BLOCK));
    Frame frame = {.struct_size = sizeof frame}, small = {.struct_size = 8};
    REFUSED(OVERTAKE_ERROR_TIMEOUT, "overtake_pipeline_wait: nothing within 0 ns",
            overtake_pipeline_wait(line.consumer, 0, &frame));
    REFUSED(OVERTAKE_ERROR_TIMEOUT, "within 1000 ns", overtake_pipeline_wait(line.consumer, 1000, &frame));
    REFUSED(OVERTAKE_ERROR_REFUSED, "call overtake_pipeline_acquire first", overtake_pipeline_commit(line.producer));
    REFUSED(OVERTAKE_ERROR_REFUSED, "call overtake_pipeline_wait first", overtake_pipeline_release(line.consumer));
    REFUSED(OVERTAKE_ERROR_REFUSED, "call overtake_pipeline_wait first",
            overtake_pipeline_copy(line.consumer, &frame, &small, 1, OVERTAKE_COPY_DEFAULT, NULL));
    REFUSED(OVERTAKE_ERROR_REFUSED, "this is the consumer's end", overtake_pipeline_commit(line.consumer));
    REFUSED(OVERTAKE_ERROR_REFUSED, "this is the producer's end",
            overtake_pipeline_wait(line.producer, OVERTAKE_FOR_EVER, &frame));
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "struct_size of frame",
            overtake_pipeline_acquire(line.producer, OVERTAKE_FOR_EVER, &small));
    acquire(line.producer);
    REFUSED(OVERTAKE_ERROR_REFUSED, "commit it, hand it over or give it up before the next",
            overtake_pipeline_acquire(line.producer, OVERTAKE_FOR_EVER, &frame));
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "kind is one of",
            overtake_pipeline_copy(line.producer, &frame, &small, 1, 77, NULL));
    Spec spec = spec_of(OVERTAKE_TASK_KERNEL, "urgent", NULL);
    int freed_before = atomic_load(&freed);
    spec.launch = no_work, spec.priority = 2;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "set priority", overtake_pipeline_submit(line.producer, &spec, NULL));
    spec.priority = 0, spec.is_named = 0, spec.room_timeout_ns = 1;
    REFUSED(OVERTAKE_ERROR_INVALID_ARGUMENT, "set priority", overtake_pipeline_submit(line.producer, &spec, NULL));
    REQUIRE(atomic_load(&freed) == freed_before + 2);
    OK(overtake_pipeline_commit(line.producer));
    acquire(line.producer);
    OK(overtake_pipeline_commit(line.producer));
    REFUSED(OVERTAKE_ERROR_TIMEOUT, "the consumer is behind; wait longer, or drop frames",
            overtake_pipeline_acquire(line.producer, 1000, &frame));
    wait_for(line.consumer);
    REFUSED(OVERTAKE_ERROR_REFUSED, "release it before the next", overtake_pipeline_wait(line.consumer, 0, &frame));
    close_line(line);
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "is not an end of a pipeline here", overtake_pipeline_leave(line.producer));
    REFUSED(OVERTAKE_ERROR_INVALID_HANDLE, "is not a pipeline here", overtake_pipeline_free(line.pipeline));
    line = open_line(tasks, options_of(OVERTAKE_BEHIND_LATEST_ONLY));
    frame = acquire(line.producer);
    REFUSED(OVERTAKE_ERROR_REFUSED, "may drop a frame for a newer one until the consumer has it",
            overtake_pipeline_copy(line.producer, frame.device, frame.host, BYTES, OVERTAKE_COPY_HOST_TO_DEVICE, NULL));
    close_line(line);
}

int main(void)
{
    open_device();
    Dispatcher *dispatcher = new_dispatcher();
    Tasks *tasks = new_tasks(dispatcher);
    bytes(tasks, 0);
    bytes(tasks, 1);
    overload(tasks, OVERTAKE_BEHIND_DROP_NEWEST, 0, OVERTAKE_FRAME_FULL);
    overload(tasks, OVERTAKE_BEHIND_DROP_OLDEST, 1, OVERTAKE_FRAME_REPLACED);
    overload(tasks, OVERTAKE_BEHIND_LATEST_ONLY, 2, OVERTAKE_FRAME_REPLACED);
    records(tasks);
    overdue(tasks);
    admission(tasks);
    failures(tasks);
    opened_wrongly(dispatcher, tasks);
    used_wrongly(tasks);
    /* The dispatcher closes the ends, with the frames in their hands. */
    Line line = open_line(tasks, options_of(OVERTAKE_BEHIND_BLOCK));
    upload(line.producer, acquire(line.producer));
    OK(overtake_dispatcher_close(dispatcher));
    REQUIRE(overtake_pipeline_leave(line.producer) == OVERTAKE_ERROR_INVALID_HANDLE);
    REQUIRE(overtake_pipeline_free(line.pipeline) == OVERTAKE_ERROR_INVALID_HANDLE);
    OK(overtake_close());
    puts("ok");
    return 0;
}
