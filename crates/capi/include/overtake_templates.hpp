/* overtake's templates from C++17: tasks that are recorded once and replayed. Header only, on top of overtake.hpp.
 *
 * docs/tasks.md tells the meaning of each call. */
#ifndef OVERTAKE_TEMPLATES_HPP
#define OVERTAKE_TEMPLATES_HPP

#include "overtake.hpp"

#include <initializer_list>
#include <memory>

namespace overtake {

namespace detail {

template <typename Arguments, typename Function>
int launch_step(overtake_lane *handle, void *arguments, void *data) noexcept
{
    return guarded([&] {
        lane entered(handle);
        (*static_cast<Function *>(data))(entered, *static_cast<const Arguments *>(arguments));
    });
}

template <typename Arguments, typename Function> int run_step(void *arguments, void *data) noexcept
{
    return guarded([&] { (*static_cast<Function *>(data))(*static_cast<const Arguments *>(arguments)); });
}

} // namespace detail

/* A replay that is being described; submit() submits it, once. Use it within the expression that makes it. */
template <typename Arguments> class [[nodiscard]] replay {
public:
    replay(overtake_template *recorded, Arguments arguments)
        : recorded_(recorded), arguments_(new Arguments(std::move(arguments)))
    {
        spec_.struct_size = sizeof spec_;
    }

    /* All its tasks have at least this priority. */
    replay &priority(int priority)
    {
        spec_.priority = priority;
        return *this;
    }
    replay &on(unsigned device)
    {
        spec_.device = device;
        return *this;
    }
    /* It begins after these: tasks, other replays, and containers of them. */
    template <typename... Tasks> replay &after(const Tasks &...first)
    {
        (detail::add(after_, first), ...);
        return *this;
    }
    /* The task stands for all tasks of the replay. */
    task submit(const tasks &set) { return submit_waiting(set, 0); }
    /* Waits for room in a full dispatcher. In the function of a task that is refused. */
    task submit_when_room(const tasks &set) { return submit_waiting(set, OVERTAKE_FOR_EVER); }
    /* The same for so long at most: then the error is OVERTAKE_ERROR_WOULD_BLOCK. */
    task submit_within(const tasks &set, std::chrono::nanoseconds span)
    {
        return submit_waiting(set, detail::timeout(span));
    }
    /* As a part of the frame that an end of a pipeline has in hand, at its priority. */
    task submit(overtake_pipeline_end *end)
    {
        overtake_task *handle = nullptr;
        overtake_replay_spec spec = described();
        check(overtake_pipeline_replay(end, recorded_, &spec, &handle));
        return task(handle);
    }

private:
    task submit_waiting(const tasks &set, std::int64_t room_timeout_ns)
    {
        overtake_task *handle = nullptr;
        overtake_replay_spec spec = described();
        spec.room_timeout_ns = room_timeout_ns;
        check(overtake_template_replay(recorded_, set.get(), &spec, &handle));
        return task(handle);
    }
    /* The library frees the arguments from here on, also if it refuses the replay. */
    overtake_replay_spec described()
    {
        if (arguments_ == nullptr) {
            (void)overtake_set_last_error("the replay has been submitted before, with its arguments: make another one");
            check(OVERTAKE_ERROR_INVALID_ARGUMENT);
        }
        overtake_replay_spec spec = spec_;
        spec.after = detail::start(after_);
        spec.after_count = after_.size();
        spec.arguments = arguments_.release();
        spec.free_arguments = &detail::free_data<Arguments>;
        return spec;
    }

    overtake_template *recorded_;
    std::unique_ptr<Arguments> arguments_;
    std::vector<overtake_task *> after_;
    overtake_replay_spec spec_{};
};

/* Tasks that are recorded once. A function for the device takes `lane &, const Arguments &`, one for the host
 * `const Arguments &`; they live until the last replay has ended. The first replay ends the recording. */
template <typename Arguments> class recording {
public:
    /* A recorded task, which others come after. */
    struct step {
        std::size_t number;
    };
    using steps = std::initializer_list<step>;

    recording()
    {
        overtake_template *handle = nullptr;
        check(overtake_template_new(&handle));
        handle_ = detail::owned<overtake_template, overtake_template_free>(handle);
    }

    overtake_template *get() const noexcept { return handle_.get(); }
    template <typename Function> step upload(std::string name, Function launch, steps after = {}, int priority = 0)
    {
        return launching(OVERTAKE_TASK_UPLOAD, name, std::move(launch), after, priority);
    }
    template <typename Function> step kernel(std::string name, Function launch, steps after = {}, int priority = 0)
    {
        return launching(OVERTAKE_TASK_KERNEL, name, std::move(launch), after, priority);
    }
    template <typename Function> step download(std::string name, Function launch, steps after = {}, int priority = 0)
    {
        return launching(OVERTAKE_TASK_DOWNLOAD, name, std::move(launch), after, priority);
    }
    /* For a worker thread. It starts when the work of the device before it is complete. */
    template <typename Function> step host(std::string name, Function run, steps after = {}, int priority = 0)
    {
        return running(OVERTAKE_TASK_HOST, name, std::move(run), after, priority);
    }
    /* A short one, for the thread that finds it ready. It must not wait. */
    template <typename Function> step light(std::string name, Function run, steps after = {}, int priority = 0)
    {
        return running(OVERTAKE_TASK_LIGHT, name, std::move(run), after, priority);
    }
    /* The promise that each replay makes the same launches: a replay is one launch of a CUDA graph. */
    void fix() { check(overtake_template_fix(get())); }
    overtake::replay<Arguments> replay(Arguments arguments) const { return {get(), std::move(arguments)}; }

private:
    template <typename Function>
    step launching(int kind, const std::string &name, Function launch, steps after, int priority)
    {
        overtake_step_spec spec{};
        spec.launch = &detail::launch_step<Arguments, Function>;
        return add(spec, kind, name, std::move(launch), after, priority);
    }
    template <typename Function> step running(int kind, const std::string &name, Function run, steps after, int priority)
    {
        overtake_step_spec spec{};
        spec.run = &detail::run_step<Arguments, Function>;
        return add(spec, kind, name, std::move(run), after, priority);
    }
    template <typename Function>
    step add(overtake_step_spec &spec, int kind, const std::string &name, Function function, steps after, int priority)
    {
        std::vector<std::size_t> numbers;
        for (const step &each : after)
            numbers.push_back(each.number);
        spec.struct_size = sizeof spec;
        spec.kind = kind;
        spec.name = name.c_str();
        spec.priority = priority;
        spec.after = detail::start(numbers);
        spec.after_count = numbers.size();
        spec.data = new Function(std::move(function));
        spec.free_data = &detail::free_data<Function>;
        step added{};
        check(overtake_template_add(get(), &spec, &added.number));
        return added;
    }

    detail::owned<overtake_template, overtake_template_free> handle_;
};

} // namespace overtake

#endif /* OVERTAKE_TEMPLATES_HPP */
