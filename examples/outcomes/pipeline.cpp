/* Frames from a producer to a consumer: waits that are in vain, one that is given up, one that fails, and ends that
 * leave. The same program in C, Rust and Python stands beside it; all four print pipeline.txt. */
#include <cuda.h>
#include <overtake_pipelines.hpp>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>

constexpr std::size_t BYTES = 4096;
constexpr std::chrono::milliseconds SHORT(20);

static overtake::pipeline open_line(const overtake::tasks &tasks)
{
    overtake_pipeline_options options{};
    options.stages = 2;
    return {tasks, "camera", BYTES, options};
}

static void shoot(overtake::producer &producer, int value)
{
    auto frame = producer.acquire(); /* this pipeline keeps every frame */
    std::memset(frame->host(), value, BYTES);
    frame->upload();
    frame->commit();
}

/* Whether there is a frame, or will be. */
static bool view(overtake::consumer &consumer)
{
    auto frame = consumer.wait();
    if (!frame)
        return false;
    frame->download().wait();
    int last = static_cast<char *>(frame->host())[BYTES - 1];
    std::printf("frame %d has %d\n", static_cast<int>(frame->number()), last);
    return true;
}

/* Tells of a wait that takes too long. */
template <typename Wait> static void try_to(const char *what, Wait wait)
{
    try {
        wait();
    } catch (const overtake::error &error) {
        if (error.code() != OVERTAKE_ERROR_TIMEOUT)
            throw;
        std::printf("%s within %d ms\n", what, static_cast<int>(SHORT.count()));
    }
}

int main()
{
    CUcontext context;
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    overtake::dispatcher dispatcher;
    overtake::tasks tasks(dispatcher);
    overtake::pipeline line = open_line(tasks), other = open_line(tasks);
    overtake::producer &producer = line.producer;
    overtake::consumer &consumer = line.consumer;

    try_to("consumer: no frame", [&] { consumer.wait_for(SHORT); });
    shoot(producer, 7);
    view(consumer);

    producer.acquire()->give_up(); /* frame 1: the consumer never sees it */
    shoot(producer, 9);
    view(consumer);

    shoot(producer, 10);
    shoot(producer, 11);
    try_to("producer: no stage", [&] { producer.acquire_for(SHORT); });
    view(consumer);
    view(consumer);

    if (auto frame = producer.acquire()) {
        frame->kernel("shoot", [](overtake::lane &) { throw std::runtime_error("the cable is out"); });
        frame->commit();
    }
    try {
        view(consumer);
    } catch (const overtake::error &error) {
        std::printf("consumer: %s\n", error.what()); /* the next call is about the next frame */
    }

    shoot(producer, 13);
    producer.leave();
    view(consumer);
    if (!view(consumer))
        std::puts("consumer: the producer has left");

    other.consumer.leave();
    try {
        shoot(other.producer, 0);
    } catch (const overtake::error &error) {
        std::printf("producer: %s\n", error.what());
    }
}
