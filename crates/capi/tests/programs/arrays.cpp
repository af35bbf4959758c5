/* Arrays in C++: objects free the handles, lambdas are the functions, and failures are exceptions. */
#include "expect.h"

#include <overtake_arrays.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <sstream>

using overtake::use;

namespace {

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
        auto x = arrays.make<float>(count), y = arrays.make<float>(count);
        auto total = arrays.make<double>(1);
        {
            auto all = x.overwrite();
            std::iota(all.begin(), all.end(), 0.0f);
        }
        auto doubled = arrays.compute("double");
        doubled.with(x, use::read).with(x, use::read).with(y, use::discard).value(elements);
        overtake::task task = doubled.kernel(add, count / 256, 256).priority(3).submit();
        arrays.compute("sum").with(y, use::read).with(total, use::discard).after(task).run([](void *const *at) {
            auto *first = static_cast<const float *>(at[0]);
            *static_cast<double *>(at[1]) = std::accumulate(first, first + count, 0.0);
        }).submit();
        REQUIRE(total.read()[0] == count * (count - 1.0));
        REQUIRE(arrays.statistics().uploads == 1 && arrays.statistics().downloads == 1);

        auto *memory = static_cast<float *>(on_device(count * sizeof(float)));
        auto adopted = arrays.adopt_on_device(memory, count);
        arrays.compute("clear").with(adopted, use::discard).retries(1).launch([](overtake::lane &lane, void *const *at) {
            OK(cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(at[0]), 0, count * sizeof(float),
                               static_cast<CUstream>(lane.stream())));
        }).submit();
        REQUIRE(adopted.on_device(use::read).data() == memory);
        adopted.change()[9] = 5.0f;
        adopted.release();
        float seen = 0;
        OK(cuMemcpyDtoH(&seen, reinterpret_cast<CUdeviceptr>(memory + 9), sizeof seen));
        REQUIRE(seen == 5.0f);

        // A function that is replaced goes, and so do two that C refuses together.
        std::atomic<int> alive{0};
        {
            auto clears = [counted = Counted(&alive)](overtake::lane &, void *const *) {};
            arrays.compute("twice").with(y, use::discard).launch(clears).launch(clears).submit().wait();
            auto both = [counted = Counted(&alive)](void *const *) {};
            try {
                arrays.compute("both").with(y, use::discard).launch(clears).run(both).submit();
                REQUIRE(!"it is refused");
            } catch (const overtake::error &failure) {
                REQUIRE(failure.code() == OVERTAKE_ERROR_INVALID_ARGUMENT);
            }
        }
        REQUIRE(arrays.wait_for(std::chrono::seconds(20)));
        while (alive != 0)
            ; // a moment after the task has ended

        auto read = x.read();
        read.close();
        try {
            read.close();
            REQUIRE(!"it is closed");
        } catch (const overtake::error &failure) {
            REQUIRE(failure.code() == OVERTAKE_ERROR_INVALID_HANDLE);
        }

        try {
            arrays.compute("parse").with(y, use::discard).run([](void *const *) {
                throw std::runtime_error("the file is empty");
            }).submit();
            (void)y.read();
            REQUIRE(!"it was not read");
        } catch (const overtake::error &failure) {
            REQUIRE(std::string(failure.what()).find("the file is empty") != std::string::npos);
        }
        // A close that is refused leaves the set open.
        overtake::task inside = arrays.compute("inside").with(x, use::read).run([&](void *const *) {
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
