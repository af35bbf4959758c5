// Templates and pipelines in C++: frames go through both ends, recorded tasks are replayed in them, objects end what
// they stand for.
#include <overtake_pipelines.hpp>

#include "expect.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

constexpr std::size_t bytes = 16 << 10;
constexpr int frames = 10;

/* The arguments of a replay. */
struct Work {
    void *device;
    unsigned char value;
    std::atomic<int> *sum;
};

CUdeviceptr at(void *device)
{
    return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(device));
}

/* Fills memory of the device, and then counts on the host. */
overtake::recording<Work> recorded()
{
    overtake::recording<Work> recording;
    auto fill = recording.kernel("fill", [](overtake::lane &lane, const Work &work) {
        overtake::check(static_cast<int>(cuMemsetD8Async(at(work.device), work.value, bytes, lane.stream())));
    });
    auto again = recording.kernel("again", [](overtake::lane &lane, const Work &work) {
        REQUIRE(lane.priority() >= 2);
        overtake::check(static_cast<int>(cuMemsetD8Async(at(work.device), 200, 1, lane.stream())));
    }, {fill}, 2);
    recording.host("count", [](const Work &work) {
        if (work.value == 99)
            throw std::runtime_error("no such value");
        *work.sum += work.value;
    }, {again, fill});
    return recording;
}

std::string refused(int code, overtake::task task)
{
    try {
        task.wait();
    } catch (const overtake::error &error) {
        REQUIRE(error.code() == code);
        return error.what();
    }
    REQUIRE(false);
    return {};
}

void replays(overtake::tasks &tasks)
{
    void *device = on_device(bytes);
    std::atomic<int> sum{0};
    auto recording = recorded();
    overtake::task before = tasks.join("before").held().submit();
    overtake::task first = recording.replay({device, 3, &sum}).after(before).priority(4).submit(tasks);
    overtake::task second = recording.replay({device, 4, &sum}).after(first, before).submit(tasks);
    REQUIRE(sum == 0 && !second.is_done());
    before.release();
    second.wait();
    REQUIRE(sum == 7 && first.is_done());
    std::string text = refused(OVERTAKE_ERROR_TASK_FAILED, recording.replay({device, 99, &sum}).submit(tasks));
    REQUIRE(text == "task \"count\" failed: no such value");

    auto once = recording.replay({device, 5, &sum});
    once.submit(tasks).wait();
    try {
        (void)once.submit(tasks); // its arguments are those of the first
        REQUIRE(false);
    } catch (const overtake::error &error) {
        REQUIRE(error.code() == OVERTAKE_ERROR_INVALID_ARGUMENT);
    }
}

/* A replay waits for room for all its tasks, if it is told to. */
void room()
{
    overtake_dispatcher_options options{};
    options.tasks_max = 8;
    overtake::dispatcher dispatcher(options);
    overtake::tasks tasks(dispatcher);
    void *device = on_device(bytes);
    std::atomic<int> sum{0};
    auto recording = recorded();
    overtake::task held = tasks.join("held").held().submit();
    for (int at = 1; at < 7; at++)
        tasks.join("behind").after(held).submit();
    auto full = [](auto &&submit) {
        try {
            submit();
            REQUIRE(false);
        } catch (const overtake::error &error) {
            REQUIRE(error.code() == OVERTAKE_ERROR_WOULD_BLOCK);
        }
    };
    full([&] { recording.replay({device, 1, &sum}).submit(tasks); });
    full([&] { recording.replay({device, 1, &sum}).submit_within(tasks, std::chrono::milliseconds(2)); });
    held.release();
    for (int at = 0; at < 30; at++)
        recording.replay({device, 1, &sum}).submit_when_room(tasks);
    recording.replay({device, 1, &sum}).submit_within(tasks, std::chrono::minutes(1)).wait();
    tasks.wait();
    REQUIRE(sum == 31);
}

void pipelines(overtake::tasks &tasks)
{
    overtake_pipeline_options options{};
    options.stages = 2;
    options.priority = 3;
    overtake::pipeline line(tasks, "camera", bytes, options);
    auto recording = recorded();
    std::atomic<int> sum{0};
    std::thread shoots([&, producer = std::move(line.producer)]() mutable {
        for (int number = 0; number < frames; number++) {
            auto frame = producer.acquire();
            REQUIRE(frame && frame->number() == static_cast<std::uint64_t>(number) && frame->bytes() == bytes);
            if (number == 4)
                continue; // it is given up
            std::memset(frame->host(), number, bytes);
            auto up = frame->upload();
            frame->kernel("mark", [device = frame->device()](overtake::lane &lane) {
                overtake::check(static_cast<int>(cuMemsetD8Async(at(device) + 1, 77, 1, lane.stream())));
            }, up);
            if (number == 5)
                frame->host_task("fail", [] { throw std::runtime_error("no picture"); }, up);
            if (number % 2 == 0)
                frame->hand_over();
            else
                frame->commit();
        }
    });
    int seen = 0, failed = 0;
    for (;;) {
        try {
            auto frame = line.consumer.wait();
            if (!frame)
                break;
            if (frame->number() == 8)
                frame->replay(recording.replay({frame->device(), 9, &sum})).wait();
            frame->download().wait();
            auto *first = static_cast<unsigned char *>(frame->host());
            const bool is_replayed = frame->number() == 8;
            REQUIRE(first[0] == (is_replayed ? 200 : frame->number()));
            REQUIRE(first[1] == (is_replayed ? 9 : 77) && frame->priority() == 3);
            frame->complete();
            if (seen++ % 2 == 0)
                frame->release();
        } catch (const overtake::error &error) {
            REQUIRE(error.code() == OVERTAKE_ERROR_FRAME_FAILED);
            REQUIRE(std::string(error.what()).find("no picture") != std::string::npos);
            failed++;
        }
    }
    shoots.join();
    REQUIRE(seen == frames - 2 && failed == 1 && sum == 9);
    auto counts = line.statistics();
    REQUIRE(counts.frames == frames && counts.given_up == 1 && counts.failed == 1 && counts.under_way == 0);
    int records = 0;
    while (line.take_record().end != 0)
        records++;
    REQUIRE(records == frames);
}

/* The consumer is behind, or is not there at all. */
void ends(overtake::tasks &tasks)
{
    overtake_pipeline_options options{};
    options.stages = 1;
    options.behind = OVERTAKE_BEHIND_DROP_NEWEST;
    overtake::pipeline dropping(tasks, "dropping", bytes, options);
    dropping.producer.acquire()->commit();
    REQUIRE(!dropping.producer.acquire());
    options.behind = OVERTAKE_BEHIND_BLOCK;
    overtake::pipeline blocking(tasks, "blocking", bytes, options), moved = std::move(blocking);
    auto frame = moved.producer.acquire();
    frame->captured(std::chrono::milliseconds(1));
    try {
        (void)moved.consumer.wait_for(std::chrono::milliseconds(1));
        REQUIRE(!"there is none");
    } catch (const overtake::error &error) {
        REQUIRE(error.code() == OVERTAKE_ERROR_TIMEOUT);
    }
    frame->give_up();
    overtake::pipeline other(tasks, "other", bytes, options);
    auto kept = other.producer.acquire();
    frame = moved.producer.acquire(); // an end has one in hand, and the variable takes the next
    REQUIRE(frame && frame->number() == 1);
    frame = std::move(kept);          // that one is given up
    REQUIRE(moved.statistics().given_up == 2 && other.statistics().given_up == 0);
    frame->commit();
    auto view = other.consumer.wait();
    view->release();
    other.producer.leave();
    view = other.consumer.wait();
    REQUIRE(!view);
    moved.producer.leave();
    REQUIRE(!moved.consumer.wait());
}

} // namespace

int main()
{
    open_device();
    {
        overtake::dispatcher dispatcher;
        overtake::tasks tasks(dispatcher);
        overtake::tasks replayed(dispatcher);
        replays(replayed);
        pipelines(tasks);
        ends(tasks);
    }
    room();
    overtake::close();
    std::puts("ok");
    return 0;
}
