/* overtake for C++17: scoped priorities, adopted streams, exceptions. Header only, over overtake.h. */
#ifndef OVERTAKE_HPP
#define OVERTAKE_HPP

#include "overtake.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
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

} // namespace overtake

#endif /* OVERTAKE_HPP */
