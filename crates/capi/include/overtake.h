/* overtake: priorities for GPU memory copies. The C ABI.
 *
 * Written by `cargo xtask header` from the Rust sources: do not edit.
 *
 * Every function may be called from any thread; what else there is to say is at each. Functions that return int return
 * OVERTAKE_OK, a CUresult (positive, from the driver) or one of OVERTAKE_ERROR_... (negative): overtake_last_error()
 * then explains. Outputs are written on success alone. Nothing throws, and loading the library does nothing.
 *
 * Priorities count up: 1 is bulk, overtake_priorities() the most urgent. A stream is a CUstream or a cudaStream_t: they
 * are the same, and 0 is the legacy default stream. Neither cuda.h nor cuda_runtime.h is needed. */

#ifndef OVERTAKE_H
#define OVERTAKE_H

#include <stddef.h>
#include <stdint.h>

struct CUstream_st; /* CUDA's own: CUstream and cudaStream_t point at it. */

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
 * Instead of a priority: let the rules decide, or take away what was set.
 */
#define OVERTAKE_PRIORITY_BY_RULES 0

/**
 * The lowest priority: bulk. Higher numbers are more urgent, up to overtake_priorities().
 */
#define OVERTAKE_PRIORITY_LOWEST 1

/**
 * A message about something that failed.
 */
#define OVERTAKE_LOG_ERROR 1

/**
 * A message about something that costs priorities, with its cure.
 */
#define OVERTAKE_LOG_WARNING 2

/**
 * A message about what goes on.
 */
#define OVERTAKE_LOG_INFO 3

/**
 * A message for those who look for a fault.
 */
#define OVERTAKE_LOG_DEBUG 4

/**
 * Success. Positive numbers are CUresult, as the driver returned them; negative ones are overtake's own.
 */
#define OVERTAKE_OK 0

/**
 * An argument is outside what the call documents; overtake_last_error says which.
 */
#define OVERTAKE_ERROR_INVALID_ARGUMENT (-1)

/**
 * The buffer is too small; the size that is needed was written.
 */
#define OVERTAKE_ERROR_BUFFER_TOO_SMALL (-2)

/**
 * A bug in overtake was stopped at the border of the library.
 */
#define OVERTAKE_ERROR_PANIC (-3)

/**
 * The layer has not been opened in this process.
 */
#define OVERTAKE_ERROR_NOT_STARTED (-4)

/**
 * The option enabled = off switches overtake off, or this is a forked child, or the process is exiting. With
 * OVERTAKE=off in the environment nothing is an error.
 */
#define OVERTAKE_ERROR_OFF (-5)

/**
 * The text of options or rules cannot be understood; overtake_last_error says where.
 */
#define OVERTAKE_ERROR_SYNTAX (-6)

/**
 * There is no CUDA driver: no libcuda.so.1 can be loaded.
 */
#define OVERTAKE_ERROR_NO_DRIVER (-7)

/**
 * overtake_pop_priority without overtake_push_priority on this thread.
 */
#define OVERTAKE_ERROR_NO_SCOPE (-8)

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
 * Whatever the two addresses are.
 */
#define OVERTAKE_COPY_DEFAULT 4

/**
 * A function of yours for messages: the data that it was set with, one of OVERTAKE_LOG_..., and one line of text
 * that is valid during the call.
 */
typedef void (*overtake_log_callback)(void *data, int level, const char *text);

/**
 * What the layer has done in this process, all devices together. Set struct_size before the call; fields that the
 * library does not know are set to 0, and struct_size then says how much it knows.
 */
struct overtake_statistics {
    /**
     * sizeof(struct overtake_statistics).
     */
    uint32_t struct_size;
    /**
     * 1 when the layer has stood down to plain copies, because it had to be rescued too often.
     */
    uint32_t stood_down;
    /**
     * Copies that held others off.
     */
    uint64_t urgent_copies;
    /**
     * Their bytes.
     */
    uint64_t urgent_bytes;
    /**
     * Bulk copies that went by copy kernel, which stands aside for urgent copies.
     */
    uint64_t kernel_copies;
    /**
     * Their bytes.
     */
    uint64_t kernel_bytes;
    /**
     * Bulk copies that went by copy engine, in chunks.
     */
    uint64_t engine_copies;
    /**
     * Their bytes.
     */
    uint64_t engine_bytes;
    /**
     * Copies that were passed on to the driver unchanged.
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
     * Times that the watchdog let waiting copies go.
     */
    uint64_t rescues;
    /**
     * Driver calls of the layer that failed; the copy went another way.
     */
    uint64_t errors;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library that is loaded: major * 10000 + minor * 100 + patch. It may differ from the header's.
 *
 * Threads: any, at any time.
 */
int overtake_version(void);

/**
 * The same as text, such as "0.1.0". Never null; valid for ever.
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
 * What an error number means, in a few words. Never null; valid for ever.
 *
 * Threads: any, at any time.
 */
const char *overtake_error_text(int error);

/**
 * What the last failed call of this thread was about, and what to do about it. Never null, empty if no call has
 * failed; valid until the next failed call of this thread. Calls that succeed leave it alone.
 *
 * Threads: any; each has its own text.
 */
const char *overtake_last_error(void);

/**
 * Makes the layer ready for the calling thread's current CUDA context, and returns when it is. The call is
 * optional: otherwise the first copies do the same, and take longer. `options` is null, or a text of TOML with options
 * and rules, which only the first call of a process heeds; under the drop-in the environment's options are in force. A
 * text with a fault is refused with OVERTAKE_ERROR_SYNTAX: nothing of it is heeded, and overtake_last_error() names
 * line and column.
 *
 * Threads: any; waits for others that open the same context.
 *
 * Demands:
 * `options` is null or a NUL-terminated string.
 */
int overtake_open(const char *options);

/**
 * Lets go of what was made for the calling thread's current CUDA context: call it before you destroy a context, after
 * its copies. Under the drop-in, which sees contexts end by itself, it does nothing.
 *
 * Threads: any, but no other may be inside a copy of the same context.
 */
int overtake_close(void);

/**
 * Who brought the layer: "preload", "shadow" or "audit" where the process runs under the drop-in, which sees every
 * copy ("idle" until the program has initialised the driver); "c" where it does not, and only the copies of this
 * library have priorities; "off" with OVERTAKE=off, when nothing here has an effect. Never null; valid for ever.
 *
 * Threads: any, at any time.
 */
const char *overtake_deployment(void);

/**
 * How many priorities there are: 1 (bulk) up to this number.
 *
 * Threads: any, at any time.
 */
int overtake_priorities(void);

/**
 * Takes a stream into care: makes the layer ready for the current context, as overtake_open does, and gives the
 * stream's copies a priority from OVERTAKE_PRIORITY_LOWEST up. It remains your stream: destroy it as usual, after
 * overtake_release_stream.
 *
 * Threads: any.
 *
 * Demands:
 * `stream` is a stream of the current context, or one of CUDA's special handles.
 */
int overtake_adopt_stream(struct CUstream_st *stream,
                          int priority);

/**
 * Takes away what overtake_adopt_stream or overtake_set_stream_priority gave: call it before the stream is destroyed,
 * because CUDA may give the same handle to another stream.
 *
 * Threads: any.
 *
 * Demands:
 * As for overtake_adopt_stream.
 */
int overtake_release_stream(struct CUstream_st *stream);

/**
 * Gives the copies of a stream of the current context a priority from now on; OVERTAKE_PRIORITY_BY_RULES takes it
 * away. The priority of a thread, where it has one, goes before the stream's.
 *
 * Threads: any.
 *
 * Demands:
 * As for overtake_adopt_stream.
 */
int overtake_set_stream_priority(struct CUstream_st *stream,
                                 int priority);

/**
 * The priority that the copies of a stream have: the one that was set, or that of CUDA's own stream priority;
 * OVERTAKE_PRIORITY_BY_RULES where rules and sizes decide.
 *
 * Threads: any.
 *
 * Demands:
 * `stream` as for overtake_adopt_stream; `priority` points at an int.
 */
int overtake_stream_priority(struct CUstream_st *stream, int *priority);

/**
 * Gives every copy that the calling thread makes a priority, whatever the stream; OVERTAKE_PRIORITY_BY_RULES takes it
 * away. `before` is null, or receives the priority that the thread had.
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
 * Ends the innermost scope of the calling thread: its priority is again what it was before the scope.
 *
 * Threads: the one that pushed.
 */
int overtake_pop_priority(void);

/**
 * Replaces the rules of the process by those of a TOML text; copies that are under way keep their priorities.
 *
 * Threads: any.
 *
 * Demands:
 * `rules` is a NUL-terminated string.
 */
int overtake_set_rules(const char *rules);

/**
 * Sends messages to a function of yours; null: to standard error again, where they go at first. Call it before
 * everything else to hear everything. What the variable OVERTAKE_LOG asks for is sent (off, error, warn, info or
 * debug; warn when it is not set). Under the drop-in these are the messages of the drop-in too.
 *
 * Threads: any, but not with a lock that the function before takes: when this returns, that one is no longer called.
 * The function is called on a thread of the library's that does nothing else, one message at a time, a moment after
 * what the message is about. What comes while 256 messages wait is dropped, and counted in the report.
 *
 * Demands:
 * `callback` is null or takes `data` on another thread, until it is replaced.
 */
int overtake_set_log_callback(overtake_log_callback callback,
                              void *data);

/**
 * What has happened so far. Set struct_size to sizeof(struct overtake_statistics) before the call. Nothing is written
 * unless the call succeeds; struct_size is then how much of the structure the library knows.
 *
 * Threads: any. The sums are read one after another while copies go on.
 *
 * Demands:
 * `statistics` points at a structure of the size that its struct_size says.
 */
int overtake_read_statistics(struct overtake_statistics *statistics);

/**
 * The report of this process as JSON, with a NUL at its end. `needed` is null, or receives the size with the NUL, also
 * when `size` is too small or `buffer` is null: the call is then OVERTAKE_ERROR_BUFFER_TOO_SMALL. The report may have
 * grown by the next call, so ask for a little more than what was needed.
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
 * rules for pageable memory. What has no engine to contend for, or cannot be told apart safely, goes to the driver
 * unchanged, and so does everything where overtake is off or cannot work. The priority is 1 (bulk) to
 * overtake_priorities(), or OVERTAKE_PRIORITY_BY_RULES.
 *
 * Threads: any. As with CUDA, copies of two threads into one stream have no order that you do not make.
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
 * Several copies of one stream that have no order among them, each as with OVERTAKE_COPY_DEFAULT: `targets[i]`
 * receives `sizes[i]` bytes from `sources[i]`. The three arrays are read before the call returns. When it fails, any
 * of the copies may have been made.
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

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* OVERTAKE_H */
