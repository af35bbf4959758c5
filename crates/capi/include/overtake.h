/* overtake: priorities for GPU memory copies. The C ABI.
 *
 * Written by `cargo xtask header` from the Rust sources: do not edit.
 *
 * Any thread may call any function; a function with further demands lists them. Functions that return int return
 * OVERTAKE_OK, a CUresult (positive, from the driver) or one of OVERTAKE_ERROR_... (negative). overtake_last_error()
 * explains a failure. Outputs are written on success alone. No function throws, and loading the library does nothing.
 *
 * Priorities count up: 1 is bulk, overtake_priorities() the most urgent. A stream is a CUstream or a cudaStream_t: they
 * are the same, and 0 is the legacy default stream. Neither cuda.h nor cuda_runtime.h is needed. */

#ifndef OVERTAKE_H
#define OVERTAKE_H

#include <stddef.h>
#include <stdint.h>

struct CUstream_st; /* CUDA's own: CUstream and cudaStream_t point at it. */
/* Handles: never look into them. A wrong one, or one of a thing that is gone, is refused. */
struct overtake_dispatcher;
struct overtake_tasks;
struct overtake_task;
struct overtake_lane;
struct overtake_copy_queue;
struct overtake_arrays;
struct overtake_array;
struct overtake_access;
struct overtake_kernel;
struct overtake_pipeline;
struct overtake_pipeline_end;
struct overtake_template;
struct overtake_admission;

/**
 * The version of this header: major.
 */
#define OVERTAKE_VERSION_MAJOR 0

/**
 * The version of this header: minor.
 */
#define OVERTAKE_VERSION_MINOR 1

/**
 * The version of this header: patch.
 */
#define OVERTAKE_VERSION_PATCH 0

/**
 * In place of a priority: the rules decide, or an earlier priority is taken away.
 */
#define OVERTAKE_PRIORITY_BY_RULES 0

/**
 * The lowest priority: bulk. Higher numbers are more urgent, up to overtake_priorities().
 */
#define OVERTAKE_PRIORITY_LOWEST 1

/**
 * A message about a failure.
 */
#define OVERTAKE_LOG_ERROR 1

/**
 * A message about copies that have no priority, with the remedy.
 */
#define OVERTAKE_LOG_WARNING 2

/**
 * A message about normal progress.
 */
#define OVERTAKE_LOG_INFO 3

/**
 * A message for the search for a fault.
 */
#define OVERTAKE_LOG_DEBUG 4

/**
 * Success. Positive numbers are CUresult, as the driver returned them; negative ones are overtake's own.
 */
#define OVERTAKE_OK 0

/**
 * An argument is outside the documented range; overtake_last_error names it.
 */
#define OVERTAKE_ERROR_INVALID_ARGUMENT (-1)

/**
 * The buffer is too small. The size that it needs was written.
 */
#define OVERTAKE_ERROR_BUFFER_TOO_SMALL (-2)

/**
 * A bug in overtake. The call did not do its work, and the program can go on.
 */
#define OVERTAKE_ERROR_PANIC (-3)

/**
 * The layer has not been opened in this process.
 */
#define OVERTAKE_ERROR_NOT_STARTED (-4)

/**
 * The option enabled = off switches overtake off, or this is a forked child, or the process is exiting. With
 * OVERTAKE=off in the environment no call fails.
 */
#define OVERTAKE_ERROR_OFF (-5)

/**
 * The text of options or rules has a fault; overtake_last_error names its place.
 */
#define OVERTAKE_ERROR_SYNTAX (-6)

/**
 * There is no CUDA driver: no libcuda.so.1 can be loaded.
 */
#define OVERTAKE_ERROR_NO_DRIVER (-7)

/**
 * There was no overtake_push_priority on this thread before this overtake_pop_priority.
 */
#define OVERTAKE_ERROR_NO_SCOPE (-8)

/**
 * The handle is null, was closed or freed, or names a thing of another kind.
 */
#define OVERTAKE_ERROR_INVALID_HANDLE (-9)

/**
 * The call is not possible for this task, and has changed nothing; overtake_last_error names the tasks.
 */
#define OVERTAKE_ERROR_REFUSED (-10)

/**
 * The dispatcher is full: wait until tasks have ended, and call again.
 */
#define OVERTAKE_ERROR_WOULD_BLOCK (-11)

/**
 * The dispatcher has been closed.
 */
#define OVERTAKE_ERROR_CLOSED (-12)

/**
 * The task failed; overtake_last_error has its name and the reason.
 */
#define OVERTAKE_ERROR_TASK_FAILED (-13)

/**
 * The task was not run, because a task before it failed; overtake_last_error names both.
 */
#define OVERTAKE_ERROR_TASK_NOT_RUN (-14)

/**
 * No thread and no device will ever complete the task: a model of the device has proven it.
 */
#define OVERTAKE_ERROR_STUCK (-15)

/**
 * The time of the call is over; overtake_last_error tells what it waited for. Its task has not been submitted.
 */
#define OVERTAKE_ERROR_TIMEOUT (-16)

/**
 * The other end of the pipeline has left: there are no further frames.
 */
#define OVERTAKE_ERROR_ENDED (-17)

/**
 * A frame failed; overtake_last_error has its number and the reason. The next call is about the next frame.
 */
#define OVERTAKE_ERROR_FRAME_FAILED (-18)

/**
 * From host to device; the numbers are those of `enum cudaMemcpyKind`.
 */
#define OVERTAKE_COPY_HOST_TO_DEVICE 1

/**
 * From device to host.
 */
#define OVERTAKE_COPY_DEVICE_TO_HOST 2

/**
 * From device to device.
 */
#define OVERTAKE_COPY_DEVICE_TO_DEVICE 3

/**
 * CUDA finds the direction from the two addresses.
 */
#define OVERTAKE_COPY_DEFAULT 4

/**
 * For timeout_ns: the call waits as long as it takes.
 */
#define OVERTAKE_FOR_EVER (-1)

/**
 * The urgent tasks first, and those of one priority in the order of their submission.
 */
#define OVERTAKE_ORDER_DEFAULT 0

/**
 * The order of PhysX's task manager, in which priorities are not seen.
 */
#define OVERTAKE_ORDER_PHYSX 1

/**
 * A task that copies from the host to the device.
 */
#define OVERTAKE_TASK_UPLOAD 1

/**
 * A task that runs kernels.
 */
#define OVERTAKE_TASK_KERNEL 2

/**
 * A task that copies from the device to the host.
 */
#define OVERTAKE_TASK_DOWNLOAD 3

/**
 * A function of the host, for a worker thread. It starts when the work of the device before it is complete.
 */
#define OVERTAKE_TASK_HOST 4

/**
 * A short function of the host, for the thread that finds it ready. It must not wait.
 */
#define OVERTAKE_TASK_LIGHT 5

/**
 * A task without work, which joins others.
 */
#define OVERTAKE_TASK_JOIN 6

/**
 * The device that has most of a computation's bytes.
 */
#define OVERTAKE_SELECTION_MIN_TRANSFER_SIZE 0

/**
 * The first device.
 */
#define OVERTAKE_SELECTION_SINGLE 1

/**
 * Each device in turn.
 */
#define OVERTAKE_SELECTION_ROUND_ROBIN 2

/**
 * The device with the fewest computations.
 */
#define OVERTAKE_SELECTION_STREAM_AWARE 3

/**
 * The device that gets the bytes soonest, each from the nearest memory. It needs bandwidths.
 */
#define OVERTAKE_SELECTION_MIN_MIN_TRANSFER_TIME 4

/**
 * The device that gets the bytes soonest, each from the farthest memory. It needs bandwidths.
 */
#define OVERTAKE_SELECTION_MIN_MAX_TRANSFER_TIME 5

/**
 * The computation reads the elements.
 */
#define OVERTAKE_USE_READ 1

/**
 * It writes elements, and leaves others as they are: those that have been written are copied there.
 */
#define OVERTAKE_USE_WRITE 2

/**
 * It reads and writes the elements.
 */
#define OVERTAKE_USE_READ_WRITE 3

/**
 * It writes every element, and reads none: nothing is copied.
 */
#define OVERTAKE_USE_DISCARD 4

/**
 * A kernel changes elements as others do at the same time, by atomic operations.
 */
#define OVERTAKE_USE_RELAXED 5

/**
 * It adds to each element, as others do at the same time. It gets memory of its own, which starts from 0 or has
 * results of earlier ones, and is combined with the array before the next use that is no such reduction. The argument
 * has an element_type.
 */
#define OVERTAKE_USE_SUM 6

/**
 * The same with the least value of both.
 */
#define OVERTAKE_USE_MIN 7

/**
 * The same with the greatest value of both.
 */
#define OVERTAKE_USE_MAX 8

/**
 * Elements of a reduction.
 */
#define OVERTAKE_TYPE_INT8 1

/**
 * Elements of a reduction.
 */
#define OVERTAKE_TYPE_INT16 2

/**
 * Elements of a reduction.
 */
#define OVERTAKE_TYPE_INT32 3

/**
 * Elements of a reduction.
 */
#define OVERTAKE_TYPE_INT64 4

/**
 * Elements of a reduction.
 */
#define OVERTAKE_TYPE_UINT8 5

/**
 * Elements of a reduction.
 */
#define OVERTAKE_TYPE_UINT16 6

/**
 * Elements of a reduction.
 */
#define OVERTAKE_TYPE_UINT32 7

/**
 * Elements of a reduction.
 */
#define OVERTAKE_TYPE_UINT64 8

/**
 * Elements of a reduction.
 */
#define OVERTAKE_TYPE_FLOAT32 9

/**
 * Elements of a reduction.
 */
#define OVERTAKE_TYPE_FLOAT64 10

/**
 * The producer waits while the consumer is behind: every frame is kept.
 */
#define OVERTAKE_BEHIND_BLOCK 0

/**
 * The new frame is dropped.
 */
#define OVERTAKE_BEHIND_DROP_NEWEST 1

/**
 * The oldest frame that the consumer has not begun is dropped.
 */
#define OVERTAKE_BEHIND_DROP_OLDEST 2

/**
 * All frames that the consumer has not begun are dropped, but for the newest.
 */
#define OVERTAKE_BEHIND_LATEST_ONLY 3

/**
 * The consumer has released the frame, and its work is done.
 */
#define OVERTAKE_FRAME_DELIVERED 1

/**
 * It was dropped: all stages were in use when it came.
 */
#define OVERTAKE_FRAME_FULL 2

/**
 * It was dropped: a newer one has taken its place.
 */
#define OVERTAKE_FRAME_REPLACED 3

/**
 * It was dropped: it could not be on time any more when the consumer came to it.
 */
#define OVERTAKE_FRAME_OVERDUE 4

/**
 * The producer gave it up.
 */
#define OVERTAKE_FRAME_GIVEN_UP 5

/**
 * Its producer, its consumer or one of its tasks has failed.
 */
#define OVERTAKE_FRAME_FAILED 6

/**
 * A function of the program's for messages. It gets the data that it was set with, one of OVERTAKE_LOG_..., and one
 * line of text that is valid during the call.
 */
typedef void (*overtake_log_callback)(void *data, int level, const char *text);

/**
 * The counts of this process, over all devices. Set struct_size before the call. Fields that the library does not know
 * become 0, and struct_size becomes the number of bytes that it knows.
 */
struct overtake_statistics {
    /**
     * sizeof(struct overtake_statistics).
     */
    uint32_t struct_size;
    /**
     * 1 after the layer stood down to plain copies, because the watchdog had to let waiting copies go too often.
     */
    uint32_t stood_down;
    /**
     * Copies that bulk copies yielded to.
     */
    uint64_t urgent_copies;
    /**
     * Their bytes.
     */
    uint64_t urgent_bytes;
    /**
     * Bulk copies by copy kernel, which yields to urgent copies.
     */
    uint64_t kernel_copies;
    /**
     * Their bytes.
     */
    uint64_t kernel_bytes;
    /**
     * Copies by copy engine in chunks: bulk, and staged pageable ones.
     */
    uint64_t engine_copies;
    /**
     * Their bytes.
     */
    uint64_t engine_bytes;
    /**
     * Copies that went to the driver unchanged.
     */
    uint64_t passed_on_copies;
    /**
     * Their bytes.
     */
    uint64_t passed_on_bytes;
    /**
     * Chunks.
     */
    uint64_t chunks;
    /**
     * Times when the watchdog let waiting copies go.
     */
    uint64_t rescues;
    /**
     * Driver calls of the layer that failed. The copy went another way.
     */
    uint64_t errors;
};

/**
 * The parameters of a dispatcher. Set struct_size before the call; 0 in another field is its default.
 */
struct overtake_dispatcher_options {
    /**
     * sizeof(struct overtake_dispatcher_options).
     */
    uint32_t struct_size;
    /**
     * Groups of neighbouring priorities; each has lanes of its own. 0: 2.
     */
    uint32_t groups;
    /**
     * The lanes of a group: streams, made at once. 0: 8.
     */
    uint32_t lanes;
    /**
     * Threads that run functions of the host. None is kept for urgent ones: have more than there are long functions at
     * once. 0: 2.
     */
    uint32_t workers;
    /**
     * The most tasks that have not ended; a full dispatcher returns OVERTAKE_ERROR_WOULD_BLOCK. 0: 65536.
     */
    uint32_t tasks_max;
    /**
     * The order of ready tasks: OVERTAKE_ORDER_DEFAULT or OVERTAKE_ORDER_PHYSX.
     */
    int order;
};

/**
 * The counts of a dispatcher. Set struct_size before the call.
 */
struct overtake_dispatcher_statistics {
    /**
     * sizeof(struct overtake_dispatcher_statistics).
     */
    uint32_t struct_size;
    /**
     * 1 if the device has failed: no task of the device runs any more.
     */
    uint32_t is_device_lost;
    /**
     * Calls of functions that launch work.
     */
    uint64_t launches;
    /**
     * Functions of the host that have been run, light ones included.
     */
    uint64_t functions;
    /**
     * Events that a lane waited for before a launch.
     */
    uint64_t joins;
    /**
     * Events recorded in lanes: for joins, and for threads that wait.
     */
    uint64_t marks;
    /**
     * Tasks that have not ended.
     */
    uint64_t tasks;
    /**
     * Submitted copies that were raised because a more urgent task came to wait for them.
     */
    uint64_t lifts;
    /**
     * Captures that a task's function had begun in its lane and not ended. They were ended, and the task failed.
     */
    uint64_t captures_ended;
    /**
     * Waits of lanes for others that were left out, because an earlier one stands for them.
     */
    uint64_t joins_saved;
    /**
     * Replays of fixed templates that were one launch of a graph (overtake_template_fix).
     */
    uint64_t graph_launches;
    /**
     * Replays of fixed templates whose functions were called, as they can be no graph.
     */
    uint64_t graph_fallbacks;
};

/**
 * Submits the work of a task to its lane. It gets the lane, and the data that the task was submitted with. It returns
 * 0, or any other number if the task has failed: overtake_set_last_error can say why. It must not wait, and no C++
 * exception may leave it.
 */
typedef int (*overtake_launch_callback)(struct overtake_lane *lane, void *data);

/**
 * A function of the host. It gets the data that the task was submitted with, and returns as a launch callback.
 */
typedef int (*overtake_run_callback)(void *data);

/**
 * Frees the data of a task.
 */
typedef void (*overtake_free_callback)(void *data);

/**
 * A task that is being described. Set struct_size and kind; 0 in another field is its default.
 */
struct overtake_task_spec {
    /**
     * sizeof(struct overtake_task_spec).
     */
    uint32_t struct_size;
    /**
     * One of OVERTAKE_TASK_...
     */
    int kind;
    /**
     * The name of the task in errors, or null.
     */
    const char *name;
    /**
     * From OVERTAKE_PRIORITY_LOWEST to overtake_priorities(); 0 is the lowest. The tasks before it inherit it.
     */
    int priority;
    /**
     * References that overtake_task_release takes away: until then the task does not start. At most 1048576.
     */
    uint32_t references;
    /**
     * Whether it is the task to which others refer by its name (overtake_tasks_named).
     */
    uint32_t is_named;
    /**
     * How often the function of an upload, a kernel or a download is called again after it has failed: the caller
     * promises that it may be, although a part of its work has been submitted. 0 for other tasks.
     */
    uint32_t retries;
    /**
     * The function of an upload, a kernel or a download.
     */
    overtake_launch_callback launch;
    /**
     * The function of a host or a light task.
     */
    overtake_run_callback run;
    /**
     * The data of the function.
     */
    void *data;
    /**
     * Frees the data, or null. It is called once, on any thread, also if overtake_submit fails: for a host or light
     * task when the function has returned, for others a moment after the task has ended, and at the latest when the
     * dispatcher is closed.
     */
    overtake_free_callback free_data;
    /**
     * Tasks that it comes after, or null: after_count handles.
     */
    struct overtake_task *const *after;
    /**
     * Their number: 0 with null, and not otherwise.
     */
    size_t after_count;
    /**
     * Tasks whose launch it comes after, or null: after_launch_count handles. It starts when all work of those has
     * been submitted, or their functions have run. A task of the device still comes after them on the device; a
     * function of the host runs without their results, and its task ends with theirs.
     */
    struct overtake_task *const *after_launch;
    /**
     * Their number: 0 with null, and not otherwise.
     */
    size_t after_launch_count;
    /**
     * How long overtake_submit waits for room in a full dispatcher: 0 (not at all), nanoseconds, or
     * OVERTAKE_FOR_EVER. It fails with OVERTAKE_ERROR_WOULD_BLOCK then; in the function of a task, which others may
     * wait for, with OVERTAKE_ERROR_REFUSED at once. A named task has its place already: 0.
     */
    int64_t room_timeout_ns;
};

/**
 * Submits the work of a step to its lane, as overtake_launch_callback. It gets the arguments of the replay and the
 * data of the step; several replays may call it at the same time.
 */
typedef int (*overtake_launch_step_callback)(struct overtake_lane *lane, void *arguments, void *data);

/**
 * A function of the host, as overtake_run_callback, with the arguments of the replay and the data of the step.
 */
typedef int (*overtake_run_step_callback)(void *arguments, void *data);

/**
 * A task of a template. Set struct_size, kind and one of launch and run; 0 in another field is its default.
 */
struct overtake_step_spec {
    /**
     * sizeof(struct overtake_step_spec).
     */
    uint32_t struct_size;
    /**
     * One of OVERTAKE_TASK_..., but OVERTAKE_TASK_JOIN.
     */
    int kind;
    /**
     * The name of the task in errors, or null.
     */
    const char *name;
    /**
     * Its least priority in each replay; 0 is the lowest. The steps before it inherit it.
     */
    int priority;
    /**
     * 0.
     */
    uint32_t reserved;
    /**
     * The function of an upload, a kernel or a download.
     */
    overtake_launch_step_callback launch;
    /**
     * The function of a host or a light task.
     */
    overtake_run_step_callback run;
    /**
     * The data of the function, for all replays.
     */
    void *data;
    /**
     * Frees the data, or null. It is called once, on any thread, also if the call fails: when the template has been
     * freed, and the last replay has ended.
     */
    overtake_free_callback free_data;
    /**
     * Steps of the template that it comes after, or null: after_count numbers.
     */
    const size_t *after;
    /**
     * Their number: 0 with null, and not otherwise.
     */
    size_t after_count;
};

/**
 * A replay that is being described. Set struct_size; 0 in another field is its default.
 */
struct overtake_replay_spec {
    /**
     * sizeof(struct overtake_replay_spec).
     */
    uint32_t struct_size;
    /**
     * The least priority of all its tasks; 0 is the lowest.
     */
    int priority;
    /**
     * The device that does its work, by its number among those of the dispatcher.
     */
    uint32_t device;
    /**
     * 0.
     */
    uint32_t reserved;
    /**
     * The arguments of its functions, which they may use at the same time on several threads.
     */
    void *arguments;
    /**
     * Frees the arguments, or null. It is called once, on any thread, also if the call fails: when all its tasks have
     * ended, and at the latest when the dispatcher is closed.
     */
    overtake_free_callback free_arguments;
    /**
     * Tasks that it comes after, or null: after_count handles. That of a replay stands for all its tasks.
     */
    struct overtake_task *const *after;
    /**
     * Their number: 0 with null, and not otherwise.
     */
    size_t after_count;
    /**
     * How long overtake_template_replay waits for room in a full dispatcher, as in struct overtake_task_spec. A
     * template of more tasks than the dispatcher has room for is refused at once.
     */
    int64_t room_timeout_ns;
};

/**
 * The parameters of a set of arrays. Set struct_size before the call; 0 in another field is its default.
 */
struct overtake_arrays_options {
    /**
     * sizeof(struct overtake_arrays_options).
     */
    uint32_t struct_size;
    /**
     * How the device of a computation is chosen where none is named: OVERTAKE_SELECTION_...
     */
    int selection;
    /**
     * The most memory of each device. Arrays that have not been used for long leave a full one. 0: no bound.
     */
    uint64_t device_bytes_max;
    /**
     * The most pinned memory of the host. 0: no bound.
     */
    uint64_t host_bytes_max;
    /**
     * The text that overtake bench bandwidth --pairs --csv prints, or null.
     */
    const char *bandwidths;
    /**
     * 1 to measure the times of computations, for overtake_arrays_read_times.
     */
    uint32_t measures;
    /**
     * 1 for debugging: the submission of a computation returns when it has ended. Its task tells the outcome as ever.
     * Not waited for are those that cannot end without a later call (held, or behind something that is, in a stopped
     * set, in an open group), and those that the function of a task submits.
     */
    uint32_t serial;
};

/**
 * The measured times on one device of the computations by one kernel whose uses have so many bytes. More fields may be
 * added at its end: struct_size is the number of bytes that the library knows.
 */
struct overtake_computation_times {
    /**
     * sizeof(struct overtake_computation_times).
     */
    uint32_t struct_size;
    /**
     * The device, by its number among those of the dispatcher.
     */
    uint32_t device;
    /**
     * The name of the kernel, or of the computation if it is none by a kernel. Valid during the call.
     */
    const char *name;
    /**
     * The bytes of all uses.
     */
    uint64_t bytes;
    /**
     * How many have been measured.
     */
    uint64_t count;
    /**
     * The mean time on the device, transfers left out.
     */
    double mean_us;
    /**
     * The shortest.
     */
    double least_us;
    /**
     * The last one.
     */
    double last_us;
};

/**
 * Gets the times of one kernel, one size and one device, and the data of the call.
 */
typedef void (*overtake_times_callback)(const struct overtake_computation_times *times, void *data);

/**
 * The counts of a set of arrays. Set struct_size before the call.
 */
struct overtake_arrays_statistics {
    /**
     * sizeof(struct overtake_arrays_statistics).
     */
    uint32_t struct_size;
    /**
     * 0.
     */
    uint32_t reserved;
    /**
     * Transfers to a device, each for one use of an array.
     */
    uint64_t uploads;
    /**
     * Their bytes.
     */
    uint64_t upload_bytes;
    /**
     * Transfers to the host.
     */
    uint64_t downloads;
    /**
     * Their bytes.
     */
    uint64_t download_bytes;
    /**
     * Transfers between two devices.
     */
    uint64_t between_devices;
    /**
     * Their bytes.
     */
    uint64_t between_device_bytes;
    /**
     * Uses that waited for the transfer of another use, instead of one of their own.
     */
    uint64_t shared;
    /**
     * Arrays that left a device to make room.
     */
    uint64_t evictions;
};

/**
 * Memory that the program owns, for an array. Set struct_size, memory, count and element_bytes.
 */
struct overtake_adopt_spec {
    /**
     * sizeof(struct overtake_adopt_spec).
     */
    uint32_t struct_size;
    /**
     * 1 for memory of a device, 0 for pinned memory of the host.
     */
    uint32_t is_on_device;
    /**
     * The number of the device among those of the dispatcher.
     */
    uint32_t device;
    /**
     * 0.
     */
    uint32_t reserved;
    /**
     * The first element.
     */
    void *memory;
    /**
     * The number of elements.
     */
    size_t count;
    /**
     * The bytes of an element.
     */
    size_t element_bytes;
    /**
     * A stream with work on the memory, for which the call waits; or null. The default stream is CU_STREAM_LEGACY.
     */
    struct CUstream_st *stream;
    /**
     * The argument of free_data.
     */
    void *data;
    /**
     * Told when no computation uses the memory any more, or null. It is called once, on any thread, also if the call
     * fails.
     */
    overtake_free_callback free_data;
};

/**
 * An access that is being described. Set struct_size; 0 in another field is its default: to read all on the host.
 */
struct overtake_access_spec {
    /**
     * sizeof(struct overtake_access_spec).
     */
    uint32_t struct_size;
    /**
     * One of OVERTAKE_USE_..., but OVERTAKE_USE_RELAXED; 0 is OVERTAKE_USE_READ.
     */
    int mode;
    /**
     * The priority of the transfers for it, as in struct overtake_task_spec.
     */
    int priority;
    /**
     * 1 for memory of a device, 0 for that of the host.
     */
    uint32_t is_on_device;
    /**
     * The number of the device among those of the dispatcher.
     */
    uint32_t device;
    /**
     * 0.
     */
    uint32_t reserved;
    /**
     * The first element.
     */
    size_t first;
    /**
     * The number of elements; 0 is all from the first on.
     */
    size_t count;
    /**
     * How long the call waits for room on a full device: nanoseconds, or OVERTAKE_FOR_EVER; 0 is 60 s. It fails with
     * OVERTAKE_ERROR_TIMEOUT then.
     */
    int64_t room_timeout_ns;
};

/**
 * An argument of a computation: a use of an array, or a value of a kernel's.
 */
struct overtake_argument {
    /**
     * The array, or null for a value.
     */
    struct overtake_array *array;
    /**
     * One of OVERTAKE_USE_...; 0 for a value.
     */
    int mode;
    /**
     * One of OVERTAKE_TYPE_... for a reduction; else 0.
     */
    uint32_t element_type;
    /**
     * The first element that is used.
     */
    size_t first;
    /**
     * The number of elements; 0 is all from the first on.
     */
    size_t count;
    /**
     * The value of a kernel's parameter, which is read by the call; null for a use.
     */
    const void *value;
    /**
     * Its bytes; 0 for a use.
     */
    size_t value_bytes;
};

/**
 * Submits work of the device that uses arrays to the lane: `addresses` has the address of the first element of each
 * use. For the rest it is as overtake_launch_callback.
 */
typedef int (*overtake_launch_uses_callback)(struct overtake_lane *lane, void *const *addresses, void *data);

/**
 * A function of the host that uses arrays: `addresses` has the address of the first element of each use.
 */
typedef int (*overtake_run_uses_callback)(void *const *addresses, void *data);

/**
 * A computation that is being described. Set struct_size, the arguments, and one of kernel, launch and run; 0 in
 * another field is its default.
 */
struct overtake_computation_spec {
    /**
     * sizeof(struct overtake_computation_spec).
     */
    uint32_t struct_size;
    /**
     * As in struct overtake_task_spec. Transfers for the computation have it too.
     */
    int priority;
    /**
     * The name of the computation in errors, or null.
     */
    const char *name;
    /**
     * References that overtake_task_release takes away: until then the computation does not start. At most 1048576.
     */
    uint32_t references;
    /**
     * How often a computation of the device runs again where it fails. It reads and discards arrays only.
     */
    uint32_t retries;
    /**
     * 1 if `device` is the number of the device that it runs on; else one is chosen.
     */
    uint32_t is_on_device;
    /**
     * That number, among the devices of the dispatcher.
     */
    uint32_t device;
    /**
     * The arguments of the kernel in its order; for a function the arrays that it uses.
     */
    const struct overtake_argument *arguments;
    /**
     * Their number: 0 with null, and not otherwise.
     */
    size_t arguments_count;
    /**
     * The kernel, or null.
     */
    struct overtake_kernel *kernel;
    /**
     * The blocks of the kernel's grid; 0 is 1.
     */
    uint32_t grid[3];
    /**
     * The threads of a block; 0 is 1.
     */
    uint32_t block[3];
    /**
     * The dynamic shared memory of a block, in bytes.
     */
    uint32_t shared_bytes;
    /**
     * 0.
     */
    uint32_t reserved;
    /**
     * A function that submits work to the lane, or null.
     */
    overtake_launch_uses_callback launch;
    /**
     * A function of the host, or null.
     */
    overtake_run_uses_callback run;
    /**
     * The data of the function.
     */
    void *data;
    /**
     * As in struct overtake_task_spec.
     */
    overtake_free_callback free_data;
    /**
     * Tasks that it comes after beside those whose results it uses, or null: after_count handles.
     */
    struct overtake_task *const *after;
    /**
     * Their number: 0 with null, and not otherwise.
     */
    size_t after_count;
    /**
     * As in struct overtake_task_spec. It is also how long overtake_compute waits for room on a full device, where 0
     * is 60 s; it fails with OVERTAKE_ERROR_TIMEOUT then.
     */
    int64_t room_timeout_ns;
};

/**
 * The parameters of a pipeline. Set struct_size and bytes before the call; 0 in another field is its default.
 */
struct overtake_pipeline_options {
    /**
     * sizeof(struct overtake_pipeline_options).
     */
    uint32_t struct_size;
    /**
     * How many frames it holds: 1 to 254. 0: 3. There is one buffer more.
     */
    uint32_t stages;
    /**
     * Its name in errors, or null.
     */
    const char *name;
    /**
     * The bytes of a frame: so many of pinned memory of the host, and so many of the device.
     */
    uint64_t bytes;
    /**
     * The priority of its copies and tasks, from OVERTAKE_PRIORITY_LOWEST to overtake_priorities(); 0 is the lowest.
     */
    int priority;
    /**
     * The fate of frames when the consumer is behind: OVERTAKE_BEHIND_...
     */
    int behind;
    /**
     * A frame comes in every period: its rate. Bulk then gives way to its copies from the opening on. 0: none.
     */
    uint64_t period_ns;
    /**
     * A frame is on time if it is delivered so long after its capture. 0: after the period, if there is one.
     */
    uint64_t deadline_ns;
    /**
     * With a period: a copy of a frame may wait so long for bulk, which keeps more of its speed.
     */
    uint64_t tolerance_ns;
    /**
     * The time that the consumer needs for a frame. One that has less left is dropped before its work begins, unless
     * the pipeline blocks.
     */
    uint64_t work_span_ns;
    /**
     * A frame with no more time left than this has the next priority. 0: never.
     */
    uint64_t raise_within_ns;
    /**
     * The records of so many frames are kept until they are taken. 0: 1024.
     */
    uint64_t records_max;
    /**
     * The places that its frames share with those of other pipelines, from overtake_admission_open(). Null: each frame
     * begins when its consumer comes to it.
     */
    const struct overtake_admission *admission;
};

/**
 * The counts of a pipeline. Set struct_size before the call.
 */
struct overtake_pipeline_statistics {
    /**
     * sizeof(struct overtake_pipeline_statistics).
     */
    uint32_t struct_size;
    /**
     * 0.
     */
    uint32_t reserved;
    /**
     * Frames that have begun.
     */
    uint64_t frames;
    /**
     * Those that were delivered.
     */
    uint64_t delivered;
    /**
     * Delivered ones that came after their deadline.
     */
    uint64_t late;
    /**
     * Dropped because all stages were in use.
     */
    uint64_t full;
    /**
     * Dropped for a newer one.
     */
    uint64_t replaced;
    /**
     * Dropped because they could not be on time any more.
     */
    uint64_t overdue;
    /**
     * Given up by the producer.
     */
    uint64_t given_up;
    /**
     * Failed.
     */
    uint64_t failed;
    /**
     * Those that have not ended.
     */
    uint64_t under_way;
    /**
     * Records that were not kept, because more than records_max were not taken.
     */
    uint64_t records_lost;
};

/**
 * The record of a frame that has ended. Times are the host's, and 0 if it did not come so far. Set struct_size before
 * the call.
 */
struct overtake_frame_record {
    /**
     * sizeof(struct overtake_frame_record).
     */
    uint32_t struct_size;
    /**
     * One of OVERTAKE_FRAME_..., or 0 if there is no further record.
     */
    int end;
    /**
     * Its number.
     */
    uint64_t number;
    /**
     * The producer began to fill its stage, or overtake_pipeline_captured said when.
     */
    uint64_t captured_ns;
    /**
     * The producer committed it.
     */
    uint64_t committed_ns;
    /**
     * The consumer came to it.
     */
    uint64_t taken_ns;
    /**
     * It ended.
     */
    uint64_t ended_ns;
};

/**
 * A frame that an end has in hand. Set struct_size before the call.
 */
struct overtake_frame {
    /**
     * sizeof(struct overtake_frame).
     */
    uint32_t struct_size;
    /**
     * 1 if the pipeline has dropped it, which is counted: then there is none in hand, and the other fields are 0.
     */
    uint32_t is_dropped;
    /**
     * The frames of a pipeline count from 0.
     */
    uint64_t number;
    /**
     * Its pinned memory of the host.
     */
    void *host;
    /**
     * Its memory of the device.
     */
    void *device;
    /**
     * The bytes of each.
     */
    uint64_t bytes;
    /**
     * The priority of its copies and tasks now.
     */
    int priority;
    /**
     * 0.
     */
    uint32_t reserved;
};

/**
 * The function of a task, of a computation or of a step, in a language in which an exception can end a function at any
 * point (Ctrl-C in Python). It writes its answer at its end: 0, or an error. A function that ends without it has
 * failed. `lane` is null for functions of the host, `addresses` for those that use no arrays, and `arguments` for
 * those that are no steps. `data` is the data of the function, and points at its struct overtake_answering.
 */
typedef void (*overtake_answering_callback)(struct overtake_lane *lane,
                                            void *const *addresses,
                                            void *arguments,
                                            void *data,
                                            int *answer);

/**
 * The interpreter of a function, by its own functions. Each may be called on any thread. It lives until the last
 * function has been freed.
 */
struct overtake_interpreter {
    /**
     * The calling thread's state, null if it has none: PyGILState_GetThisThreadState.
     */
    void *(*state)(void);
    /**
     * Makes one, and waits for the interpreter's lock: PyGILState_Ensure. The library does not call it while the
     * interpreter forks (overtake_before_fork).
     */
    int (*enter)(void);
    /**
     * Gives both back: PyGILState_Release.
     */
    void (*leave)(int entered);
};

/**
 * The data of a function that is one of overtake_answer_..., which call `call` and return its answer, or `free`.
 */
struct overtake_answering {
    /**
     * The function of the program's.
     */
    overtake_answering_callback call;
    /**
     * Null, or a counter of the calls that have ended without an answer. Several threads add to it.
     */
    uint32_t *unanswered;
    /**
     * Frees the data, for overtake_answer_free.
     */
    overtake_free_callback free;
    /**
     * Null, or the interpreter that both are functions of.
     */
    const struct overtake_interpreter *interpreter;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the loaded library: major * 10000 + minor * 100 + patch. It may differ from the header's.
 *
 * Threads: any, at any time.
 */
int overtake_version(void);

/**
 * The version as text, such as "0.1.0". Never null; valid for ever.
 *
 * Threads: any, at any time.
 */
const char *overtake_version_text(void);

/**
 * The name of an error number, such as "OVERTAKE_ERROR_PANIC" or "CUDA_ERROR_OUT_OF_MEMORY"; "unknown" for others.
 * Never null; valid for ever.
 *
 * Threads: any, at any time.
 */
const char *overtake_error_name(int error);

/**
 * The meaning of an error number, in a few words. Never null; valid for ever.
 *
 * Threads: any, at any time.
 */
const char *overtake_error_text(int error);

/**
 * The cause of the calling thread's last failed call, and its remedy. Never null; empty if no call has failed; valid
 * until the next failed call of this thread. Calls that succeed leave it as it is.
 *
 * Threads: any; each has its own text.
 */
const char *overtake_last_error(void);

/**
 * Sets the text of overtake_last_error() for the calling thread: the function of a task that fails says why with it.
 *
 * Threads: any; each has its own text.
 *
 * Demands:
 * `text` is a NUL-terminated string.
 */
int overtake_set_last_error(const char *text);

/**
 * Makes the layer ready for the calling thread's current CUDA context, and returns when it is. The call is optional:
 * without it the first copies open the layer, and take longer. `options` is null, or a TOML text of options and rules.
 * Only the first call of a process uses them; under the drop-in the environment's options are in force. A text with a
 * fault is refused as a whole with OVERTAKE_ERROR_SYNTAX, and overtake_last_error() names line and column.
 *
 * Threads: any. A call waits for other threads that open the same context.
 *
 * Demands:
 * `options` is null or a NUL-terminated string.
 */
int overtake_open(const char *options);

/**
 * The way in which the layer came into the process. Under the drop-in, which sees every copy: "preload", "shadow" or
 * "audit", but "idle" until the program has initialised the driver. Without the drop-in: "c"; only the copies of this
 * library have priorities. With OVERTAKE=off: "off"; no call has an effect. Never null; valid for ever.
 *
 * Threads: any, at any time.
 */
const char *overtake_deployment(void);

/**
 * The number of priorities, which count from 1 (bulk) up to it.
 *
 * Threads: any, at any time.
 */
int overtake_priorities(void);

/**
 * Makes the layer ready for the current context, as overtake_open does, and gives the copies of a stream a priority
 * from OVERTAKE_PRIORITY_LOWEST up. The stream stays the program's: it calls overtake_release_stream, and then
 * destroys the stream as usual.
 *
 * Threads: any.
 *
 * Demands:
 * `stream` is a stream of the current context, or one of CUDA's special handles.
 */
int overtake_adopt_stream(struct CUstream_st *stream,
                          int priority);

/**
 * Takes away the priority that overtake_adopt_stream or overtake_set_stream_priority gave. Call it before the stream
 * is destroyed, because CUDA may give the same handle to another stream.
 *
 * Threads: any.
 *
 * Demands:
 * As for overtake_adopt_stream.
 */
int overtake_release_stream(struct CUstream_st *stream);

/**
 * Gives later copies of a stream of the current context a priority; OVERTAKE_PRIORITY_BY_RULES takes it away. If the
 * calling thread has a priority, that goes before the stream's.
 *
 * Threads: any.
 *
 * Demands:
 * As for overtake_adopt_stream.
 */
int overtake_set_stream_priority(struct CUstream_st *stream,
                                 int priority);

/**
 * The priority of a stream's copies: the one that was set, or that of CUDA's own stream priority.
 * OVERTAKE_PRIORITY_BY_RULES where rules and sizes decide.
 *
 * Threads: any.
 *
 * Demands:
 * `stream` as for overtake_adopt_stream; `priority` points at an int.
 */
int overtake_stream_priority(struct CUstream_st *stream, int *priority);

/**
 * Gives every copy of the calling thread a priority, in any stream; OVERTAKE_PRIORITY_BY_RULES takes it away. `before`
 * is null, or receives the thread's earlier priority.
 *
 * Threads: any; each has its own priority.
 *
 * Demands:
 * `before` is null or points at an int.
 */
int overtake_set_thread_priority(int priority,
                                 int *before);

/**
 * Begins a scope in which every copy of the calling thread has this priority. Scopes nest.
 *
 * Threads: any; each has its own scopes.
 */
int overtake_push_priority(int priority);

/**
 * Ends the innermost scope of the calling thread. The thread has its priority from before that scope again.
 *
 * Threads: the one that began the scope.
 */
int overtake_pop_priority(void);

/**
 * Replaces the rules of the process by those of a TOML text. Copies under way keep their priorities.
 *
 * Threads: any.
 *
 * Demands:
 * `rules` is a NUL-terminated string.
 */
int overtake_set_rules(const char *rules);

/**
 * Sends messages to a function of the program's; with null, to standard error again, as at first. Call it before all
 * other functions to get all messages. The variable OVERTAKE_LOG limits them to a level (off, error, warn, info or
 * debug; warn if not set). Under the drop-in the function gets the messages of the drop-in too.
 *
 * Threads: any, but not with a lock that the earlier function takes: it is no longer called when this call returns.
 * One thread of the library calls the function, for one message at a time, a moment after the event. While 256
 * messages wait, later ones are dropped, and the report counts them.
 *
 * Demands:
 * `callback` is null or takes `data` on another thread, until it is replaced.
 */
int overtake_set_log_callback(overtake_log_callback callback,
                              void *data);

/**
 * The counts of this process so far. Set struct_size to sizeof(struct overtake_statistics) before the call. The
 * structure is written only if the call succeeds; struct_size is then the number of bytes that the library knows.
 *
 * Threads: any. The sums are read one after another while copies go on.
 *
 * Demands:
 * `statistics` points at a structure of the size that its struct_size says.
 */
int overtake_read_statistics(struct overtake_statistics *statistics);

/**
 * The report of this process as JSON, with a NUL at its end. `needed` is null, or receives the size with the NUL. It
 * does so too if `size` is too small or `buffer` is null: the call then returns OVERTAKE_ERROR_BUFFER_TOO_SMALL. The
 * report may grow before the next call, so pass a little more than the needed size.
 *
 * Threads: any.
 *
 * Demands:
 * `buffer` is null or has `size` bytes; `needed` is null or points at a size_t.
 */
int overtake_report_json(char *buffer,
                         size_t size,
                         size_t *needed);

/**
 * `cudaMemcpyAsync` with a priority: the same arguments in the same order, the same order in the stream, the same
 * rules for pageable memory. The priority is 1 (bulk) to overtake_priorities(), or OVERTAKE_PRIORITY_BY_RULES. A copy
 * goes to the driver unchanged if no other copy contends for its engine, if it cannot be prioritised safely, or where
 * overtake is off or cannot work.
 *
 * Threads: any. As with CUDA, copies of two threads into one stream are in no order unless the program orders them.
 *
 * Demands:
 * As for `cudaMemcpyAsync`: the ranges stay valid until the stream has passed the copy.
 */
int overtake_memcpy_async(void *target,
                          const void *source,
                          size_t bytes,
                          int kind,
                          struct CUstream_st *stream,
                          int priority);

/**
 * `cudaMemcpy2DAsync` with a priority: a rectangle of `height` rows of `width` bytes; pitches are the distances of
 * rows in bytes.
 *
 * Threads: as for overtake_memcpy_async.
 *
 * Demands:
 * As for `cudaMemcpy2DAsync`.
 */
int overtake_memcpy_2d_async(void *target,
                             size_t target_pitch,
                             const void *source,
                             size_t source_pitch,
                             size_t width,
                             size_t height,
                             int kind,
                             struct CUstream_st *stream,
                             int priority);

/**
 * Several copies in one stream without an order among them, each as with OVERTAKE_COPY_DEFAULT: `targets[i]` receives
 * `sizes[i]` bytes from `sources[i]`. The three arrays are read before the call returns. If the call fails, some of
 * the copies may have been made.
 *
 * Threads: as for overtake_memcpy_async.
 *
 * Demands:
 * The arrays have `count` elements, and each copy is as for overtake_memcpy_async.
 */
int overtake_memcpy_batch_async(void *const *targets,
                                const void *const *sources,
                                const size_t *sizes,
                                size_t count,
                                struct CUstream_st *stream,
                                int priority);

/**
 * Opens a queue of copies and sets for `stream`, in the calling thread's current context. Each copy has `priority`: 1
 * (bulk) to overtake_priorities(). A launch has room for `reserve` copies of 4 KiB, at most 1048576; one that is full
 * goes at once. The first queue of a context loads a kernel, and may wait for all work in the context.
 *
 * Copies of up to 64 KiB between the device and pinned memory share one launch for each direction; others go as with
 * overtake_memcpy_async. Under the drop-in all go as with overtake_memcpy_batch_async.
 *
 * Threads: any.
 *
 * Demands:
 * `queue` points at a handle; the stream lives longer than the queue.
 */
int overtake_copy_queue_open(struct CUstream_st *stream,
                             int priority,
                             size_t reserve,
                             struct overtake_copy_queue **queue);

/**
 * From now on the queue refuses addresses and sizes that are no multiples of 4, as PhysX does (`physx-order`), with
 * CUDA's number for an invalid value. Work that has been queued stays.
 *
 * Threads: as for overtake_copy_queue_copy.
 */
int overtake_copy_queue_literal(struct overtake_copy_queue *queue);

/**
 * Queues a copy. `kind` is one of OVERTAKE_COPY_... The copies and sets of one flush have no order among them; they
 * come after all earlier work of the stream, and all later work comes after them.
 *
 * Threads: any, one at a time: a call beside another one with the same queue is OVERTAKE_ERROR_REFUSED. The context in
 * which the queue was opened is current.
 *
 * Demands:
 * As for overtake_memcpy_async. The ranges stay valid, and unchanged or untouched, from this call until the stream has
 * passed the flush.
 */
int overtake_copy_queue_copy(struct overtake_copy_queue *queue,
                             void *target,
                             const void *source,
                             size_t bytes,
                             int kind);

/**
 * Queues a set: `bytes` of the device's memory from `target` on become the 4 bytes of `value`, repeated.
 *
 * Threads: as for overtake_copy_queue_copy.
 *
 * Demands:
 * As for `cuMemsetD32Async`; the range stays valid and untouched until the stream has passed the flush.
 */
int overtake_copy_queue_set(struct overtake_copy_queue *queue, void *target, uint32_t value, size_t bytes);

/**
 * Launches the copies and sets that were queued since the last flush. A failure is that of the first that could not be
 * launched; the others are on their way.
 *
 * Threads: as for overtake_copy_queue_copy.
 */
int overtake_copy_queue_flush(struct overtake_copy_queue *queue);

/**
 * Flushes a queue and frees it: before its stream or its context is destroyed, and before overtake_close. It is freed
 * also if the flush fails.
 *
 * Threads: as for overtake_copy_queue_copy.
 */
int overtake_copy_queue_close(struct overtake_copy_queue *queue);

/**
 * Opens a dispatcher in the calling thread's current context, which takes some milliseconds: 12 streams, their events,
 * and threads. A dispatcher is meant to live as long as the program uses the device. `options` is null, or the
 * parameters. Copies of tasks share the priorities of the copies of overtake_memcpy_async.
 *
 * Threads: any.
 *
 * Demands:
 * `options` is null or points at a structure of the size that its struct_size says; `dispatcher` points at a handle.
 */
int overtake_dispatcher_open(const struct overtake_dispatcher_options *options,
                             struct overtake_dispatcher **dispatcher);

/**
 * The same on several devices: `contexts` are `count` CUcontext, one of each device, in the order in which tasks and
 * arrays number them. The calling thread's current context stays.
 *
 * Threads: any.
 *
 * Demands:
 * As for overtake_dispatcher_open, and `contexts` has so many contexts, which live until the dispatcher is closed.
 */
int overtake_dispatcher_open_on(void *const *contexts,
                                size_t count,
                                const struct overtake_dispatcher_options *options,
                                struct overtake_dispatcher **dispatcher);

/**
 * The counts of a dispatcher. The structure is written only if the call succeeds; struct_size is then the number of
 * bytes that the library knows.
 *
 * Threads: any.
 *
 * Demands:
 * `statistics` points at a structure of the size that its struct_size says.
 */
int overtake_dispatcher_read_statistics(struct overtake_dispatcher *dispatcher,
                                        struct overtake_dispatcher_statistics *statistics);

/**
 * Makes a set of tasks. A dispatcher may have several, which a program waits for one by one. `name` is null, or the
 * name of the set, in which the names of named tasks are its own.
 *
 * Threads: any.
 *
 * Demands:
 * `name` is null or a NUL-terminated string; `tasks` points at a handle.
 */
int overtake_tasks_open(struct overtake_dispatcher *dispatcher,
                        const char *name,
                        struct overtake_tasks **tasks);

/**
 * Frees the handle of a set and ends its groups. Its tasks go on.
 *
 * Threads: any.
 */
int overtake_tasks_free(struct overtake_tasks *tasks);

/**
 * Waits until all tasks of the set have ended, and fails as the first of them that has failed, if any has.
 *
 * Threads: any, but not in the function of a task.
 */
int overtake_tasks_wait(struct overtake_tasks *tasks);

/**
 * The same for timeout_ns of the host's time at most (0: not at all; OVERTAKE_FOR_EVER). Fails as
 * overtake_tasks_wait; else `is_done` becomes 1 if all tasks have ended, and 0 if the time has passed before.
 *
 * Threads: any; in the function of a task with timeout_ns 0 only.
 *
 * Demands:
 * `is_done` points at an int.
 */
int overtake_tasks_wait_for(struct overtake_tasks *tasks, int64_t timeout_ns, int *is_done);

/**
 * From now on tasks that are submitted to the set wait until it is started.
 *
 * Threads: any.
 */
int overtake_tasks_stop(struct overtake_tasks *tasks);

/**
 * Starts the tasks that have been submitted since the set was stopped.
 *
 * Threads: any.
 */
int overtake_tasks_start(struct overtake_tasks *tasks);

/**
 * The task to which others refer by this name, before it is submitted with is_named. It has a reference until then; if
 * that is released instead (overtake_task_release), the tasks after it run without it.
 *
 * Threads: any.
 *
 * Demands:
 * `name` is a NUL-terminated string; `task` points at a handle.
 */
int overtake_tasks_named(struct overtake_tasks *tasks,
                         const char *name,
                         struct overtake_task **task);

/**
 * Begins a group: its tasks of the device start when overtake_group_end is called, and not before. While a group is
 * open, no task of the device starts in any set of the dispatcher, so wait for none.
 *
 * Threads: any.
 */
int overtake_group_begin(struct overtake_tasks *tasks);

/**
 * Ends the innermost open group of the set.
 *
 * Threads: any.
 */
int overtake_group_end(struct overtake_tasks *tasks);

/**
 * A task that ends when the innermost open group of the set ends, before the group's tasks start: for tasks that come
 * after it. overtake_task_free frees the handle.
 *
 * Threads: any.
 *
 * Demands:
 * `task` points at a handle.
 */
int overtake_group_before(struct overtake_tasks *tasks,
                          struct overtake_task **task);

/**
 * The same that ends when the ready tasks of the group have been launched.
 *
 * Threads: any.
 *
 * Demands:
 * `task` points at a handle.
 */
int overtake_group_behind(struct overtake_tasks *tasks, struct overtake_task **task);

/**
 * Submits a task, which starts when all tasks before it let it. `task` is null, or receives its handle, which
 * overtake_task_free frees.
 *
 * Threads: any, and functions of tasks.
 *
 * Demands:
 * `spec` points at a structure of the size that its struct_size says, with strings that end with a NUL and arrays of
 * as many handles as it says. Its functions take the data on any thread; memory that they give to the device is valid
 * until the task has ended. `task` is null or points at a handle.
 */
int overtake_submit(struct overtake_tasks *tasks,
                    const struct overtake_task_spec *spec,
                    struct overtake_task **task);

/**
 * Waits until the task has ended: its work is done, and so is all that it comes after. Fails if the task has failed or
 * was not run; overtake_last_error then names the task. Tasks before one that was not run may go on.
 *
 * Threads: any, but not in the function of a task.
 */
int overtake_task_wait(struct overtake_task *task);

/**
 * The same for timeout_ns of the host's time at most (0: not at all; OVERTAKE_FOR_EVER). Fails as
 * overtake_task_wait; else `is_done` becomes 1 if the task has ended, and 0 if the time has passed before.
 *
 * Threads: any; in the function of a task with timeout_ns 0 only.
 *
 * Demands:
 * `is_done` points at an int.
 */
int overtake_task_wait_for(struct overtake_task *task, int64_t timeout_ns, int *is_done);

/**
 * Writes 1 if the task has ended, one way or the other, and 0 if not. overtake_task_wait then returns its outcome at
 * once.
 *
 * Threads: any.
 *
 * Demands:
 * `is_done` points at an int.
 */
int overtake_task_is_done(struct overtake_task *task,
                          int *is_done);

/**
 * Gives the task one more reference, which overtake_task_release takes away: until then it does not start. Fails if it
 * no longer waits.
 *
 * Threads: any.
 */
int overtake_task_hold(struct overtake_task *task);

/**
 * Releases a reference of the task. A task without references starts when all tasks before it let it.
 *
 * Threads: any.
 */
int overtake_task_release(struct overtake_task *task);

/**
 * Gives the task another priority of its own. The tasks before it inherit it. A task that is submitted later, by its
 * name, then has the priority of its description.
 *
 * Threads: any.
 */
int overtake_task_raise(struct overtake_task *task,
                        int to);

/**
 * `other` comes after `task`. Fails if `other` no longer waits: hold a reference of it before.
 *
 * Threads: any.
 */
int overtake_task_before(struct overtake_task *task, struct overtake_task *other);

/**
 * Frees the handle of a task. The task goes on.
 *
 * Threads: any.
 */
int overtake_task_free(struct overtake_task *task);

/**
 * Leaves the task out, if it has not started: it ends as one that was not run (OVERTAKE_ERROR_TASK_NOT_RUN), and so
 * do those that have been submitted to come after it; in the order of PhysX those run. Tasks before it go on. The
 * elements that a computation was to write are lost with it, until a discard. Writes 1 then, and 0 if it goes on: it
 * has started or ended, is a join, or is a replay.
 *
 * Threads: any.
 *
 * Demands:
 * `is_cancelled` points at an int.
 */
int overtake_task_cancel(struct overtake_task *task,
                         int *is_cancelled);

/**
 * Calls `run` once when the task has ended, on the thread that sees it end, or here if it has ended before. It must
 * not wait. A number that it returns is told to the log, and nothing else. `free_data` is null, or frees the data
 * behind that, also if this call fails.
 *
 * Threads: any, and functions of tasks.
 *
 * Demands:
 * `run` and `free_data` take the data on any thread.
 */
int overtake_task_when_done(struct overtake_task *task,
                            overtake_run_callback run,
                            void *data,
                            overtake_free_callback free_data);

/**
 * The CUstream of the lane: for kernel launches and for calls of libraries. Its context is current. Work in other
 * streams is not the task's.
 *
 * Threads: that of the launch callback.
 *
 * Demands:
 * `stream` points at a CUstream.
 */
int overtake_lane_stream(struct overtake_lane *lane,
                         struct CUstream_st **stream);

/**
 * How often the function has been called before for this task: 0 unless it has called overtake_lane_again.
 *
 * Threads: that of the launch callback.
 *
 * Demands:
 * `turn` points at an unsigned number.
 */
int overtake_lane_turn(struct overtake_lane *lane, uint32_t *turn);

/**
 * The device of the lane, by its number among those of the dispatcher.
 *
 * Threads: that of the launch callback.
 *
 * Demands:
 * `device` points at an unsigned number.
 */
int overtake_lane_device(struct overtake_lane *lane, uint32_t *device);

/**
 * The task's priority at its launch: its own, or a higher one that it inherits from tasks that wait for it.
 *
 * Threads: that of the launch callback.
 *
 * Demands:
 * `priority` points at an int.
 */
int overtake_lane_priority(struct overtake_lane *lane, int *priority);

/**
 * Copies in the lane, at the priority of the task. `kind` is one of OVERTAKE_COPY_...
 *
 * Threads: that of the launch callback.
 *
 * Demands:
 * As for overtake_memcpy_async; the ranges stay valid until the task has ended.
 */
int overtake_lane_copy(struct overtake_lane *lane, void *target, const void *source, size_t bytes, int kind);

/**
 * The function is to be called again for this task, after the other tasks that are ready: so a long task gives way.
 *
 * Threads: that of the launch callback.
 */
int overtake_lane_again(struct overtake_lane *lane);

/**
 * All that tasks submit to the device later waits for all that they have submitted by now.
 *
 * Threads: that of the launch callback.
 */
int overtake_lane_sync_point(struct overtake_lane *lane);

/**
 * Another task waits until this one is complete. It must not have been started: hold a reference of it
 * (overtake_task_hold), and release it afterwards.
 *
 * Threads: that of the launch callback.
 */
int overtake_lane_completes(struct overtake_lane *lane, struct overtake_task *task);

/**
 * Makes a template without tasks. It belongs to no dispatcher, and may be replayed in several.
 *
 * Threads: any.
 *
 * Demands:
 * `template` points at a handle.
 */
int overtake_template_new(struct overtake_template **template_);

/**
 * Adds a task to a template that has not been replayed. `step` is null, or receives its number, by which later steps
 * refer to it; the numbers count from 0.
 *
 * Threads: any, one at a time for a template.
 *
 * Demands:
 * `spec` points at a structure of the size that its struct_size says, with a NUL-terminated string and as many numbers
 * as it says. Its functions take data and arguments on any thread. `step` is null or points at a number.
 */
int overtake_template_add(struct overtake_template *template_,
                          const struct overtake_step_spec *spec,
                          size_t *step);

/**
 * Ends the recording of a template whose replays make the same launches each time. A replay of it is one launch of a
 * CUDA graph: its functions are called once for each priority, while the driver captures their streams, and not by
 * later replays. Its steps are kernels of one priority; a template that can be no graph is replayed as without this,
 * and counted (graph_fallbacks).
 *
 * Threads: any, one at a time for a template.
 *
 * Demands:
 * Each replay would submit the same kernels and sets with the same arguments, and the memory that they use is there
 * until the last replay has ended.
 */
int overtake_template_fix(struct overtake_template *template_);

/**
 * Submits all tasks of a template, with these arguments and this priority. The first replay ends the recording. `task`
 * is null, or receives a handle that stands for all tasks of the replay, which overtake_task_free frees.
 *
 * Threads: any, and functions of tasks.
 *
 * Demands:
 * `spec` points at a structure of the size that its struct_size says, with as many handles as it says. The functions
 * of the template take the arguments on any thread; memory that they give to the device is valid until the replay has
 * ended. `task` is null or points at a handle.
 */
int overtake_template_replay(struct overtake_template *template_,
                             struct overtake_tasks *tasks,
                             const struct overtake_replay_spec *spec,
                             struct overtake_task **task);

/**
 * Frees the handle of a template. Its replays go on.
 *
 * Threads: any.
 */
int overtake_template_free(struct overtake_template *template_);

/**
 * The interpreter is about to fork: until overtake_after_fork no thread of the library enters it. Those that are at it
 * are waited for: call it without the interpreter's lock. Functions that run go on. After a second threads enter all
 * the same, as another hook of the fork may wait for the function of a task.
 *
 * Threads: any.
 */
int overtake_before_fork(void);

/**
 * The interpreter has forked, or could not.
 *
 * Threads: that of overtake_before_fork. The child of the fork need not call it.
 */
int overtake_after_fork(void);

/**
 * An overtake_free_callback, by the `free` of the struct overtake_answering that its data points at.
 *
 * Threads: any; the library calls it.
 *
 * Demands:
 * `data` is null or points at one.
 */
void overtake_answer_free(void *data);

/**
 * An overtake_launch_callback, by the struct overtake_answering that its data points at.
 *
 * Threads: any; the library calls it.
 *
 * Demands:
 * `data` points at one.
 */
int overtake_answer_launch(struct overtake_lane *lane, void *data);

/**
 * An overtake_run_callback, in the same way.
 *
 * Threads: any; the library calls it.
 *
 * Demands:
 * As for overtake_answer_launch.
 */
int overtake_answer_run(void *data);

/**
 * An overtake_launch_uses_callback, in the same way.
 *
 * Threads: any; the library calls it.
 *
 * Demands:
 * As for overtake_answer_launch.
 */
int overtake_answer_launch_uses(struct overtake_lane *lane, void *const *addresses, void *data);

/**
 * An overtake_run_uses_callback, in the same way.
 *
 * Threads: any; the library calls it.
 *
 * Demands:
 * As for overtake_answer_launch.
 */
int overtake_answer_run_uses(void *const *addresses, void *data);

/**
 * An overtake_launch_step_callback, in the same way.
 *
 * Threads: any; the library calls it.
 *
 * Demands:
 * As for overtake_answer_launch.
 */
int overtake_answer_launch_step(struct overtake_lane *lane, void *arguments, void *data);

/**
 * An overtake_run_step_callback, in the same way.
 *
 * Threads: any; the library calls it.
 *
 * Demands:
 * As for overtake_answer_launch.
 */
int overtake_answer_run_step(void *arguments, void *data);

/**
 * An overtake_log_callback, in the same way: `arguments` is the text of the message, and the place of the answer has
 * its level.
 *
 * Threads: any; the library calls it.
 *
 * Demands:
 * As for overtake_answer_launch.
 */
void overtake_answer_log(void *data,
                         int level,
                         const char *text);

/**
 * A picture of the tasks that have not ended, as text for Graphviz with a NUL at its end: what each does, its priority
 * and how far it is, and the edges that still stand. `needed` is null, or receives the size with the NUL. It does so
 * too if `size` is too small or `buffer` is null: the call then returns OVERTAKE_ERROR_BUFFER_TOO_SMALL. The text may
 * grow before the next call, so pass half as much again.
 *
 * Threads: any. The dispatcher does nothing else while the text is written: it is for looking, not for watching.
 *
 * Demands:
 * `buffer` is null or has `size` bytes; `needed` is null or points at a size_t.
 */
int overtake_dispatcher_dot(struct overtake_dispatcher *dispatcher,
                            char *buffer,
                            size_t size,
                            size_t *needed);

/**
 * Opens a set of arrays. `options` is null, or the parameters.
 *
 * Threads: any.
 *
 * Demands:
 * `options` is null or points at a structure of the size that its struct_size says, with a NUL-terminated string;
 * `arrays` points at a handle.
 */
int overtake_arrays_open(struct overtake_dispatcher *dispatcher,
                         const struct overtake_arrays_options *options,
                         struct overtake_arrays **arrays);

/**
 * Waits until all computations and transfers have ended, and fails as the first of them that has failed, if any has.
 *
 * Threads: any, but not in the function of a task, nor with an open access that computations wait for.
 */
int overtake_arrays_wait(struct overtake_arrays *arrays);

/**
 * The same for timeout_ns of the host's time at most (0: not at all; OVERTAKE_FOR_EVER). Fails as
 * overtake_arrays_wait; else `is_done` becomes 1 if all have ended, and 0 if the time has passed before.
 *
 * Threads: any; in the function of a task with timeout_ns 0 only.
 *
 * Demands:
 * `is_done` points at an int.
 */
int overtake_arrays_wait_for(struct overtake_arrays *arrays, int64_t timeout_ns, int *is_done);

/**
 * Calls `tell` for each kernel, size and device whose computations have been measured, by name, with `data`. Times of
 * computations that have not ended on the device are left out. A set that does not measure has none. They are kept of
 * the 1024 kernels and sizes that were measured last, and of up to as many before them.
 *
 * Threads: any.
 *
 * Demands:
 * `tell` takes `data`.
 */
int overtake_arrays_read_times(struct overtake_arrays *arrays,
                               overtake_times_callback tell,
                               void *data);

/**
 * The counts so far. The structure is written only if the call succeeds; struct_size is then the number of bytes that
 * the library knows.
 *
 * Threads: any.
 *
 * Demands:
 * `statistics` points at a structure of the size that its struct_size says.
 */
int overtake_arrays_read_statistics(struct overtake_arrays *arrays,
                                    struct overtake_arrays_statistics *statistics);

/**
 * Makes an array of `count` elements that has not been written. It gets memory where it is used.
 *
 * Threads: any.
 *
 * Demands:
 * `array` points at a handle.
 */
int overtake_array_new(struct overtake_arrays *arrays,
                       size_t count,
                       size_t element_bytes,
                       struct overtake_array **array);

/**
 * Makes a token: an array without elements or memory, for an order that is not about memory. Computations use it as
 * any array, but for reductions, and it counts as written. A function gets an address for it at which there is
 * nothing, and a kernel has no parameter for it.
 *
 * Threads: any.
 *
 * Demands:
 * `token` points at a handle.
 */
int overtake_token_new(struct overtake_arrays *arrays,
                       struct overtake_array **token);

/**
 * Makes an array of memory that the program owns, with its contents. Nothing is copied: where the array is used in the
 * place of that memory, it is that memory. The results are there again after overtake_array_release, and when the set
 * is closed.
 *
 * Threads: any, but with a stream not in the function of a task.
 *
 * Demands:
 * `spec` points at a structure of the size that its struct_size says. The memory has as many elements, and lives until
 * free_data is called, the array is released or the set is closed. Meanwhile other code does not use it, except by an
 * access. `array` points at a handle.
 */
int overtake_array_adopt(struct overtake_arrays *arrays,
                         const struct overtake_adopt_spec *spec,
                         struct overtake_array **array);

/**
 * Elements of an array as an array of their own: uses of both are uses of the same memory. `count` 0 is all from
 * `first` on.
 *
 * Threads: any.
 *
 * Demands:
 * `view` points at a handle.
 */
int overtake_array_view(struct overtake_array *array,
                        size_t first,
                        size_t count,
                        struct overtake_array **view);

/**
 * Waits until no computation uses the array, has its contents in the memory that it was adopted from, and frees it.
 * The memory is the program's again. Fails, and changes nothing, while there are views or accesses of it.
 *
 * Threads: any, but not in the function of a task.
 */
int overtake_array_release(struct overtake_array *array);

/**
 * Frees an array. It does not wait: memory goes when the last computation that uses it has ended, and results that
 * have not been read are lost.
 *
 * Threads: any.
 */
int overtake_array_free(struct overtake_array *array);

/**
 * Waits until the elements are there and no computation uses them in a conflicting way, and gives the address of the
 * first. Computations that are submitted later and conflict with the access wait until it is closed; elements that are
 * read on a device are frozen: computations that would write them are refused. So the thread must not wait for such a
 * computation. `spec` is null, or the access: without one the whole array is read on the host. `memory` is null, or
 * receives the address: without it the call does not wait for the elements, which overtake_access_wait_for does.
 *
 * Threads: any, but not in the function of a task.
 *
 * Demands:
 * `spec` is null or points at a structure of the size that its struct_size says; `memory` is null or points at a
 * pointer, and `access` points at a handle. Elements that are read only are not written.
 */
int overtake_array_open(struct overtake_array *array,
                        const struct overtake_access_spec *spec,
                        void **memory,
                        struct overtake_access **access);

/**
 * Waits until the elements of an access are there, for timeout_ns at most or OVERTAKE_FOR_EVER, and writes the address
 * of the first to `memory`: null if the time is over, and the access may be waited for again. One that is closed
 * before leaves the array as it was; computations that were submitted after it, and need what OVERTAKE_USE_DISCARD was
 * going to write, or elements that were never written, end with OVERTAKE_ERROR_TASK_NOT_RUN then. If `memory` is null
 * the call only waits, and fails with OVERTAKE_ERROR_TIMEOUT if the time is over: until the address has been asked
 * for, the array is as it was.
 *
 * Threads: any; in the function of a task with a timeout of 0 only.
 *
 * Demands:
 * `memory` is null or points at a pointer. Elements that are read only are not written.
 */
int overtake_access_wait_for(struct overtake_access *access,
                             int64_t timeout_ns,
                             void **memory);

/**
 * Ends an access. Work that the program has given to a device is complete then. One that has not been waited for until
 * its elements were there leaves the array as it was.
 *
 * Threads: any.
 */
int overtake_access_close(struct overtake_access *access);

/**
 * Has elements copied to a place before a computation or an access asks for them there, if they are elsewhere. `spec`
 * tells the place; its mode is OVERTAKE_USE_READ. `task` is null, or receives the handle of the transfer.
 *
 * Threads: any, and functions of tasks.
 *
 * Demands:
 * `spec` points at a structure of the size that its struct_size says; `task` is null or points at a handle.
 */
int overtake_array_bring(struct overtake_array *array,
                         const struct overtake_access_spec *spec,
                         struct overtake_task **task);

/**
 * Loads a kernel on each device of the dispatcher: `image` is `bytes` of PTX text or of a cubin. It is unloaded when
 * the set of arrays is closed.
 *
 * Threads: any.
 *
 * Demands:
 * `image` has so many bytes, `name` is a NUL-terminated string, and `kernel` points at a handle.
 */
int overtake_kernel_load(struct overtake_arrays *arrays,
                         const void *image,
                         size_t bytes,
                         const char *name,
                         struct overtake_kernel **kernel);

/**
 * A kernel of the program's: `functions` are `count` CUfunction, one for each device of the dispatcher from the first
 * on. `name` is for errors.
 *
 * Threads: any.
 *
 * Demands:
 * The array has so many functions, which stay loaded until the set of arrays is closed. `name` is a NUL-terminated
 * string, and `kernel` points at a handle.
 */
int overtake_kernel_adopt(struct overtake_arrays *arrays,
                          void *const *functions,
                          size_t count,
                          const char *name,
                          struct overtake_kernel **kernel);

/**
 * Frees the handle of a kernel. Computations that use it go on.
 *
 * Threads: any.
 */
int overtake_kernel_free(struct overtake_kernel *kernel);

/**
 * Submits a computation, with the transfers that it needs. It comes after those whose results it uses, and those that
 * still use elements that it writes. `task` is null, or receives its handle, which overtake_task_free frees.
 *
 * Threads: any, and functions of tasks.
 *
 * Demands:
 * `spec` points at a structure of the size that its struct_size says, with strings that end with a NUL, and arrays and
 * values of the sizes that it says. The kernel or the function accesses only the elements of the uses, in the way that
 * they say. Functions take the data on any thread. `task` is null or points at a handle.
 */
int overtake_compute(struct overtake_arrays *arrays,
                     const struct overtake_computation_spec *spec,
                     struct overtake_task **task);

/**
 * A PyCapsule_Destructor of DLPack: has the tensor deleted of a capsule that nobody has used. The exception of the
 * thread, if the capsule goes because of one, stays as it is.
 *
 * Threads: that which destroys it, with the interpreter's lock.
 *
 * Demands:
 * `capsule` is one that is being destroyed. If its name is "dltensor", it has a DLManagedTensor.
 */
void overtake_capsule_destroy(void *capsule);

/**
 * A `deleter` of DLManagedTensor: calls the `free` of the struct overtake_answering at its `manager_ctx`, with the
 * tensor.
 *
 * Threads: any.
 *
 * Demands:
 * `managed` is one, and its `manager_ctx` is null or points at such a structure.
 */
void overtake_capsule_delete(void *managed);

/**
 * Makes an admission with so many places. Pipelines that have it in their options have no more frames at work than
 * that, all together: a frame is admitted when the work of one before it has ended, those of the highest priority
 * first, then that of the consumer whose last frame was admitted longest ago. Until then a newer frame may take its
 * place. In an overload a frame that has begun has the link nearly to itself; a few places keep the link busy.
 *
 * A thread that holds a frame and waits for another one needs a place for each.
 *
 * Threads: any.
 *
 * Demands:
 * `admission` points at a handle.
 */
int overtake_admission_open(uint32_t places,
                            struct overtake_admission **admission);

/**
 * Frees the handle of an admission. Pipelines that have it keep it.
 *
 * Threads: any.
 */
int overtake_admission_free(struct overtake_admission *admission);

/**
 * Opens a pipeline: frames from a producer to a consumer, each in a stage with a buffer in pinned memory of the host
 * and one in memory of the device. Nothing is allocated for a frame. The copies and tasks of its frames are tasks of
 * `tasks`, on the first device of the dispatcher.
 *
 * The three handles are of the pipeline's counts and records (overtake_pipeline_free), and of its two ends
 * (overtake_pipeline_leave).
 *
 * Threads: any, but not in the function of a task.
 *
 * Demands:
 * `options` points at a structure of the size that its struct_size says, with a NUL-terminated string; `pipeline`,
 * `producer` and `consumer` point at handles.
 */
int overtake_pipeline_open(struct overtake_tasks *tasks,
                           const struct overtake_pipeline_options *options,
                           struct overtake_pipeline **pipeline,
                           struct overtake_pipeline_end **producer,
                           struct overtake_pipeline_end **consumer);

/**
 * Frees the handle of a pipeline. Its ends go on, and records that were not taken are lost.
 *
 * Threads: any.
 */
int overtake_pipeline_free(struct overtake_pipeline *pipeline);

/**
 * The counts so far. The structure is written only if the call succeeds; struct_size is then the number of bytes that
 * the library knows.
 *
 * Threads: any.
 *
 * Demands:
 * `statistics` points at a structure of the size that its struct_size says.
 */
int overtake_pipeline_read_statistics(struct overtake_pipeline *pipeline,
                                      struct overtake_pipeline_statistics *statistics);

/**
 * Takes the record of a frame that has ended, in the order of their ends. `end` is 0 in it if there is none.
 *
 * Threads: any.
 *
 * Demands:
 * `record` points at a structure of the size that its struct_size says.
 */
int overtake_pipeline_take_record(struct overtake_pipeline *pipeline, struct overtake_frame_record *record);

/**
 * Leaves a pipeline: the other end waits for this one no more, and its handle is freed. A consumer still gets the
 * frames that have been committed. A frame in hand is given up by a producer, and released by a consumer. In the
 * function of a task another thread leaves for it, a moment later.
 *
 * Threads: any, one at a time for an end; and functions of tasks.
 */
int overtake_pipeline_leave(struct overtake_pipeline_end *end);

/**
 * A frame begins: waits for a free stage, at most timeout_ns of the host's time (0: not at all; OVERTAKE_FOR_EVER). A
 * pipeline that drops frames never waits: it may have dropped this one (is_dropped). The structure is written only if
 * the call succeeds; struct_size is then the number of bytes that the library knows.
 *
 * OVERTAKE_ERROR_TIMEOUT: all stages are still in use. OVERTAKE_ERROR_ENDED: the consumer has left.
 * OVERTAKE_ERROR_FRAME_FAILED: the consumer has failed with an earlier frame, which overtake_last_error names; the
 * next call gives the stage.
 *
 * Threads: any, one at a time for an end; in the function of a task with timeout_ns 0 only.
 *
 * Demands:
 * `frame` points at a structure of the size that its struct_size says.
 */
int overtake_pipeline_acquire(struct overtake_pipeline_end *producer,
                              int64_t timeout_ns,
                              struct overtake_frame *frame);

/**
 * Commits the frame in hand: the consumer gets it when its copies and tasks have ended.
 *
 * Threads: any, one at a time for an end.
 */
int overtake_pipeline_commit(struct overtake_pipeline_end *producer);

/**
 * The same, but the consumer gets the frame at once: its copies and tasks come after those of this frame on the
 * device, and no thread of the host waits between.
 *
 * Threads: any, one at a time for an end.
 */
int overtake_pipeline_hand_over(struct overtake_pipeline_end *producer);

/**
 * Gives the frame in hand up, which is counted. If it has copies or tasks, the consumer gets an error for it.
 *
 * Threads: any, one at a time for an end.
 */
int overtake_pipeline_give_up(struct overtake_pipeline_end *producer);

/**
 * The frame in hand was captured so long ago, and not when its stage was acquired: its deadline begins there.
 *
 * Threads: any, one at a time for an end.
 */
int overtake_pipeline_captured(struct overtake_pipeline_end *producer, uint64_t ago_ns);

/**
 * Waits for the next frame that is not dropped, at most timeout_ns of the host's time (0: not at all;
 * OVERTAKE_FOR_EVER). The structure is written only if the call succeeds; struct_size is then the number of bytes that
 * the library knows.
 *
 * OVERTAKE_ERROR_TIMEOUT: there is none. OVERTAKE_ERROR_ENDED: the producer has left, and all its frames have come.
 * OVERTAKE_ERROR_FRAME_FAILED: a frame has failed, which overtake_last_error names with the cause; the next call is
 * about the next frame.
 *
 * Threads: any, one at a time for an end; in the function of a task with timeout_ns 0 only.
 *
 * Demands:
 * `frame` points at a structure of the size that its struct_size says.
 */
int overtake_pipeline_wait(struct overtake_pipeline_end *consumer,
                           int64_t timeout_ns,
                           struct overtake_frame *frame);

/**
 * Waits until the producer's copies and tasks of the frame in hand have ended, if it was handed over before that.
 * Fails as the first of them that has failed.
 *
 * Threads: any, one at a time for an end; not in the function of a task.
 */
int overtake_pipeline_complete(struct overtake_pipeline_end *consumer);

/**
 * Releases the frame in hand: the producer gets its stage back when the frame's copies and tasks have ended.
 *
 * Threads: any, one at a time for an end.
 */
int overtake_pipeline_release(struct overtake_pipeline_end *consumer);

/**
 * Submits the replay of a template as a part of the frame in hand (overtake_template_replay), at its priority: `spec`
 * has a priority and a room_timeout_ns of 0. For the rest it is as overtake_pipeline_copy.
 *
 * Threads: any, one at a time for an end.
 *
 * Demands:
 * As for overtake_template_replay.
 */
int overtake_pipeline_replay(struct overtake_pipeline_end *end,
                             struct overtake_template *template_,
                             const struct overtake_replay_spec *spec,
                             struct overtake_task **task);

/**
 * Copies as a part of the frame in hand, at its priority: from and to its memory, or any other. `kind` is one of
 * OVERTAKE_COPY_... The copy of a producer joins the stage that it fills: it comes to the consumer with it. That of a
 * consumer comes after the copies and tasks that were handed over with the frame, and keeps its stage until it has
 * ended. `task` is null, or receives the handle of its task, which overtake_task_free frees.
 *
 * Where frames may be dropped for newer ones (OVERTAKE_BEHIND_DROP_OLDEST, OVERTAKE_BEHIND_LATEST_ONLY), only the
 * consumer's frames have copies and tasks.
 *
 * Threads: any, one at a time for an end.
 *
 * Demands:
 * As for overtake_memcpy_async; the ranges stay valid until the copy has ended. `task` is null or points at a handle.
 */
int overtake_pipeline_copy(struct overtake_pipeline_end *end,
                           void *target,
                           const void *source,
                           size_t bytes,
                           int kind,
                           struct overtake_task **task);

/**
 * Submits a task that is part of the frame in hand, at its priority: `spec` is as for overtake_submit, with a priority
 * of 0 and no name to which others refer. For the rest it is as overtake_pipeline_copy.
 *
 * Threads: any, one at a time for an end.
 *
 * Demands:
 * As for overtake_submit.
 */
int overtake_pipeline_submit(struct overtake_pipeline_end *end,
                             const struct overtake_task_spec *spec,
                             struct overtake_task **task);

/**
 * Frees the layer's state for the calling thread's current CUDA context, in which no dispatcher may be open. Call it
 * before the program destroys a context, after its copies. Under the drop-in, which sees contexts end by itself, it
 * does nothing.
 *
 * Threads: any, but not in the function of a task, and no other thread may be inside a copy of the same context.
 */
int overtake_close(void);

/**
 * Closes a dispatcher. Waits for the work that is on the device and for the functions that run; tasks that have not
 * been started fail, so wait for tasks before. The handles of its sets and tasks are freed with it. When it returns,
 * the data of all its tasks has been freed. Call it before the context is destroyed, and before the program exits.
 *
 * Threads: any, but not in the function of a task. Other threads may be inside calls on its tasks: those that wait are
 * woken.
 */
int overtake_dispatcher_close(struct overtake_dispatcher *dispatcher);

/**
 * Frees the handle at a place, and writes null there: of a set of tasks, a task, an array, an access (which is
 * closed), a kernel, a pipeline, an end of one (which leaves, and may wait for the frame in hand), a template, an
 * admission or a copy queue (copies that were not flushed are not made). For finalizers: overtake_last_error stays as
 * it is. One that was freed before only becomes null. One that cannot be freed now stays as it is, and so do those of
 * dispatchers and sets of arrays.
 *
 * Threads: any, and functions of tasks; an end of a pipeline as overtake_pipeline_leave.
 *
 * Demands:
 * `place` points at a handle.
 */
void overtake_let_go(void **place);

/**
 * Waits for the computations and transfers that can end; the others fail. Memory that was adopted has its results
 * then, and the first error is returned if some has not: the set is closed all the same. The handles of its kernels
 * become wrong; those of its arrays stay, for accesses to their contents, until they are freed or the dispatcher is
 * closed.
 *
 * Threads: any, but not in the function of a task. Other threads may be inside calls with the set: it waits a second
 * for them, and fails what they wait for, unless that is the end of an open access.
 */
int overtake_arrays_close(struct overtake_arrays *arrays);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* OVERTAKE_H */
