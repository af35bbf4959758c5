/* overtake's arrays from C++17: RAII and lambdas on top of overtake.h and overtake.hpp. Header only.
 *
 * docs/data.md tells the meaning of each call. */
#ifndef OVERTAKE_ARRAYS_HPP
#define OVERTAKE_ARRAYS_HPP

#include "overtake.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>

namespace overtake {

/* A use of a computation or of an access. */
enum class use : int {
    read = OVERTAKE_USE_READ,
    write = OVERTAKE_USE_WRITE,
    read_write = OVERTAKE_USE_READ_WRITE,
    discard = OVERTAKE_USE_DISCARD,
    relaxed = OVERTAKE_USE_RELAXED
};

/* How a reduction combines elements. */
enum class reduction : int { sum = OVERTAKE_USE_SUM, min = OVERTAKE_USE_MIN, max = OVERTAKE_USE_MAX };

/* Elements one behind the other, as std::span of C++20, which takes it. */
template <typename T> class span {
public:
    span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

    T *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    T &operator[](std::size_t index) const noexcept { return data_[index]; }
    T *begin() const noexcept { return data_; }
    T *end() const noexcept { return data_ + size_; }

private:
    T *data_;
    std::size_t size_;
};

/* How long a call may wait; none is for as long as it takes. */
using timeout = std::optional<std::chrono::nanoseconds>;

/* Elements on the host, or on a device, until it is closed or destroyed: later computations that conflict with it
 * wait. */
template <typename T> class access : public span<T> {
public:
    access(overtake_array *array, overtake_access_spec spec, std::size_t count, timeout within)
        : span<T>(nullptr, count)
    {
        overtake_access *handle = nullptr;
        void *memory = nullptr;
        spec.struct_size = sizeof spec;
        check(overtake_array_open(array, &spec, nullptr, &handle));
        handle_ = detail::owned<overtake_access, overtake_access_close>(handle);
        check(overtake_access_wait_for(handle, within ? detail::timeout(*within) : OVERTAKE_FOR_EVER, &memory));
        if (memory == nullptr) {
            (void)overtake_set_last_error("the elements of an array have not come within the time: wait longer");
            check(OVERTAKE_ERROR_TIMEOUT);
        }
        static_cast<span<T> &>(*this) = span<T>(static_cast<T *>(memory), count);
    }

    void close() { handle_.close(); }

private:
    detail::owned<overtake_access, overtake_access_close> handle_;
};

/* Elements of an array, which the program keeps meanwhile. */
template <typename T> class part {
public:
    part(overtake_array *array, std::size_t first, std::size_t count) noexcept
        : array_(array), first_(first), count_(count)
    {
    }

    overtake_array *get() const noexcept { return array_; }
    std::size_t first() const noexcept { return first_; }
    std::size_t size() const noexcept { return count_; }
    /* Elements of these, one or more. The library refuses those that the array does not have. */
    overtake::part<T> part_of(std::size_t first, std::size_t count) const
    {
        if (count == 0 && count_ != 0) { /* to the library that would be all from the first on */
            (void)overtake_set_last_error("a part of an array has no elements: ask for one or more");
            check(OVERTAKE_ERROR_INVALID_ARGUMENT);
        }
        return {array_, first_ + first, count};
    }
    /* Waits until the elements are on the host. When the time is over the error is OVERTAKE_ERROR_TIMEOUT, and the
     * array is as it was. */
    access<const T> read(timeout within = std::nullopt) const { return {array_, spec(use::read), count_, within}; }
    access<T> change(timeout within = std::nullopt) const { return {array_, spec(use::write), count_, within}; }
    /* All are written: nothing is copied. */
    access<T> overwrite(timeout within = std::nullopt) const { return {array_, spec(use::discard), count_, within}; }
    /* Has the elements copied to the host, or to a device, before they are asked for there. It waits so long for room
     * on a full device: then the error is OVERTAKE_ERROR_TIMEOUT. */
    task bring(std::optional<unsigned> device = std::nullopt, int priority = 0,
               std::chrono::nanoseconds room = std::chrono::seconds(60)) const
    {
        overtake_access_spec wanted = spec(use::read);
        overtake_task *handle = nullptr;
        wanted.struct_size = sizeof wanted;
        wanted.priority = priority;
        wanted.is_on_device = device.has_value();
        wanted.device = device.value_or(0);
        wanted.room_timeout_ns = detail::room_timeout(room);
        check(overtake_array_bring(array_, &wanted, &handle));
        return task(handle);
    }
    /* The elements on a device, for code outside. It waits for room as bring, and for the elements as read. */
    access<T> on_device(use mode, unsigned device = 0, std::chrono::nanoseconds room = std::chrono::seconds(60),
                        timeout within = std::nullopt) const
    {
        overtake_access_spec wanted = spec(mode);
        wanted.is_on_device = 1;
        wanted.device = device;
        wanted.room_timeout_ns = detail::room_timeout(room);
        return {array_, wanted, count_, within};
    }

private:
    overtake_access_spec spec(use mode) const noexcept
    {
        overtake_access_spec spec{};
        spec.mode = static_cast<int>(mode);
        spec.first = first_;
        spec.count = count_;
        return spec;
    }

    overtake_array *array_;
    std::size_t first_, count_;
};

/* Elements that are where they are used. */
template <typename T> class array : public overtake::part<T> {
public:
    array(overtake_array *handle, std::size_t count) noexcept : overtake::part<T>(handle, 0, count), handle_(handle) {}

    overtake::part<T> part(std::size_t first, std::size_t count) const { return this->part_of(first, count); }
    /* Adopted memory has its results, and is the program's again. */
    void release()
    {
        check(overtake_array_release(handle_.get()));
        (void)handle_.take();
    }

private:
    detail::owned<overtake_array, overtake_array_free> handle_;
};

/* A use of elements in a computation, whose function gets them as a span of T. */
template <typename T> struct used {
    overtake_argument argument{};
    std::size_t size = 0;
};

namespace detail {

template <typename T, typename Element> used<T> use_of(const part<Element> &elements, int mode, unsigned type = 0)
{
    used<T> found;
    found.argument.array = elements.get();
    found.argument.mode = mode;
    found.argument.element_type = type;
    found.argument.first = elements.first();
    found.argument.count = elements.size();
    found.size = elements.size();
    return found;
}

/* The number of a type that reductions know. */
template <typename T> constexpr unsigned type_of() noexcept
{
    static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8, "a reduction is one of numbers");
    if constexpr (std::is_floating_point_v<T>)
        return sizeof(T) == 4 ? OVERTAKE_TYPE_FLOAT32 : OVERTAKE_TYPE_FLOAT64;
    constexpr unsigned log = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return (std::is_signed_v<T> ? OVERTAKE_TYPE_INT8 : OVERTAKE_TYPE_UINT8) + log;
}

} // namespace detail

template <typename T> used<const T> read(const part<T> &elements)
{
    return detail::use_of<const T>(elements, OVERTAKE_USE_READ);
}
/* Some may be written: those that were never written are zeros. */
template <typename T> used<T> write(const part<T> &elements)
{
    return detail::use_of<T>(elements, OVERTAKE_USE_WRITE);
}
template <typename T> used<T> read_write(const part<T> &elements)
{
    return detail::use_of<T>(elements, OVERTAKE_USE_READ_WRITE);
}
/* All are written: nothing is copied. */
template <typename T> used<T> discard(const part<T> &elements)
{
    return detail::use_of<T>(elements, OVERTAKE_USE_DISCARD);
}
/* Added to, with no order among such uses; a function has elements of its own to add to. */
template <typename T> used<T> reduce(const part<T> &elements, reduction by = reduction::sum)
{
    return detail::use_of<T>(elements, static_cast<int>(by), detail::type_of<T>());
}
template <typename T> used<T> relaxed(const part<T> &elements)
{
    return detail::use_of<T>(elements, OVERTAKE_USE_RELAXED);
}

using kernel = detail::owned<overtake_kernel, overtake_kernel_free>;

/* So many blocks, or threads, along each axis. */
struct dim {
    std::uint32_t x = 1, y = 1, z = 1;
    dim(std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1) noexcept : x(x), y(y), z(z) {}
};

/* The launch of a kernel. */
struct shape {
    dim grid, block;
    std::uint32_t shared_bytes = 0;
    shape(dim grid, dim block, std::uint32_t shared_bytes = 0) noexcept
        : grid(grid), block(block), shared_bytes(shared_bytes)
    {
    }
};

namespace detail {

/* A function, and the numbers of elements of its uses. */
template <typename Function, typename... T> class typed {
public:
    typed(Function function, const used<T> &...uses) : function_(std::move(function)), sizes_{uses.size...} {}

    template <typename... First> void operator()(void *const *addresses, First &...first)
    {
        call(addresses, std::index_sequence_for<T...>{}, first...);
    }

private:
    template <std::size_t... At, typename... First>
    void call(void *const *addresses, std::index_sequence<At...>, First &...first)
    {
        (void)addresses;
        function_(first..., span<T>(static_cast<T *>(addresses[At]), sizes_[At])...);
    }

    Function function_;
    std::array<std::size_t, sizeof...(T)> sizes_;
};

template <typename Function> int launch_uses(overtake_lane *handle, void *const *addresses, void *data) noexcept
{
    return guarded([&] {
        lane entered(handle);
        (*static_cast<Function *>(data))(addresses, entered);
    });
}

template <typename Function> int run_uses(void *const *addresses, void *data) noexcept
{
    return guarded([&] { (*static_cast<Function *>(data))(addresses); });
}

} // namespace detail

/* A computation that is being described; submit() submits it, a function once. Use it within the expression that makes
 * it. */
class [[nodiscard]] computation {
public:
    /* A launch of a kernel. */
    template <typename... Arguments>
    computation(overtake_arrays *arrays, std::string name, const kernel &kernel, const shape &shape,
                const Arguments &...arguments)
        : computation(arrays, std::move(name))
    {
        (argument(arguments), ...);
        spec_.kernel = kernel.get();
        put(spec_.grid, shape.grid);
        put(spec_.block, shape.block);
        spec_.shared_bytes = shape.shared_bytes;
    }
    /* A function, which stands behind its uses. */
    template <bool IsHost, typename Parts, std::size_t... Uses>
    computation(overtake_arrays *arrays, std::string name, std::bool_constant<IsHost>, Parts parts,
                std::index_sequence<Uses...>)
        : computation(arrays, std::move(name))
    {
        calls<IsHost>(std::get<sizeof...(Uses)>(std::move(parts)), std::get<Uses>(parts)...);
    }
    computation(const computation &) = delete;
    computation &operator=(const computation &) = delete;
    ~computation()
    {
        if (spec_.free_data != nullptr)
            spec_.free_data(spec_.data);
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
    /* It has one more reference, which task::release takes away: until then it does not start. */
    computation &held()
    {
        ++spec_.references;
        return *this;
    }
    computation &retries(unsigned most)
    {
        spec_.retries = most;
        return *this;
    }
    /* It also comes after these: tasks, and containers of tasks. */
    template <typename... Tasks> computation &after(const Tasks &...first)
    {
        (detail::add(after_, first), ...);
        return *this;
    }
    task submit() { return submit_waiting(0); }
    /* Waits for room in a full dispatcher, and on a full device, for which submit() waits for 60 s. In the function of
     * a task that is refused. */
    task submit_when_room() { return submit_waiting(OVERTAKE_FOR_EVER); }
    /* The same for so long at most: then the error is OVERTAKE_ERROR_WOULD_BLOCK, or OVERTAKE_ERROR_TIMEOUT if it is
     * the device that is full. */
    task submit_within(std::chrono::nanoseconds span) { return submit_waiting(detail::room_timeout(span)); }

private:
    computation(overtake_arrays *arrays, std::string name) : arrays_(arrays), name_(std::move(name))
    {
        spec_.struct_size = sizeof spec_;
    }

    task submit_waiting(std::int64_t room_timeout_ns)
    {
        overtake_task *handle = nullptr;
        spec_.name = name_.c_str();
        spec_.arguments = detail::start(arguments_);
        spec_.arguments_count = arguments_.size();
        spec_.after = detail::start(after_);
        spec_.after_count = after_.size();
        spec_.room_timeout_ns = room_timeout_ns;
        overtake_computation_spec spec = spec_;
        spec_.free_data = nullptr; /* from here on the library frees the function */
        spec_.launch = nullptr, spec_.run = nullptr, spec_.data = nullptr;
        check(overtake_compute(arrays_, &spec, &handle));
        return task(handle);
    }
    static void put(std::uint32_t (&to)[3], const dim &from) noexcept { to[0] = from.x, to[1] = from.y, to[2] = from.z; }
    template <typename T> void argument(const used<T> &use) { arguments_.push_back(use.argument); }
    template <typename T> void argument(const T &value)
    {
        static_assert(std::is_trivially_copyable_v<T>, "an argument of a kernel is a use of an array, or plain data");
        values_.push_back(std::make_unique<unsigned char[]>(sizeof value));
        std::memcpy(values_.back().get(), &value, sizeof value);
        overtake_argument argument{};
        argument.value = values_.back().get();
        argument.value_bytes = sizeof value;
        arguments_.push_back(argument);
    }
    template <bool IsHost, typename Function, typename... T> void calls(Function function, const used<T> &...uses)
    {
        using typed = detail::typed<Function, T...>;
        if constexpr (IsHost) {
            static_assert(std::is_invocable_v<Function &, span<T>...>, "the function takes a span for each use");
            spec_.run = &detail::run_uses<typed>;
        } else {
            static_assert(std::is_invocable_v<Function &, lane &, span<T>...>,
                          "the function takes a lane, and a span for each use");
            spec_.launch = &detail::launch_uses<typed>;
        }
        (argument(uses), ...);
        spec_.data = new typed(std::move(function), uses...);
        spec_.free_data = &detail::free_data<typed>;
    }

    overtake_arrays *arrays_;
    std::string name_;
    std::vector<overtake_argument> arguments_;
    std::vector<std::unique_ptr<unsigned char[]>> values_;
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
    /* A token: an array without elements, for an order that is not about memory. A function gets an empty span for it,
     * and a kernel has no parameter for it. */
    array<unsigned char> token()
    {
        overtake_array *handle = nullptr;
        check(overtake_token_new(get(), &handle));
        return {handle, 0};
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
    /* A kernel: its arguments are uses of arrays, and values. */
    template <typename... Arguments>
    computation compute(std::string name, const overtake::kernel &kernel, const shape &shape,
                        const Arguments &...arguments)
    {
        return {get(), std::move(name), kernel, shape, arguments...};
    }
    /* Work of the device: uses, and at last function(lane &, span...), which submits it to the lane. */
    template <typename... Parts> computation launch(std::string name, Parts &&...parts)
    {
        return {get(), std::move(name), std::false_type(), std::forward_as_tuple(std::forward<Parts>(parts)...),
                std::make_index_sequence<sizeof...(Parts) - 1>()};
    }
    /* A function of the host: uses, and at last function(span...). */
    template <typename... Parts> computation run(std::string name, Parts &&...parts)
    {
        return {get(), std::move(name), std::true_type(), std::forward_as_tuple(std::forward<Parts>(parts)...),
                std::make_index_sequence<sizeof...(Parts) - 1>()};
    }
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
