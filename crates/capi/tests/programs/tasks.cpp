// Tasks in C++: lambdas as functions, exceptions that name the task, objects that end as they should.
#include <overtake.hpp>

#include "expect.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t bytes = 64 << 10;

/* The text of the failure of a call, and its number. */
template <typename Call> std::string refused(int code, Call &&call)
{
    try {
        call();
    } catch (const overtake::error &error) {
        REQUIRE(error.code() == code);
        return error.what();
    }
    REQUIRE(false);
    return {};
}

void pipeline(overtake::tasks &tasks)
{
    unsigned char *in = pinned_bytes(bytes, 3), *out = pinned_bytes(bytes, 0);
    void *device = on_device(bytes);
    auto owned = std::make_unique<int>(7); // functions may move only
    int read = 0;
    overtake::task upload = tasks.upload("upload", [=](overtake::lane &lane) {
        lane.copy(device, in, bytes, overtake::direction::host_to_device);
    }).priority(2).submit();
    overtake::task kernel = tasks.kernel("fill", [=](overtake::lane &lane) {
        auto at = static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(device)) + lane.turn();
        overtake::check(static_cast<int>(cuMemsetD8Async(at, static_cast<unsigned char>(100 + lane.turn()), 1,
                                                         lane.stream())));
        if (lane.turn() < 3)
            lane.again();
    }).after(upload).submit();
    overtake::task download = tasks.download("download", [=](overtake::lane &lane) {
        REQUIRE(lane.priority() == 5);
        lane.copy(out, device, bytes);
        lane.sync_point();
    }).after(kernel).priority(5).submit();
    overtake::task host = tasks.host("read", [&read, out, owned = std::move(owned)] {
        read = out[0] + *owned;
    }).after(download).submit();
    int seen = 0; // by a function that comes after the other's run
    tasks.host("prompt", [&seen, &read] { seen = read; }).after_launch(host).submit().wait();
    REQUIRE(seen == 107);
    host.wait();
    REQUIRE(read == 107 && out[3] == 103 && std::memcmp(in + 4, out + 4, bytes - 4) == 0);
    REQUIRE(host.is_done() && upload.is_done());
}

void failures(overtake::tasks &tasks)
{
    overtake::task broken = tasks.host("parse", [] { throw std::runtime_error("no such picture"); }).submit();
    overtake::task after = tasks.light("draw", [] { REQUIRE(false); }).after(broken).submit();
    std::string text = refused(OVERTAKE_ERROR_TASK_FAILED, [&] { broken.wait(); });
    REQUIRE(text.find("task \"parse\" failed: no such picture") != std::string::npos);
    text = refused(OVERTAKE_ERROR_TASK_NOT_RUN, [&] { after.wait(); });
    REQUIRE(text.find("task \"draw\" was not run") != std::string::npos);
    overtake::task odd = tasks.kernel("odd", [](overtake::lane &) { throw 42; }).submit();
    text = refused(OVERTAKE_ERROR_TASK_FAILED, [&] { odd.wait(); });
    REQUIRE(text.find("no std::exception") != std::string::npos);
    overtake::task call = tasks.upload("call", [](overtake::lane &lane) { lane.copy(nullptr, nullptr, 1); }).submit();
    text = refused(OVERTAKE_ERROR_TASK_FAILED, [&] { call.wait(); });
    REQUIRE(text.find("\"call\" failed: ") != std::string::npos);
    refused(OVERTAKE_ERROR_TASK_FAILED, [&] { tasks.wait(); });
}

struct Counted {
    std::atomic<int> *alive;
    explicit Counted(std::atomic<int> *alive) : alive(alive) { ++*alive; }
    Counted(const Counted &other) : alive(other.alive) { ++*alive; }
    ~Counted() { --*alive; }
    Counted &operator=(const Counted &) = delete;
    void operator()() const {}
};

void lifetimes(overtake::dispatcher &dispatcher)
{
    std::atomic<int> alive{0};
    {
        overtake::dispatcher short_lived;
        overtake::tasks tasks(short_lived, "short");
        Counted counted(&alive);
        overtake::task held = tasks.host("held", counted).held().submit();
        tasks.host("run", counted).submit().wait();
        (void)tasks.host("dropped", counted); // described, and not submitted
        refused(OVERTAKE_ERROR_INVALID_ARGUMENT, [&] { tasks.host("odd", counted).priority(-3).submit(); });
        REQUIRE(alive >= 2);
        overtake::task moved = std::move(held), other;
        other = std::move(moved);
        REQUIRE(!other.is_done() && held.get() == nullptr && moved.get() == nullptr);
    }
    REQUIRE(alive == 0);
    overtake::tasks tasks(dispatcher);
    std::vector<int> order;
    overtake::task later = tasks.named("later");
    overtake::task last = tasks.light("last", [&] { order.push_back(3); }).after(later).held().submit();
    {
        overtake::group group(tasks);
        overtake::task first = tasks.kernel("first", [&](overtake::lane &lane) {
            order.push_back(1);
            lane.completes(last);
        }).submit();
        tasks.light("later", [&] { order.push_back(2); }).after(first).named().submit();
        REQUIRE(order.empty());
    }
    later.wait();
    last.hold();
    last.release();
    last.raise(3);
    last.release();
    tasks.wait();
    REQUIRE((order == std::vector<int>{1, 2, 3}));
    order.clear();
    {
        overtake::group group(tasks);
        tasks.light("behind", [&] { order.push_back(3); }).after(group.behind()).submit();
        tasks.light("before", [&] { order.push_back(1); }).after(group.before()).submit();
        int turns = 0;
        REQUIRE(!group.behind().wait_for(std::chrono::milliseconds(1)));
        tasks.kernel("inside", [&order, turns](overtake::lane &) mutable {
            overtake::check(turns++ == 0 ? OVERTAKE_ERROR_REFUSED : OVERTAKE_OK);
            order.push_back(2);
        }).retries(1).submit();
        REQUIRE(order.empty());
        group.end();
        refused(OVERTAKE_ERROR_INVALID_HANDLE, [&] { group.end(); });
    }
    REQUIRE(tasks.wait_for(std::chrono::seconds(20)) && tasks.wait_for(std::chrono::seconds(-1)));
    REQUIRE((order == std::vector<int>{1, 2, 3}));
    tasks.stop();
    overtake::task first = tasks.host("a", [] {}).held().submit(), second = tasks.join("b").held().submit();
    first.precede(second);
    second.release();
    tasks.start();
    REQUIRE(!second.is_done());
    first.release();
    second.wait();
    REQUIRE(dispatcher.statistics().tasks == 0 && dispatcher.statistics().launches > 0);
}

/* Ends that are heard of, tasks that are cancelled, several before one, and room that is waited for. */
void futures()
{
    overtake_dispatcher_options options{};
    options.tasks_max = 8;
    overtake::dispatcher dispatcher(options);
    std::vector<overtake::tasks> sets; // objects may be moved
    sets.emplace_back(dispatcher);
    sets.emplace_back(dispatcher, "other");
    overtake::tasks &tasks = sets[0];
    std::vector<overtake::task> several;
    std::atomic<int> runs{0}, ends{0};
    for (int at = 0; at < 2; at++)
        several.push_back(tasks.host("several", [&] { runs++; }).held().submit());
    overtake::task last = tasks.host("last", [&] { REQUIRE(runs == 3); }).held().submit();
    overtake::task one = sets[1].host("one", [&] { runs++; }).after(several).submit();
    last.succeed(one, several[0]);
    last.release();
    last.when_done([&, owned = std::make_unique<int>(7)] { ends += *owned; });
    last.when_done([&] { throw std::runtime_error("concerns nobody else"); });
    REQUIRE(ends == 0 && !last.is_done());
    overtake::task out = tasks.host("out", [] { REQUIRE(false); }).held().submit();
    overtake::task behind = tasks.kernel("behind", [](overtake::lane &) { REQUIRE(false); }).after(out, last).submit();
    REQUIRE(out.cancel() && !out.cancel());
    std::string text = refused(OVERTAKE_ERROR_TASK_NOT_RUN, [&] { out.wait(); });
    REQUIRE(text == "task \"out\" was not run: it was cancelled");
    for (auto &task : several)
        task.release();
    last.wait();
    while (ends == 0)
        ;
    REQUIRE(ends == 7 && !last.cancel());
    last.when_done([&] { ends++; });
    REQUIRE(ends == 8);
    refused(OVERTAKE_ERROR_TASK_NOT_RUN, [&] { behind.wait(); });
    tasks.wait();

    overtake::task held = tasks.join("held").held().submit();
    overtake::group group(tasks);
    overtake::group moved = std::move(group);
    for (int at = 1; at < 6; at++)
        tasks.join("behind").after(held).submit();
    refused(OVERTAKE_ERROR_WOULD_BLOCK, [&] { tasks.join("full").submit(); });
    refused(OVERTAKE_ERROR_WOULD_BLOCK, [&] { tasks.join("full").submit_within(std::chrono::milliseconds(2)); });
    auto once = tasks.host("once", [&] { runs++; });
    refused(OVERTAKE_ERROR_WOULD_BLOCK, [&] { once.submit(); });
    moved.end();
    held.release();
    tasks.wait();
    // The library has freed its function with the refusal.
    text = refused(OVERTAKE_ERROR_INVALID_ARGUMENT, [&] { once.submit(); });
    REQUIRE(text.find("\"once\"") != std::string::npos);
    for (int at = 0; at < 50; at++)
        tasks.host("more", [&] { runs++; }).submit_when_room();
    tasks.wait();
    REQUIRE(runs == 53);
    overtake::dispatcher elsewhere = std::move(dispatcher);
    REQUIRE(elsewhere.statistics().tasks == 0 && dispatcher.get() == nullptr);
}

/* What a close refuses stays the object's: it can be closed again, and the end of the object closes it. */
void refused_closes()
{
    std::atomic<int> alive{0};
    Counted counted(&alive);
    {
        overtake::dispatcher first, second;
        overtake::tasks others(second);
        overtake::task held = others.host("held", counted).held().submit();
        others.host("inside", [&] {
            for (int turn = 0; turn < 2; turn++) {
                std::string text = refused(OVERTAKE_ERROR_REFUSED, [&] { second.close(); });
                REQUIRE(text.find("overtake_dispatcher_close: not from the function of a task") == 0);
            }
        }).submit().wait();
        REQUIRE(second.statistics().tasks == 1 && alive == 2);
        first.close();
        refused(OVERTAKE_ERROR_INVALID_HANDLE, [&] { first.close(); });
    }
    REQUIRE(alive == 1); // the end of the second dispatcher's object has closed it
}

/* The function of a task waits for no room, of whatever dispatcher. */
void rooms_of_others()
{
    overtake_dispatcher_options options{};
    options.tasks_max = 1;
    overtake::dispatcher dispatcher, full(options);
    overtake::tasks tasks(dispatcher), others(full);
    overtake::task held = others.join("held").held().submit();
    tasks.host("inside", [&] {
        refused(OVERTAKE_ERROR_WOULD_BLOCK, [&] { others.join("at once").submit(); });
        refused(OVERTAKE_ERROR_REFUSED, [&] { others.join("waits").submit_when_room(); });
        refused(OVERTAKE_ERROR_REFUSED, [&] { others.join("waits").submit_within(std::chrono::hours(1)); });
        refused(OVERTAKE_ERROR_INVALID_ARGUMENT, [&] { others.join("named").named().submit_when_room(); });
        held.release();
        while (!held.is_done())
            ;
        others.join("waits").submit_when_room();
    }).submit().wait();
    others.wait();
}

} // namespace

int main()
{
    open_device();
    {
        overtake_dispatcher_options options{};
        options.workers = 3;
        overtake::dispatcher dispatcher(options);
        overtake::tasks tasks(dispatcher), others(dispatcher);
        pipeline(tasks);
        tasks.wait();
        failures(others);
        lifetimes(dispatcher);
    }
    futures();
    refused_closes();
    rooms_of_others();
    overtake::close();
    std::puts("ok");
    return 0;
}
