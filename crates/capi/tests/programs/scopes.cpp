// The C++ header: scopes that end as they should, adopted streams that move, exceptions with numbers and words.
#include <overtake.hpp>

#include "expect.h"

#include <cstring>
#include <string>
#include <thread>
#include <utility>

namespace {

int thread_priority()
{
    int priority = -1;
    OK(overtake_set_thread_priority(OVERTAKE_PRIORITY_BY_RULES, &priority));
    OK(overtake_set_thread_priority(priority, nullptr));
    return priority;
}

int stream_priority(CUstream stream)
{
    int priority = -1;
    OK(overtake_stream_priority(stream, &priority));
    return priority;
}

void scopes()
{
    try {
        overtake::scoped_priority outer(3);
        overtake::scoped_priority inner(7);
        REQUIRE(thread_priority() == 7);
        std::thread([] { REQUIRE(thread_priority() == 0); }).join();
        throw 1;
    } catch (int) {
        REQUIRE(thread_priority() == 0);
    }
}

void refusals()
{
    try {
        overtake::scoped_priority impossible(99);
        REQUIRE(false);
    } catch (const overtake::error &error) {
        REQUIRE(error.code() == OVERTAKE_ERROR_INVALID_ARGUMENT);
        REQUIRE(std::string(error.name()) == "OVERTAKE_ERROR_INVALID_ARGUMENT" && error.what()[0] != '\0');
    }
    REQUIRE(thread_priority() == 0);
}

void adopted_streams(CUstream first, CUstream second)
{
    {
        overtake::adopted_stream urgent(first, 6);
        overtake::adopted_stream moved(std::move(urgent));
        REQUIRE(moved.get() == first && moved.priority() == 6);
        moved.set_priority(2);
        REQUIRE(stream_priority(first) == 2);
        moved = overtake::adopted_stream(second, 5);
        REQUIRE(stream_priority(first) == 0 && stream_priority(second) == 5);
    }
    REQUIRE(stream_priority(second) == 0);
}

void copies(CUstream stream)
{
    const std::size_t bytes = 100000;
    unsigned char *in = pinned_bytes(bytes, 1), *out = pinned_bytes(bytes, 2);
    void *device = on_device(bytes);
    overtake::memcpy_async(device, in, bytes, overtake::direction::host_to_device, stream, 5);
    overtake::memcpy_2d_async(out, 1000, device, 1000, 1000, 50, overtake::direction::device_to_host, stream);
    overtake::memcpy_batch_async({{out + 50000, static_cast<char *>(device) + 50000, 50000}}, stream, 1);
    OK(cuStreamSynchronize(stream));
    REQUIRE(std::memcmp(in, out, bytes) == 0);
    overtake_statistics sums = overtake::statistics();
    REQUIRE(sums.urgent_bytes + sums.kernel_bytes + sums.engine_bytes + sums.passed_on_bytes >= 2 * bytes);
    REQUIRE(overtake::report().find("\"deployment\":\"c\"") != std::string::npos);
}

void queues(CUstream stream)
{
    const std::size_t bytes = 4096;
    unsigned char *in = pinned_bytes(bytes, 1), *out = pinned_bytes(bytes, 2);
    auto device = static_cast<char *>(on_device(2 * bytes));
    {
        overtake::copy_queue first(stream, 1, 8);
        overtake::copy_queue moved(std::move(first));
        moved.copy(device, in, bytes, overtake::direction::host_to_device);
        moved.set(device + bytes, 0x01010101, bytes);
        moved.flush();
        moved.copy(out, device, bytes);
    } // which flushes
    OK(cuStreamSynchronize(stream));
    REQUIRE(std::memcmp(in, out, bytes) == 0);
    overtake::copy_queue second(stream, 7, 8);
    second.copy(out, device + bytes, bytes);
    second.literal();
    try {
        second.copy(out, device + 1, bytes);
        REQUIRE(false);
    } catch (const overtake::error &error) {
        REQUIRE(error.code() == 1); // CUDA_ERROR_INVALID_VALUE
    }
    second.close();
    OK(cuStreamSynchronize(stream));
    REQUIRE(out[0] == 1 && std::memcmp(out, out + 1, bytes - 1) == 0);
    try {
        second.flush();
        REQUIRE(false);
    } catch (const overtake::error &error) {
        REQUIRE(error.code() == OVERTAKE_ERROR_INVALID_HANDLE);
    }
}

} // namespace

int main()
{
    open_device();
    overtake::open();
    REQUIRE(overtake::deployment() == "c" && overtake::priorities() == 7);
    REQUIRE(overtake::version() == overtake_version_text());
    CUstream first = new_stream(), second = new_stream();
    scopes();
    refusals();
    adopted_streams(first, second);
    copies(first);
    queues(first);
    overtake::set_rules("");
    overtake::close();
    std::puts("ok");
}
