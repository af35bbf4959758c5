/* Computations whose order follows from their uses: one that is late, one that is cancelled, one that fails, and an
 * order by a token. The same program in C, Rust and Python stands beside it; all four print arrays.txt. */
#include <cuda.h>
#include <overtake_arrays.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>

using overtake::discard, overtake::read, overtake::span, overtake::write;

constexpr std::chrono::milliseconds SHORT(20);

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
    overtake::dispatcher dispatcher;
    overtake::arrays arrays(dispatcher);
    auto numbers = arrays.make<int>(3), twice = arrays.make<int>(3), sum = arrays.make<int>(1);
    auto table = arrays.make<int>(1);
    {
        auto elements = numbers.overwrite();
        std::iota(elements.begin(), elements.end(), 1);
    }

    arrays.run("double", read(numbers), discard(twice), [](span<const int> from, span<int> to) {
        std::transform(from.begin(), from.end(), to.begin(), [](int each) { return 2 * each; });
    }).submit();
    arrays.run("add up", read(twice), discard(sum), [](span<const int> of, span<int> into) {
        into[0] = std::accumulate(of.begin(), of.end(), 0);
    }).submit();
    std::printf("order: the sum is %d\n", sum.read()[0]);

    overtake::task held = arrays.run("held", discard(twice), [](span<int>) {}).held().submit();
    overtake::task behind = arrays.run("behind", read(twice), [](span<const int>) {}).submit();
    if (!arrays.wait_for(SHORT))
        std::printf("held: the set has not ended within %d ms\n", static_cast<int>(SHORT.count()));
    if (behind.cancel()) /* it had not started */
        tell("behind", behind);
    held.release();
    tell("held", held);

    auto token = arrays.token();
    std::string said;
    for (const char *word : {"first", "second"})
        arrays.run(word, write(token), [&said, word](span<unsigned char>) { said += std::string(" ") + word; })
            .submit();
    arrays.wait();
    std::printf("token:%s\n", said.c_str());

    tell("parse", arrays.run("parse", discard(table), [](span<int>) {
                            throw std::runtime_error("the file is empty");
                        }).submit());
    try {
        table.read();
    } catch (const overtake::error &error) {
        std::printf("table: %s\n", error.what()); /* its contents are lost */
    }
    table.overwrite()[0] = 5;
    std::printf("table: it is %d now\n", table.read()[0]);
    arrays.close();
}
