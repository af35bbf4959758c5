/* overtake's arrays from C++17: RAII and lambdas on top of overtake.h and overtake.hpp. Header only.
 *
 * docs/data.md tells the meaning of each call. */
#ifndef OVERTAKE_ARRAYS_HPP
#define OVERTAKE_ARRAYS_HPP

#include "overtake.hpp"

namespace overtake {

/* A use of a computation or of an access. */
enum class use : int {
    read = OVERTAKE_USE_READ,
    write = OVERTAKE_USE_WRITE,
    read_write = OVERTAKE_USE_READ_WRITE,
    discard = OVERTAKE_USE_DISCARD,
    relaxed = OVERTAKE_USE_RELAXED
};

namespace detail {

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

template <typename Function> int launch_uses(overtake_lane *handle, void *const *addresses, void *data) noexcept
{
    return guarded([&] {
        lane entered(handle);
        (*static_cast<Function *>(data))(entered, addresses);
    });
}

template <typename Function> int run_uses(void *const *addresses, void *data) noexcept
{
    return guarded([&] { (*static_cast<Function *>(data))(addresses); });
}

} // namespace detail

/* Elements on the host, or on a device, until it is closed or destroyed: later computations that conflict with it
 * wait. */
template <typename T> class access {
public:
    access(overtake_array *array, overtake_access_spec spec, std::size_t count) : count_(count)
    {
        overtake_access *handle = nullptr;
        void *memory = nullptr;
        spec.struct_size = sizeof spec;
        check(overtake_array_open(array, &spec, &memory, &handle));
        handle_ = detail::owned<overtake_access, overtake_access_close>(handle);
        elements_ = static_cast<T *>(memory);
    }

    T *data() const noexcept { return elements_; }
    std::size_t size() const noexcept { return count_; }
    T &operator[](std::size_t index) const noexcept { return elements_[index]; }
    T *begin() const noexcept { return elements_; }
    T *end() const noexcept { return elements_ + count_; }
    void close() { handle_.close(); }

private:
    detail::owned<overtake_access, overtake_access_close> handle_;
    T *elements_ = nullptr;
    std::size_t count_;
};

/* Elements that are where they are used. */
template <typename T> class array {
public:
    array(overtake_array *handle, std::size_t count) noexcept : handle_(handle), count_(count) {}

    overtake_array *get() const noexcept { return handle_.get(); }
    std::size_t size() const noexcept { return count_; }
    /* Waits until the elements are on the host. */
    access<const T> read() const { return {get(), spec(use::read), count_}; }
    access<T> change() const { return {get(), spec(use::write), count_}; }
    /* All are written: nothing is copied. */
    access<T> overwrite() const { return {get(), spec(use::discard), count_}; }
    /* The elements on a device, for code outside. */
    access<T> on_device(use mode, unsigned device = 0) const
    {
        overtake_access_spec wanted = spec(mode);
        wanted.is_on_device = 1;
        wanted.device = device;
        return {get(), wanted, count_};
    }
    /* Adopted memory has its results, and is the program's again. */
    void release()
    {
        check(overtake_array_release(get()));
        (void)handle_.take();
    }

private:
    static overtake_access_spec spec(use mode) noexcept
    {
        overtake_access_spec spec{};
        spec.mode = static_cast<int>(mode);
        return spec;
    }

    detail::owned<overtake_array, overtake_array_free> handle_;
    std::size_t count_;
};

using kernel = detail::owned<overtake_kernel, overtake_kernel_free>;

/* A computation that is being described; submit() submits it. Use it within the expression that makes it. */
class [[nodiscard]] computation {
public:
    computation(overtake_arrays *arrays, std::string name) : arrays_(arrays), name_(std::move(name))
    {
        spec_.struct_size = sizeof spec_;
    }
    computation(const computation &) = delete;
    computation &operator=(const computation &) = delete;
    ~computation()
    {
        if (spec_.free_data != nullptr)
            spec_.free_data(spec_.data);
    }

    /* The next argument: a use of a whole array. */
    template <typename T> computation &with(const array<T> &array, use mode)
    {
        overtake_argument argument{};
        argument.array = array.get();
        argument.mode = static_cast<int>(mode);
        arguments_.push_back(argument);
        return *this;
    }
    /* The next argument of a kernel: a value, which lives until submit(). */
    template <typename T> computation &value(const T &value)
    {
        overtake_argument argument{};
        argument.value = &value;
        argument.value_bytes = sizeof value;
        arguments_.push_back(argument);
        return *this;
    }
    computation &kernel(const overtake::kernel &kernel, std::uint32_t grid, std::uint32_t block)
    {
        spec_.kernel = kernel.get();
        spec_.grid[0] = grid;
        spec_.block[0] = block;
        return *this;
    }
    /* Submits work to the lane: function(lane &, void *const *addresses). */
    template <typename Function> computation &launch(Function function)
    {
        spec_.launch = &detail::launch_uses<Function>;
        return keep(std::move(function));
    }
    /* A function of the host: function(void *const *addresses). */
    template <typename Function> computation &run(Function function)
    {
        spec_.run = &detail::run_uses<Function>;
        return keep(std::move(function));
    }
    computation &priority(int priority)
    {
        spec_.priority = priority;
        return *this;
    }
    computation &on(unsigned device)
    {
        spec_.is_on_device = 1;
        spec_.device = device;
        return *this;
    }
    computation &retries(unsigned most)
    {
        spec_.retries = most;
        return *this;
    }
    computation &after(const task &first)
    {
        after_.push_back(first.get());
        return *this;
    }
    task submit()
    {
        overtake_task *handle = nullptr;
        spec_.name = name_.c_str();
        spec_.arguments = arguments_.data();
        spec_.arguments_count = arguments_.size();
        spec_.after = after_.data();
        spec_.after_count = after_.size();
        overtake_computation_spec spec = spec_;
        spec_.free_data = nullptr; /* from here on the library frees the function */
        check(overtake_compute(arrays_, &spec, &handle));
        return task(handle);
    }

private:
    /* One that it has been given before goes. */
    template <typename Function> computation &keep(Function function)
    {
        void *data = new Function(std::move(function));
        if (spec_.free_data != nullptr)
            spec_.free_data(spec_.data);
        spec_.data = data;
        spec_.free_data = &detail::free_data<Function>;
        return *this;
    }

    overtake_arrays *arrays_;
    std::string name_;
    std::vector<overtake_argument> arguments_;
    std::vector<overtake_task *> after_;
    overtake_computation_spec spec_{};
};

/* A set of arrays with their computations. Destroying it waits for them, and tells of no failure: close() does. */
class arrays {
public:
    explicit arrays(const dispatcher &dispatcher, overtake_arrays_options options = {})
    {
        overtake_arrays *handle = nullptr;
        options.struct_size = sizeof options;
        check(overtake_arrays_open(dispatcher.get(), &options, &handle));
        handle_ = detail::owned<overtake_arrays, overtake_arrays_close>(handle);
    }

    overtake_arrays *get() const noexcept { return handle_.get(); }
    template <typename T> array<T> make(std::size_t count)
    {
        overtake_array *handle = nullptr;
        check(overtake_array_new(get(), count, sizeof(T), &handle));
        return {handle, count};
    }
    /* An array in memory of a device that the program owns, until it is released or this is destroyed. */
    template <typename T> array<T> adopt_on_device(T *memory, std::size_t count, unsigned device = 0)
    {
        overtake_array *handle = nullptr;
        overtake_adopt_spec spec{};
        spec.struct_size = sizeof spec;
        spec.is_on_device = 1;
        spec.device = device;
        spec.memory = memory;
        spec.count = count;
        spec.element_bytes = sizeof(T);
        check(overtake_array_adopt(get(), &spec, &handle));
        return {handle, count};
    }
    /* A kernel of PTX text or of a cubin. */
    overtake::kernel load(const std::string &image, const char *name)
    {
        overtake_kernel *handle = nullptr;
        check(overtake_kernel_load(get(), image.data(), image.size(), name, &handle));
        return overtake::kernel(handle);
    }
    computation compute(std::string name) { return {get(), std::move(name)}; }
    void wait() const { check(overtake_arrays_wait(get())); }
    /* The same for so long at most. Returns whether all computations have ended. */
    bool wait_for(std::chrono::nanoseconds span) const
    {
        int done = 0;
        check(overtake_arrays_wait_for(get(), detail::timeout(span), &done));
        return done != 0;
    }
    /* Waits for the computations, and has the results in memory that was adopted. */
    void close() { handle_.close(); }
    overtake_arrays_statistics statistics() const
    {
        overtake_arrays_statistics statistics{};
        statistics.struct_size = sizeof statistics;
        check(overtake_arrays_read_statistics(get(), &statistics));
        return statistics;
    }

private:
    detail::owned<overtake_arrays, overtake_arrays_close> handle_;
};

} // namespace overtake

#endif /* OVERTAKE_ARRAYS_HPP */
