/* overtake for C++17: scoped priorities, adopted streams, tasks, exceptions. Header only, over overtake.h. */
#ifndef OVERTAKE_HPP
#define OVERTAKE_HPP

#include "overtake.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace overtake {

/* A CUstream or a cudaStream_t: both are pointers to this. */
using stream_handle = struct CUstream_st *;

/* A call that failed: what() is the text of overtake_last_error, code() the number, name() its name. */
class error : public std::runtime_error {
public:
    error(int code, const char *text) : std::runtime_error(text), code_(code) {}

    int code() const noexcept { return code_; }
    const char *name() const noexcept { return overtake_error_name(code_); }

private:
    int code_;
};

/* Throws unless `code` is OVERTAKE_OK. Compiled without exceptions it prints the reason and aborts; a program that must
 * not abort calls the functions of overtake.h. */
inline void check(int code)
{
    if (code == OVERTAKE_OK)
        return;
#if defined(__cpp_exceptions)
    throw error(code, overtake_last_error());
#else
    std::fprintf(stderr, "overtake: %s: %s\n", overtake_error_name(code), overtake_last_error());
    std::abort();
#endif
}

namespace detail {

/* Has a call end what a handle is of, and throws what goes wrong. What the call refuses to end stays the object's. */
template <typename Handle> void close(Handle *&handle, int (*call)(Handle *))
{
    int code = call(handle);
    if (code != OVERTAKE_ERROR_REFUSED && code != OVERTAKE_ERROR_OFF)
        handle = nullptr;
    check(code);
}

/* The owner of a handle, which one function frees. */
template <typename Handle, int (*Free)(Handle *)> class owned {
public:
    owned() noexcept = default;
    explicit owned(Handle *handle) noexcept : handle_(handle) {}
    ~owned() { reset(); }
    owned(owned &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    owned &operator=(owned &&other) noexcept
    {
        if (this != &other) {
            reset();
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }

    Handle *get() const noexcept { return handle_; }
    /* The handle, which another call frees. */
    Handle *take() noexcept { return std::exchange(handle_, nullptr); }
    void reset() noexcept
    {
        if (handle_ != nullptr)
            (void)Free(handle_);
        handle_ = nullptr;
    }
    /* The same, and throws what goes wrong: what is refused stays its own. */
    void close() { detail::close(handle_, Free); }

private:
    Handle *handle_ = nullptr;
};

} // namespace detail

/* Every copy that this thread makes has the priority, until the scope ends:
 *
 *     {
 *         overtake::scoped_priority urgent(5);
 *         cudaMemcpyAsync(...);      // under the drop-in; or overtake::memcpy_async(...)
 *     }
 *
 * One thread makes and destroys the object, and its scopes nest. */
class [[nodiscard]] scoped_priority {
public:
    explicit scoped_priority(int priority) { check(overtake_push_priority(priority)); }
    ~scoped_priority() { (void)overtake_pop_priority(); }

    scoped_priority(const scoped_priority &) = delete;
    scoped_priority &operator=(const scoped_priority &) = delete;
};

/* The copies of a stream have the priority as long as the object lives. Destroy the object before the stream. */
class [[nodiscard]] adopted_stream {
public:
    adopted_stream(stream_handle stream, int priority) : stream_(stream), owned_(true)
    {
        check(overtake_adopt_stream(stream, priority));
    }
    ~adopted_stream() { release(); }

    adopted_stream(adopted_stream &&other) noexcept : stream_(other.stream_), owned_(other.owned_)
    {
        other.owned_ = false;
    }
    adopted_stream &operator=(adopted_stream &&other) noexcept
    {
        if (this != &other) {
            release();
            stream_ = other.stream_;
            owned_ = other.owned_;
            other.owned_ = false;
        }
        return *this;
    }

    stream_handle get() const noexcept { return stream_; }
    int priority() const
    {
        int priority = 0;
        check(overtake_stream_priority(stream_, &priority));
        return priority;
    }
    void set_priority(int priority) { check(overtake_set_stream_priority(stream_, priority)); }

private:
    void release() noexcept
    {
        if (owned_)
            (void)overtake_release_stream(stream_);
        owned_ = false;
    }

    stream_handle stream_;
    bool owned_;
};

/* The direction of a copy; the numbers are those of cudaMemcpyKind. */
enum class direction : int {
    host_to_device = OVERTAKE_COPY_HOST_TO_DEVICE,
    device_to_host = OVERTAKE_COPY_DEVICE_TO_HOST,
    device_to_device = OVERTAKE_COPY_DEVICE_TO_DEVICE,
    by_addresses = OVERTAKE_COPY_DEFAULT
};

/* One copy of a batch. */
struct copy {
    void *target;
    const void *source;
    std::size_t bytes;
};

inline void open(const char *options = nullptr) { check(overtake_open(options)); }
inline void close() { check(overtake_close()); }
inline int priorities() noexcept { return overtake_priorities(); }
inline std::string deployment() { return overtake_deployment(); }
inline std::string version() { return overtake_version_text(); }
inline void set_rules(const std::string &rules) { check(overtake_set_rules(rules.c_str())); }

/* Sends messages to a function; null: to standard error again. See overtake_set_log_callback. */
inline void set_log_callback(overtake_log_callback callback, void *data = nullptr)
{
    check(overtake_set_log_callback(callback, data));
}

inline void memcpy_async(void *target, const void *source, std::size_t bytes, direction way, stream_handle stream,
                         int priority = OVERTAKE_PRIORITY_BY_RULES)
{
    check(overtake_memcpy_async(target, source, bytes, static_cast<int>(way), stream, priority));
}

inline void memcpy_2d_async(void *target, std::size_t target_pitch, const void *source, std::size_t source_pitch,
                            std::size_t width, std::size_t height, direction way, stream_handle stream,
                            int priority = OVERTAKE_PRIORITY_BY_RULES)
{
    check(overtake_memcpy_2d_async(target, target_pitch, source, source_pitch, width, height, static_cast<int>(way),
                                   stream, priority));
}

inline void memcpy_batch_async(const std::vector<copy> &copies, stream_handle stream,
                               int priority = OVERTAKE_PRIORITY_BY_RULES)
{
    std::vector<void *> targets;
    std::vector<const void *> sources;
    std::vector<std::size_t> sizes;
    for (const copy &each : copies) {
        targets.push_back(each.target);
        sources.push_back(each.source);
        sizes.push_back(each.bytes);
    }
    check(overtake_memcpy_batch_async(targets.data(), sources.data(), sizes.data(), copies.size(), stream, priority));
}

/* Many small copies and sets in one launch, as overtake_copy_queue_open tells. Destroy the object before its stream;
 * that flushes it too, but tells of no failure: close() does. */
class [[nodiscard]] copy_queue {
public:
    copy_queue(stream_handle stream, int priority, std::size_t reserve)
    {
        overtake_copy_queue *queue = nullptr;
        check(overtake_copy_queue_open(stream, priority, reserve, &queue));
        queue_ = detail::owned<overtake_copy_queue, overtake_copy_queue_close>(queue);
    }

    void copy(void *target, const void *source, std::size_t bytes, direction way = direction::by_addresses)
    {
        check(overtake_copy_queue_copy(queue_.get(), target, source, bytes, static_cast<int>(way)));
    }
    void set(void *target, std::uint32_t value, std::size_t bytes)
    {
        check(overtake_copy_queue_set(queue_.get(), target, value, bytes));
    }
    /* Refuses addresses and sizes from now on that are no multiples of 4, as PhysX does. */
    void literal() { check(overtake_copy_queue_literal(queue_.get())); }
    void flush() { check(overtake_copy_queue_flush(queue_.get())); }
    void close() { queue_.close(); }

private:
    detail::owned<overtake_copy_queue, overtake_copy_queue_close> queue_;
};

inline overtake_statistics statistics()
{
    overtake_statistics statistics{};
    statistics.struct_size = sizeof statistics;
    check(overtake_read_statistics(&statistics));
    return statistics;
}

/* The report of this process as JSON. */
inline std::string report()
{
    std::string text;
    std::size_t needed = 4096;
    for (;;) {
        text.resize(needed + 256);
        int code = overtake_report_json(&text[0], text.size(), &needed);
        if (code == OVERTAKE_ERROR_BUFFER_TOO_SMALL)
            continue;
        check(code);
        text.resize(needed - 1);
        return text;
    }
}

namespace detail {

/* A negative span is one that has passed. */
inline std::int64_t timeout(std::chrono::nanoseconds span) noexcept { return span.count() < 0 ? 0 : span.count(); }
/* The same for room on a device, where 0 is the default. */
inline std::int64_t room_timeout(std::chrono::nanoseconds span) noexcept { return span.count() < 1 ? 1 : span.count(); }

/* Runs a function of the program's. An exception becomes the failure of the task, with its text. */
template <typename Function> int guarded(Function &&function) noexcept
{
#if defined(__cpp_exceptions)
    try {
        function();
        return OVERTAKE_OK;
    } catch (const error &thrown) {
        (void)overtake_set_last_error(thrown.what());
        return thrown.code();
    } catch (const std::exception &thrown) {
        (void)overtake_set_last_error(thrown.what());
    } catch (...) {
        (void)overtake_set_last_error("it threw an exception that is no std::exception");
    }
    return OVERTAKE_ERROR_TASK_FAILED;
#else
    function();
    return OVERTAKE_OK;
#endif
}

template <typename Function> int run(void *data) noexcept
{
    return guarded([&] { (*static_cast<Function *>(data))(); });
}

template <typename Function> void free_data(void *data) noexcept { delete static_cast<Function *>(data); }

} // namespace detail

/* The inside of a launch. It is valid during the call of the function, on its thread. */
class lane {
public:
    explicit lane(overtake_lane *handle) noexcept : handle_(handle) {}

    /* The stream in which the task's work goes. */
    stream_handle stream() const
    {
        stream_handle stream = nullptr;
        check(overtake_lane_stream(handle_, &stream));
        return stream;
    }
    /* How often the function has been called before for this task. */
    unsigned turn() const
    {
        std::uint32_t turn = 0;
        check(overtake_lane_turn(handle_, &turn));
        return turn;
    }
    int priority() const
    {
        int priority = 0;
        check(overtake_lane_priority(handle_, &priority));
        return priority;
    }
    /* Copies at the priority of the task. */
    void copy(void *target, const void *source, std::size_t bytes, direction way = direction::by_addresses) const
    {
        check(overtake_lane_copy(handle_, target, source, bytes, static_cast<int>(way)));
    }
    /* The function is to be called again, after the other tasks that are ready. */
    void again() const { check(overtake_lane_again(handle_)); }
    /* All that is submitted to the device later waits for all that has been submitted by now. */
    void sync_point() const { check(overtake_lane_sync_point(handle_)); }
    /* A held task waits until this one is complete. */
    void completes(const class task &other) const;

private:
    overtake_lane *handle_;
};

/* A submitted task. Destroying the object frees the handle; the task goes on. */
class task {
public:
    task() noexcept = default;
    explicit task(overtake_task *handle) noexcept : handle_(handle) {}

    overtake_task *get() const noexcept { return handle_.get(); }
    /* Throws an error that names the task, if it has failed or was not run. */
    void wait() const { check(overtake_task_wait(get())); }
    /* The same for so long at most. Returns whether it has ended. */
    bool wait_for(std::chrono::nanoseconds span) const
    {
        int done = 0;
        check(overtake_task_wait_for(get(), detail::timeout(span), &done));
        return done != 0;
    }
    bool is_done() const
    {
        int done = 0;
        check(overtake_task_is_done(get(), &done));
        return done != 0;
    }
    /* Calls `function()` when the task has ended, on the thread that sees it end, or here if it has ended before. It
     * must not wait; the log tells of an exception. */
    template <typename Function> void when_done(Function function) const
    {
        void *data = new Function(std::move(function));
        check(overtake_task_when_done(get(), &detail::run<Function>, data, &detail::free_data<Function>));
    }
    /* Leaves it out, if it has not started, and those after it. Returns whether that is so. Tasks before it go on. */
    bool cancel() const
    {
        int is_cancelled = 0;
        check(overtake_task_cancel(get(), &is_cancelled));
        return is_cancelled != 0;
    }
    void hold() const { check(overtake_task_hold(get())); }
    void release() const { check(overtake_task_release(get())); }
    void raise(int priority) const { check(overtake_task_raise(get(), priority)); }
    /* These tasks, which have not started, come after this one. */
    template <typename... Tasks> void precede(const Tasks &...others) const { (others.succeed(*this), ...); }
    /* This task, which has not started, comes after these. */
    template <typename... Tasks> void succeed(const Tasks &...others) const
    {
        (check(overtake_task_before(others.get(), get())), ...);
    }

private:
    detail::owned<overtake_task, overtake_task_free> handle_;
};

namespace detail {

/* The handles of tasks, and of containers of tasks. */
inline void add(std::vector<overtake_task *> &handles, const task &task) { handles.push_back(task.get()); }
template <typename Several> void add(std::vector<overtake_task *> &handles, const Several &several)
{
    for (const auto &each : several)
        add(handles, each);
}

/* Their array for the library: null if there are none. */
template <typename T> const T *start(const std::vector<T> &elements) noexcept
{
    return elements.empty() ? nullptr : elements.data();
}

} // namespace detail

inline void lane::completes(const task &other) const { check(overtake_lane_completes(handle_, other.get())); }

namespace detail {

template <typename Function> int launch(overtake_lane *handle, void *data) noexcept
{
    return guarded([&] {
        lane entered(handle);
        (*static_cast<Function *>(data))(entered);
    });
}

/* A function with its data. */
struct callee {
    overtake_launch_callback launch = nullptr;
    overtake_run_callback run = nullptr;
    std::unique_ptr<void, overtake_free_callback> data{nullptr, nullptr};

    /* Gives it to a call of the library, which frees it, also if the call fails. */
    void give(overtake_task_spec &spec) noexcept
    {
        spec.launch = std::exchange(launch, nullptr);
        spec.run = std::exchange(run, nullptr);
        spec.free_data = data.get_deleter();
        spec.data = data.release();
    }
};

template <typename Function> callee launching(Function function)
{
    return {&launch<Function>, nullptr, {new Function(std::move(function)), &free_data<Function>}};
}

template <typename Function> callee running(Function function)
{
    return {nullptr, &run<Function>, {new Function(std::move(function)), &free_data<Function>}};
}

} // namespace detail

/* A task that is being described; submit() submits it, once: the library frees its function, also if it refuses the
 * task. Use it within the expression that makes it. */
class [[nodiscard]] task_builder {
public:
    task_builder(overtake_tasks *tasks, int kind, std::string name, detail::callee callee = {}) noexcept
        : tasks_(tasks), name_(std::move(name)), callee_(std::move(callee))
    {
        spec_.struct_size = sizeof spec_;
        spec_.kind = kind;
    }
    task_builder(const task_builder &) = delete;
    task_builder &operator=(const task_builder &) = delete;

    task_builder &priority(int priority)
    {
        spec_.priority = priority;
        return *this;
    }
    /* It comes after these: tasks, and containers of tasks. */
    template <typename... Tasks> task_builder &after(const Tasks &...first)
    {
        (detail::add(after_, first), ...);
        return *this;
    }
    /* It starts when all work of these tasks has been submitted, or their functions have run. */
    template <typename... Tasks> task_builder &after_launch(const Tasks &...first)
    {
        (detail::add(after_launch_, first), ...);
        return *this;
    }
    /* It has one more reference, which task::release takes away: until then it does not start. */
    task_builder &held()
    {
        ++spec_.references;
        return *this;
    }
    /* Its function is called again after it has failed, so often at most: the caller promises that it may be. */
    task_builder &retries(unsigned most)
    {
        spec_.retries = most;
        return *this;
    }
    /* It is the task to which others refer by its name (tasks::named). */
    task_builder &named()
    {
        spec_.is_named = 1;
        return *this;
    }
    task submit() { return submit_waiting(0); }
    /* Waits for room in a full dispatcher. In the function of a task that is refused. */
    task submit_when_room() { return submit_waiting(OVERTAKE_FOR_EVER); }
    /* The same for so long at most: then the error is OVERTAKE_ERROR_WOULD_BLOCK. */
    task submit_within(std::chrono::nanoseconds span) { return submit_waiting(detail::timeout(span)); }

private:
    task submit_waiting(std::int64_t room_timeout_ns)
    {
        overtake_task *handle = nullptr;
        spec_.name = name_.c_str();
        spec_.room_timeout_ns = room_timeout_ns;
        spec_.after = detail::start(after_);
        spec_.after_count = after_.size();
        spec_.after_launch = detail::start(after_launch_);
        spec_.after_launch_count = after_launch_.size();
        overtake_task_spec spec = spec_;
        callee_.give(spec);
        check(overtake_submit(tasks_, &spec, &handle));
        return task(handle);
    }

    overtake_tasks *tasks_;
    std::string name_;
    detail::callee callee_;
    std::vector<overtake_task *> after_;
    std::vector<overtake_task *> after_launch_;
    overtake_task_spec spec_{};
};

/* Runs tasks on the device of the current context. Destroy it before the context; wait for the tasks before. The end of
 * an object tells of no failure; close() and its like do. */
class dispatcher {
public:
    explicit dispatcher(overtake_dispatcher_options options = {})
    {
        overtake_dispatcher *handle = nullptr;
        options.struct_size = sizeof options;
        check(overtake_dispatcher_open(&options, &handle));
        handle_ = detail::owned<overtake_dispatcher, overtake_dispatcher_close>(handle);
    }
    /* Not in the function of a task: that is refused, and the dispatcher stays open. */
    void close() { handle_.close(); }

    overtake_dispatcher *get() const noexcept { return handle_.get(); }
    overtake_dispatcher_statistics statistics() const
    {
        overtake_dispatcher_statistics statistics{};
        statistics.struct_size = sizeof statistics;
        check(overtake_dispatcher_read_statistics(get(), &statistics));
        return statistics;
    }

    /* A picture of the tasks that have not ended, as text for Graphviz. */
    std::string dot() const
    {
        std::string text(4096, '\0');
        for (;;) {
            std::size_t needed = 0;
            int code = overtake_dispatcher_dot(get(), &text[0], text.size(), &needed);
            if (code != OVERTAKE_ERROR_BUFFER_TOO_SMALL) {
                check(code);
                text.resize(needed - 1);
                return text;
            }
            text.resize(needed + needed / 2);
        }
    }

private:
    detail::owned<overtake_dispatcher, overtake_dispatcher_close> handle_;
};

/* A set of tasks. A function for the device takes a `lane &`, one for the host takes nothing; a function that throws
 * fails its task with the text of the exception. */
class tasks {
public:
    explicit tasks(const dispatcher &dispatcher, const char *name = nullptr)
    {
        overtake_tasks *handle = nullptr;
        check(overtake_tasks_open(dispatcher.get(), name, &handle));
        handle_ = detail::owned<overtake_tasks, overtake_tasks_free>(handle);
    }

    overtake_tasks *get() const noexcept { return handle_.get(); }
    template <typename Function> task_builder upload(std::string name, Function launch)
    {
        return {get(), OVERTAKE_TASK_UPLOAD, std::move(name), detail::launching(std::move(launch))};
    }
    template <typename Function> task_builder kernel(std::string name, Function launch)
    {
        return {get(), OVERTAKE_TASK_KERNEL, std::move(name), detail::launching(std::move(launch))};
    }
    template <typename Function> task_builder download(std::string name, Function launch)
    {
        return {get(), OVERTAKE_TASK_DOWNLOAD, std::move(name), detail::launching(std::move(launch))};
    }
    /* For a worker thread. It starts when the work of the device before it is complete. */
    template <typename Function> task_builder host(std::string name, Function run)
    {
        return {get(), OVERTAKE_TASK_HOST, std::move(name), detail::running(std::move(run))};
    }
    /* A short one, for the thread that finds it ready. It must not wait. */
    template <typename Function> task_builder light(std::string name, Function run)
    {
        return {get(), OVERTAKE_TASK_LIGHT, std::move(name), detail::running(std::move(run))};
    }
    /* A task without work, which joins others. */
    task_builder join(std::string name) { return {get(), OVERTAKE_TASK_JOIN, std::move(name)}; }
    /* The task to which others refer by this name, before it is submitted (task_builder::named). */
    task named(const char *name)
    {
        overtake_task *handle = nullptr;
        check(overtake_tasks_named(get(), name, &handle));
        return task(handle);
    }
    /* Throws the first failure of a task of the set. */
    void wait() const { check(overtake_tasks_wait(get())); }
    /* The same for so long at most. Returns whether all have ended. */
    bool wait_for(std::chrono::nanoseconds span) const
    {
        int done = 0;
        check(overtake_tasks_wait_for(get(), detail::timeout(span), &done));
        return done != 0;
    }
    void stop() { check(overtake_tasks_stop(get())); }
    void start() { check(overtake_tasks_start(get())); }

private:
    detail::owned<overtake_tasks, overtake_tasks_free> handle_;
};

/* While it lives, the dispatcher's tasks of the device are collected; then they start. */
class [[nodiscard]] group {
public:
    explicit group(const tasks &tasks)
    {
        check(overtake_group_begin(tasks.get()));
        tasks_ = detail::owned<overtake_tasks, overtake_group_end>(tasks.get());
    }
    /* Ends it now. */
    void end() { tasks_.close(); }

    /* A task that ends with the group, before its tasks start; for the innermost open group of the set. */
    task before() const { return join(overtake_group_before); }
    /* The same that ends when they have been launched. */
    task behind() const { return join(overtake_group_behind); }

private:
    task join(int (*call)(overtake_tasks *, overtake_task **)) const
    {
        overtake_task *handle = nullptr;
        check(call(tasks_.get(), &handle));
        return task(handle);
    }

    detail::owned<overtake_tasks, overtake_group_end> tasks_;
};

} // namespace overtake

#endif /* OVERTAKE_HPP */
