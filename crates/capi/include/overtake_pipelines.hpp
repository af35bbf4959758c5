/* overtake's pipelines from C++17: frames from a producer to a consumer. Header only, on top of overtake.hpp.
 *
 * docs/pipelines.md tells the meaning of each call. */
#ifndef OVERTAKE_PIPELINES_HPP
#define OVERTAKE_PIPELINES_HPP

#include "overtake_templates.hpp"

#include <optional>

namespace overtake {

/* A frame that an end has in hand, on the thread that has the end. Its copies and tasks have the frame's priority. */
class frame {
public:
    frame(frame &&other) noexcept : end_(std::exchange(other.end_, nullptr)), frame_(other.frame_) {}

    std::uint64_t number() const noexcept { return frame_.number; }
    /* Its pinned memory of the host, and its memory of the device: so many bytes of each. */
    void *host() const noexcept { return frame_.host; }
    void *device() const noexcept { return frame_.device; }
    std::size_t bytes() const noexcept { return static_cast<std::size_t>(frame_.bytes); }
    int priority() const noexcept { return frame_.priority; }

    task upload() const { return copy(device(), host(), bytes(), direction::host_to_device); }
    task download() const { return copy(host(), device(), bytes(), direction::device_to_host); }
    task copy(void *target, const void *source, std::size_t bytes, direction way = direction::by_addresses) const
    {
        overtake_task *handle = nullptr;
        check(overtake_pipeline_copy(end_, target, source, bytes, static_cast<int>(way), &handle));
        return task(handle);
    }
    /* Runs kernels: function(lane &). */
    template <typename Function, typename... Tasks>
    task kernel(const std::string &name, Function launch, const Tasks &...after) const
    {
        return submit(OVERTAKE_TASK_KERNEL, name, detail::launching(std::move(launch)), after...);
    }
    /* A function of the host: function(). */
    template <typename Function, typename... Tasks>
    task host_task(const std::string &name, Function run, const Tasks &...after) const
    {
        return submit(OVERTAKE_TASK_HOST, name, detail::running(std::move(run)), after...);
    }
    template <typename Arguments> task replay(overtake::replay<Arguments> &&replay) const { return replay.submit(end_); }
    template <typename Arguments> task replay(overtake::replay<Arguments> &replay) const { return replay.submit(end_); }

protected:
    frame(overtake_pipeline_end *end, const overtake_frame &in_hand) noexcept : end_(end), frame_(in_hand) {}
    ~frame() = default;
    frame &operator=(frame &&other) noexcept
    {
        end_ = std::exchange(other.end_, nullptr);
        frame_ = other.frame_;
        return *this;
    }

    /* The frame is in hand no more. */
    void end(int (*call)(overtake_pipeline_end *)) { detail::close(end_, call); }

    overtake_pipeline_end *end_;

private:
    template <typename... Tasks>
    task submit(int kind, const std::string &name, detail::callee callee, const Tasks &...after) const
    {
        std::vector<overtake_task *> before;
        (detail::add(before, after), ...);
        overtake_task *handle = nullptr;
        overtake_task_spec spec{};
        spec.struct_size = sizeof spec;
        spec.kind = kind;
        spec.name = name.c_str();
        spec.after = detail::start(before);
        spec.after_count = before.size();
        callee.give(spec);
        check(overtake_pipeline_submit(end_, &spec, &handle));
        return task(handle);
    }

    overtake_frame frame_;
};

/* One that is being filled. It is given up if it ends without a commit. */
class [[nodiscard]] filling : public frame {
public:
    filling(overtake_pipeline_end *end, const overtake_frame &in_hand) noexcept : frame(end, in_hand) {}
    filling(filling &&) noexcept = default;
    filling &operator=(filling &&other) noexcept
    {
        if (end_ != other.end_)
            drop();
        frame::operator=(std::move(other));
        return *this;
    }
    ~filling() { drop(); }

    /* It was captured so long ago, and not when its stage was acquired. */
    void captured(std::chrono::nanoseconds ago) const
    {
        check(overtake_pipeline_captured(end_, static_cast<std::uint64_t>(detail::timeout(ago))));
    }
    /* The consumer gets it when its copies and tasks have ended. */
    void commit() { end(overtake_pipeline_commit); }
    /* The consumer gets it at once: its tasks come after those of this frame on the device. */
    void hand_over() { end(overtake_pipeline_hand_over); }
    void give_up() { end(overtake_pipeline_give_up); }

private:
    void drop() noexcept
    {
        if (end_ != nullptr)
            (void)overtake_pipeline_give_up(end_);
    }
};

/* One that is being consumed. It is released at its end: the producer gets its stage back. */
class [[nodiscard]] filled : public frame {
public:
    filled(overtake_pipeline_end *end, const overtake_frame &in_hand) noexcept : frame(end, in_hand) {}
    filled(filled &&) noexcept = default;
    filled &operator=(filled &&other) noexcept
    {
        if (end_ != other.end_)
            drop();
        frame::operator=(std::move(other));
        return *this;
    }
    ~filled() { drop(); }

    /* Waits for the producer's copies and tasks of it, if it was handed over before they had ended. */
    void complete() const { check(overtake_pipeline_complete(end_)); }
    void release() { end(overtake_pipeline_release); }

private:
    void drop() noexcept
    {
        if (end_ != nullptr)
            (void)overtake_pipeline_release(end_);
    }
};

namespace detail {

using pipeline_end = owned<overtake_pipeline_end, overtake_pipeline_leave>;

} // namespace detail

/* The end that fills frames. Each end belongs to one thread at a time; destroying it leaves the pipeline. */
class producer {
public:
    explicit producer(overtake_pipeline_end *end) noexcept : end_(end) {}

    /* The next frame, when a stage is free; none if the pipeline has dropped it. */
    std::optional<filling> acquire() { return acquire_by(OVERTAKE_FOR_EVER); }
    /* The same for so long at most: then the error is OVERTAKE_ERROR_TIMEOUT. */
    std::optional<filling> acquire_for(std::chrono::nanoseconds span) { return acquire_by(detail::timeout(span)); }
    /* The consumer gets the frames that are committed, and no others. */
    void leave() { end_.close(); }

private:
    std::optional<filling> acquire_by(std::int64_t timeout_ns)
    {
        overtake_frame in_hand{};
        in_hand.struct_size = sizeof in_hand;
        check(overtake_pipeline_acquire(end_.get(), timeout_ns, &in_hand));
        if (in_hand.is_dropped)
            return std::nullopt;
        return filling(end_.get(), in_hand);
    }

    detail::pipeline_end end_;
};

/* The end that consumes frames. */
class consumer {
public:
    explicit consumer(overtake_pipeline_end *end) noexcept : end_(end) {}

    /* The next frame; none when the producer has left, and all of its frames are consumed. A frame that failed is an
     * error (OVERTAKE_ERROR_FRAME_FAILED); the next call is about the next one. */
    std::optional<filled> wait() { return wait_by(OVERTAKE_FOR_EVER); }
    /* The same for so long at most: then the error is OVERTAKE_ERROR_TIMEOUT. */
    std::optional<filled> wait_for(std::chrono::nanoseconds span) { return wait_by(detail::timeout(span)); }
    void leave() { end_.close(); }

private:
    std::optional<filled> wait_by(std::int64_t timeout_ns)
    {
        overtake_frame in_hand{};
        in_hand.struct_size = sizeof in_hand;
        int code = overtake_pipeline_wait(end_.get(), timeout_ns, &in_hand);
        if (code == OVERTAKE_ERROR_ENDED)
            return std::nullopt;
        check(code);
        return filled(end_.get(), in_hand);
    }

    detail::pipeline_end end_;
};

/* Frames of so many bytes in stages with buffers, and its two ends. `options` are those of the C library, of which
 * `bytes` and `name` are set here. */
class pipeline {
public:
    pipeline(const tasks &set, const std::string &name, std::size_t bytes, overtake_pipeline_options options = {})
    {
        overtake_pipeline *handle = nullptr;
        overtake_pipeline_end *ends[2] = {nullptr, nullptr};
        options.struct_size = sizeof options;
        options.name = name.c_str();
        options.bytes = bytes;
        check(overtake_pipeline_open(set.get(), &options, &handle, &ends[0], &ends[1]));
        handle_ = detail::owned<overtake_pipeline, overtake_pipeline_free>(handle);
        producer = overtake::producer(ends[0]);
        consumer = overtake::consumer(ends[1]);
    }

    overtake_pipeline *get() const noexcept { return handle_.get(); }
    overtake_pipeline_statistics statistics() const
    {
        overtake_pipeline_statistics statistics{};
        statistics.struct_size = sizeof statistics;
        check(overtake_pipeline_read_statistics(get(), &statistics));
        return statistics;
    }
    /* The record of a frame that has ended, in the order of their ends; `end` is 0 if there is none. */
    overtake_frame_record take_record() const
    {
        overtake_frame_record record{};
        record.struct_size = sizeof record;
        check(overtake_pipeline_take_record(get(), &record));
        return record;
    }

private:
    detail::owned<overtake_pipeline, overtake_pipeline_free> handle_;

public:
    /* May be moved to the threads that have them. */
    overtake::producer producer{nullptr};
    overtake::consumer consumer{nullptr};
};

} // namespace overtake

#endif /* OVERTAKE_PIPELINES_HPP */
