/* Arrays in C++: objects free the handles, lambdas are the functions, and failures are exceptions. */
#include "expect.h"

#include <overtake_arrays.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <sstream>
#include <utility>
#include <vector>

using overtake::use;

namespace {

/* Elements are brought before they are asked for: later reads find them. */
void brings(overtake::arrays &arrays)
{
    auto bytes = arrays.make<unsigned char>(100);
    auto downloads = [&] { return arrays.statistics().downloads; };
    arrays.launch("fill", discard(bytes), [](overtake::lane &lane, overtake::span<unsigned char> at) {
        auto address = static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(at.data()));
        overtake::check(static_cast<int>(cuMemsetD8Async(address, 7, at.size(), lane.stream())));
    }).submit();
    bytes.bring(0).wait(); // they are there
    const auto before = downloads();
    bytes.part(50, 10).bring(std::nullopt, 2).wait();
    REQUIRE(downloads() == before + 1);
    REQUIRE(bytes.part(50, 10).read()[9] == 7 && downloads() == before + 1);
    REQUIRE(bytes.read()[99] == 7 && downloads() > before + 1);
    const auto uploads = arrays.statistics().uploads;
    bytes.overwrite()[0] = 1;
    bytes.bring(0).wait();
    REQUIRE(arrays.statistics().uploads == uploads + 1);
}

/* Parts and reductions: computations on two halves have no order, and both add to one sum. */
void parts(overtake::arrays &arrays)
{
    constexpr std::size_t half = 100;
    auto numbers = arrays.make<std::int32_t>(2 * half);
    auto sum = arrays.make<std::int64_t>(1), least = arrays.make<std::int64_t>(1);
    sum.overwrite()[0] = 1000;
    least.overwrite()[0] = 1000;
    const overtake::part<std::int32_t> halves[] = {numbers.part(0, half), numbers.part(half, half)};
    for (int at = 0; at < 2; at++) {
        arrays.run("fill", discard(halves[at]), [at](overtake::span<std::int32_t> all) {
            REQUIRE(all.size() == half);
            std::iota(all.begin(), all.end(), at * 1000 + 7);
        }).submit();
    }
    for (const auto &each : halves) {
        const auto both = [](overtake::span<const std::int32_t> of, overtake::span<std::int64_t> into,
                             overtake::span<std::int64_t> lowest) {
            REQUIRE(of.size() == half && into.size() == 1);
            into[0] += std::accumulate(of.begin(), of.end(), std::int64_t{0});
            lowest[0] = std::min<std::int64_t>(lowest[0], *std::min_element(of.begin(), of.end()));
        };
        arrays.run("sum", read(each), reduce(sum), reduce(least, overtake::reduction::min), both).submit();
    }
    REQUIRE(sum.read()[0] == 1000 + 2 * (half * (half - 1) / 2 + 7 * half) + 1000 * half);
    REQUIRE(least.read()[0] == 7);
    auto second = halves[1].read();
    REQUIRE(second.size() == half && second[0] == 1007 && *(second.end() - 1) == 1106);
    second.close();
    halves[1].change()[3] = 5;
    REQUIRE(numbers.read()[half + 3] == 5);
    // A token orders functions that share no memory.
    auto token = arrays.token();
    std::string seen;
    for (char name : {'a', 'b', 'c'})
        arrays.run("append", write(token), [&seen, name](overtake::span<unsigned char> none) {
            REQUIRE(none.size() == 0);
            seen += name;
        }).submit();
    arrays.run("look", read(token), [&seen](overtake::span<const unsigned char>) { REQUIRE(seen == "abc"); }).submit().wait();
    // Objects may be moved, and kept in containers.
    std::vector<overtake::array<std::int32_t>> several;
    several.push_back(std::move(numbers));
    several.push_back(arrays.make<std::int32_t>(3));
    arrays.run("room", read_write(several[0]), [](overtake::span<std::int32_t>) {}).submit_when_room();
    arrays.run("room", read(several[0]), [](overtake::span<const std::int32_t>) {})
        .submit_within(std::chrono::seconds(20));
    std::vector<overtake::task> tasks;
    for (auto &each : several)
        tasks.push_back(arrays.run("add", write(each.part(0, 1)), [](overtake::span<std::int32_t> one) {
            one[0]++;
        }).held().submit());
    overtake::task behind = arrays.run("behind", write(several[1]), [](overtake::span<std::int32_t> all) {
        all[2] = all[0];
    }).after(tasks).submit();
    REQUIRE(!behind.is_done());
    for (auto &task : tasks)
        task.release();
    REQUIRE(several[0].read()[0] == 8 && several[1].read()[2] == 1);
}

/* Accesses end with their time, and leave the array as it was. */
void late(overtake::arrays &arrays)
{
    using namespace std::chrono_literals;
    auto x = arrays.make<std::int32_t>(100);
    x.overwrite()[3] = 7;
    overtake::task held = arrays.run("held", read_write(x), [](overtake::span<std::int32_t> all) { all[3]++; })
                              .held()
                              .submit();
    const auto is_late = [](auto access) {
        try {
            (void)access();
            REQUIRE(!"it is too late");
        } catch (const overtake::error &failure) {
            REQUIRE(failure.code() == OVERTAKE_ERROR_TIMEOUT);
            REQUIRE(std::string(failure.what()).find("have not come within the time") != std::string::npos);
        }
    };
    is_late([&] { return x.read(1ms); });
    is_late([&] { return x.part(3, 1).change(0ns); });
    is_late([&] { return x.overwrite(1ms); });
    is_late([&] { return x.on_device(use::read, 0, 60s, 1ms); });
    held.release();
    REQUIRE(x.read(20s)[3] == 8);
}

/* The functions that are alive. */
struct Counted {
    std::atomic<int> *alive;
    explicit Counted(std::atomic<int> *alive) : alive(alive) { ++*alive; }
    Counted(const Counted &other) : alive(other.alive) { ++*alive; }
    ~Counted() { --*alive; }
    Counted &operator=(const Counted &) = delete;
};

} // namespace

int main()
{
    constexpr std::size_t count = 4096;
    const std::uint32_t elements = count;
    open_device();
    std::ostringstream text;
    text << std::ifstream(KERNELS_PTX).rdbuf();
    {
        overtake::dispatcher dispatcher;
        overtake::arrays arrays(dispatcher);
        overtake::kernel add = arrays.load(text.str(), "work_add");
        parts(arrays);
        overtake::arrays apart(dispatcher);
        brings(apart);
        late(apart);
        auto x = arrays.make<float>(count), y = arrays.make<float>(count);
        auto total = arrays.make<double>(1);
        {
            auto all = x.overwrite();
            std::iota(all.begin(), all.end(), 0.0f);
        }
        const overtake::shape blocks(count / 256, 256);
        auto doubled = arrays.compute("double", add, blocks, read(x), read(x), discard(y), elements);
        overtake::task task = doubled.priority(3).submit();
        const auto sum = [](overtake::span<const float> of, overtake::span<double> into) {
            into[0] = std::accumulate(of.begin(), of.end(), 0.0);
        };
        arrays.run("sum", read(y), discard(total), sum).after(task).submit();
        REQUIRE(total.read()[0] == count * (count - 1.0));
        REQUIRE(arrays.statistics().uploads == 1 && arrays.statistics().downloads == 1);

        auto *memory = static_cast<float *>(on_device(count * sizeof(float)));
        auto adopted = arrays.adopt_on_device(memory, count);
        arrays.launch("clear", discard(adopted), [](overtake::lane &lane, overtake::span<float> all) {
            OK(cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(all.data()), 0, all.size() * sizeof(float),
                               static_cast<CUstream>(lane.stream())));
        }).retries(1).submit();
        REQUIRE(adopted.on_device(use::read).data() == memory);
        adopted.change()[9] = 5.0f;
        adopted.release();
        float seen = 0;
        OK(cuMemcpyDtoH(&seen, reinterpret_cast<CUdeviceptr>(memory + 9), sizeof seen));
        REQUIRE(seen == 5.0f);

        // A function goes with its task, and one that C refuses at once.
        std::atomic<int> alive{0};
        {
            auto clears = [counted = Counted(&alive)](overtake::lane &, overtake::span<float>) {};
            arrays.launch("once", discard(y), clears).submit().wait();
            (void)arrays.launch("never", discard(y), clears);
            try {
                arrays.launch("beyond", discard(y.part(1, count)), clears).submit();
                REQUIRE(!"it is refused");
            } catch (const overtake::error &failure) {
                REQUIRE(failure.code() == OVERTAKE_ERROR_INVALID_ARGUMENT);
            }
            REQUIRE(alive <= 2);
            auto again = arrays.launch("again", discard(y), clears);
            again.priority(-3);
            for (int turn = 0; turn < 2; turn++) {
                try {
                    again.submit();
                    REQUIRE(!"it is refused, and its function is freed then");
                } catch (const overtake::error &failure) {
                    const bool is_of_priority = std::string(failure.what()).find("-3") != std::string::npos;
                    REQUIRE(failure.code() == OVERTAKE_ERROR_INVALID_ARGUMENT && is_of_priority == (turn == 0));
                }
            }
            try {
                (void)y.part(3, 0); // not all from the third on
                REQUIRE(!"it is refused");
            } catch (const overtake::error &failure) {
                REQUIRE(failure.code() == OVERTAKE_ERROR_INVALID_ARGUMENT);
            }
            (void)arrays.token().part(0, 0);
        }
        REQUIRE(arrays.wait_for(std::chrono::seconds(20)));
        while (alive != 0)
            ; // a moment after the task has ended

        auto access = x.read();
        access.close();
        try {
            access.close();
            REQUIRE(!"it is closed");
        } catch (const overtake::error &failure) {
            REQUIRE(failure.code() == OVERTAKE_ERROR_INVALID_HANDLE);
        }

        try {
            arrays.run("parse", discard(y), [](overtake::span<float>) {
                throw std::runtime_error("the file is empty");
            }).submit();
            (void)y.read();
            REQUIRE(!"it was not read");
        } catch (const overtake::error &failure) {
            REQUIRE(std::string(failure.what()).find("the file is empty") != std::string::npos);
        }
        // A close that is refused leaves the set open.
        overtake::task inside = arrays.run("inside", read(x), [&](overtake::span<const float>) {
            for (int turn = 0; turn < 2; turn++) {
                try {
                    arrays.close();
                    REQUIRE(!"it is refused");
                } catch (const overtake::error &failure) {
                    REQUIRE(failure.code() == OVERTAKE_ERROR_REFUSED);
                }
            }
        }).submit();
        inside.wait();
        REQUIRE(arrays.statistics().uploads > 0);
        arrays.close();
        dispatcher.close();
    }
    overtake::close();
    std::puts("ok");
}
