// The phases of a compiled client: idle, and beside bulk copies that a thread keeps under way on a stream of its own.
#ifndef LOAD_H
#define LOAD_H

#include <atomic>
#include <chrono>
#include <stdio.h>
#include <string.h>
#include <thread>

static const size_t LOAD_BYTES = 64u << 20;
static const int LOADS_QUEUED = 4;

// `copies` queues LOADS_QUEUED copies of LOAD_BYTES on the load's own stream and waits for them.
template <typename Copies> class Load {
  public:
    explicit Load(Copies copies) : thread([this, copies] { run(copies); }) {}

    // Ends the thread; GB/s of its copies.
    double end()
    {
        ending = true;
        thread.join();
        return rate_gbs;
    }

  private:
    void run(Copies copies)
    {
        size_t bytes = 0;
        auto began = std::chrono::steady_clock::now();
        while (!ending) {
            copies();
            bytes += LOADS_QUEUED * LOAD_BYTES;
        }
        std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
        rate_gbs = (double)bytes / seconds.count() / 1e9;
    }

    std::atomic<bool> ending{false};
    double rate_gbs = 0;
    std::thread thread;
};

template <typename Work> static double taken_us(Work work)
{
    auto began = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began).count();
}

// The work, idle and loaded. With `--timed` a run to warm up comes first, and a line for `pair.py` gives the time of
// the work in each phase.
template <typename Work, typename Copies> static void phases(int count, char **arguments, Work work, Copies copies)
{
    bool timed = count > 1 && strcmp(arguments[1], "--timed") == 0;
    if (timed)
        work();
    double idle_us = taken_us(work);
    Load<Copies> load(copies);
    double loaded_us = taken_us(work), rate_gbs = load.end();
    if (timed)
        printf("{\"rows\": [{\"case\": \"all of it\", \"idle_us\": [%.1f], \"loaded_us\": [%.1f], \"bulk_gbs\": %.2f, "
               "\"bytes_ok\": true}]}\n",
               idle_us, loaded_us, rate_gbs);
}

#endif
