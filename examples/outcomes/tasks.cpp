/* Tasks in an order, one that is late, one that fails, one that is cancelled, and a full dispatcher. The same program
 * in C, Rust and Python stands beside it; all four print tasks.txt. */
#include <cuda.h>
#include <overtake.hpp>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>

constexpr std::size_t BYTES = 4096;
constexpr std::chrono::milliseconds SHORT(20);

/* Half of the memory goes to the device, is copied there to the other half, and all of it comes back. */
static void copies(overtake::tasks &tasks)
{
    void *pinned = nullptr;
    CUdeviceptr memory = 0;
    overtake::check(static_cast<int>(cuMemHostAlloc(&pinned, 2 * BYTES, 0)));
    overtake::check(static_cast<int>(cuMemAlloc(&memory, 2 * BYTES)));
    char *host = static_cast<char *>(pinned), *device = reinterpret_cast<char *>(memory);
    std::memset(host, 7, BYTES);
    overtake::task upload =
        tasks.upload("upload", [=](overtake::lane &lane) { lane.copy(device, host, BYTES); }).submit();
    overtake::task twice = tasks.kernel("twice", [=](overtake::lane &lane) { lane.copy(device + BYTES, device, BYTES); })
                               .after(upload)
                               .submit();
    tasks.download("download", [=](overtake::lane &lane) { lane.copy(host, device, 2 * BYTES); })
        .after(twice)
        .submit()
        .wait();
    std::printf("download: %d %d\n", host[0], host[2 * BYTES - 1]);
}

static void tell(const char *name, const overtake::task &task)
{
    try {
        task.wait();
        std::printf("%s: it has ended\n", name);
    } catch (const overtake::error &error) {
        std::printf("%s: %s\n", name, error.what());
    }
}

int main()
{
    CUcontext context;
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    overtake_dispatcher_options options{};
    options.tasks_max = 8;
    overtake::dispatcher dispatcher(options);
    overtake::tasks tasks(dispatcher);
    copies(tasks);

    overtake::task held = tasks.host("held", [] {}).held().submit();
    if (!held.wait_for(SHORT))
        std::printf("held: it has not ended within %d ms\n", static_cast<int>(SHORT.count()));
    held.release();
    tell("held", held);

    overtake::task parse = tasks.host("parse", [] { throw std::runtime_error("the file is empty"); }).submit();
    overtake::task draw = tasks.host("draw", [] {}).after(parse).submit();
    tell("parse", parse);
    tell("draw", draw);

    overtake::task late = tasks.host("late", [] {}).held().submit();
    if (late.cancel()) /* it had not started */
        tell("late", late);

    overtake::task gate = tasks.host("gate", [] {}).held().submit();
    try {
        for (;;)
            tasks.host("behind", [] {}).after(gate).submit();
    } catch (const overtake::error &error) {
        std::printf("full: %s\n", error.what());
    }
    try {
        tasks.host("behind", [] {}).after(gate).submit_within(SHORT);
    } catch (const overtake::error &error) {
        if (error.code() != OVERTAKE_ERROR_WOULD_BLOCK)
            throw;
        std::printf("full: there is no room within %d ms\n", static_cast<int>(SHORT.count()));
    }
    gate.release();
    tell("last", tasks.host("behind", [] {}).after(gate).submit_when_room());
}
