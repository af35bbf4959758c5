// Compares every entry of copies/src/kernel/copy.cu with a copy by the host, byte for byte, with bytes around each
// target that must stay unchanged. The sizes are small, because it also runs under compute-sanitizer (kernel.sh).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "../../../copies/src/kernel/copy.cu"
#include "../ok.h"

static const size_t ARENA_BYTES = 4 << 20;
static const unsigned char UNTOUCHED = 0x5a;

// Words that host and device share, each on a line of its own.
enum { HELD = 0, STARTED = 32, CANCEL = 64, OUTCOME = 96, DONE = 128, LIFT = 160, HIGHER = 192, WORDS = 224 };

struct Bench {
  unsigned char *host, *device;  // an arena on each side; half of it is for sources, half for targets
  u32 *words;                    // host memory
  u32 *slot, *state;             // device memory, 0 between launches
  u32 *added;                    // device memory: few hosts allow atomic operations of a device on theirs
  std::mt19937 random{1};

  Bench() {
    OK(cudaHostAlloc((void **)&host, ARENA_BYTES, cudaHostAllocMapped));
    OK(cudaHostAlloc((void **)&words, WORDS * sizeof(u32), cudaHostAllocMapped));
    OK(cudaMalloc((void **)&device, ARENA_BYTES));
    OK(cudaMalloc((void **)&slot, 256));
    OK(cudaMalloc((void **)&state, 4 * sizeof(u32)));
    OK(cudaMalloc((void **)&added, sizeof(u32)));
    OK(cudaMemset(slot, 0, 256));
    OK(cudaMemset(state, 0, 4 * sizeof(u32)));
    OK(cudaMemset(added, 0, sizeof(u32)));
    memset(words, 0, WORDS * sizeof(u32));
  }

  size_t below(size_t bound) { return random() % bound; }
  Gate gate(u64 wait_ns_max) { return {words + HELD, slot, slot + 32, wait_ns_max, words + LIFT}; }

  bool slots_are_zero() {
    u32 after[64], left[4];
    OK(cudaMemcpy(after, slot, sizeof after, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(left, state, sizeof left, cudaMemcpyDeviceToHost));
    return !after[0] && !after[32] && !left[0] && !left[1] && !left[2] && !left[3];
  }
};

// A launch's descriptors and the expected contents of the whole target arena afterwards.
struct Work {
  std::vector<Descriptor> descriptors;
  std::vector<unsigned char> expected;
  bool to_host;
};

// Copies and fills of one row or several, aligned to 16 bytes, to 4 or not at all, one behind the other.
static Work random_work(Bench &bench, size_t count) {
  Work work{{}, std::vector<unsigned char>(ARENA_BYTES / 2, UNTOUCHED), bench.below(2) == 1};
  for (size_t i = 0; i < ARENA_BYTES / 2; i++) bench.host[i] = bench.random();
  OK(cudaMemcpy(bench.device, bench.host, ARENA_BYTES / 2, cudaMemcpyHostToDevice));
  unsigned char *sources = work.to_host ? bench.device : bench.host;
  unsigned char *targets = (work.to_host ? bench.host : bench.device) + ARENA_BYTES / 2;
  static const size_t ALIGNMENTS[] = {1, 4, 16};
  size_t share = ARENA_BYTES / 2 / count, alignment = ALIGNMENTS[bench.below(3)];
  for (size_t k = 0; k < count; k++) {
    size_t rows = bench.below(2) ? 1 : 1 + bench.below(20);
    size_t width = 1 + bench.below(share / rows - 128);
    size_t pitch_t = width + bench.below(40), pitch_s = width + bench.below(40);
    size_t source = k * share + bench.below(64) / alignment * alignment;
    size_t target = k * share + bench.below(64) / alignment * alignment;
    bool fills = bench.below(5) == 0;
    u32 value = bench.random();
    u64 from = fills ? 0 : (u64)(sources + source);
    u32 kind = fills ? SET : COPY;
    work.descriptors.push_back({(u64)(targets + target), from, width, rows, pitch_t, pitch_s, kind, value, 0});
    for (size_t row = 0; row < rows; row++)
      for (size_t i = 0; i < width; i++)
        work.expected[target + row * pitch_t + i] =
            fills ? value >> (8 * (i & 3)) : bench.host[source + row * pitch_s + i];
  }
  OK(cudaMemset(bench.device + ARENA_BYTES / 2, UNTOUCHED, ARENA_BYTES / 2));
  memset(bench.host + ARENA_BYTES / 2, UNTOUCHED, ARENA_BYTES / 2);
  OK(cudaDeviceSynchronize());
  return work;
}

static bool is_as_expected(Bench &bench, const Work &work) {
  std::vector<unsigned char> found(ARENA_BYTES / 2);
  unsigned char *targets = (work.to_host ? bench.host : bench.device) + ARENA_BYTES / 2;
  OK(cudaMemcpy(found.data(), targets, found.size(), cudaMemcpyDefault));
  return found == work.expected;
}

static int failures = 0;

static void check(const char *name, const std::function<bool(int turn)> &turn_holds, int turns) {
  int held = 0;
  for (int turn = 0; turn < turns; turn++) held += turn_holds(turn);
  printf("%-44s %3d of %3d turns\n", name, held, turns);
  failures += held != turns;
}

// `Held` by value, the form of a launch's parameter.
template <typename Held>
static Held inlined(const Work &work) {
  Held held;
  memset(&held, 0, sizeof held);
  memcpy(held.descriptors, work.descriptors.data(), work.descriptors.size() * sizeof(Descriptor));
  return held;
}

static bool plain_turn(Bench &bench, bool gated) {
  Work work = random_work(bench, 1 + bench.below(8));
  Gate gate = gated ? bench.gate(20000000) : Gate{0, 0, 0, 0, 0};
  u32 blocks = 2 + bench.below(6), threads = 32 * (1 + bench.below(16));
  overtake_copy<<<blocks, threads>>>(inlined<Inline>(work), work.descriptors.size(), gate);
  OK(cudaDeviceSynchronize());
  return is_as_expected(bench, work) && bench.slots_are_zero();
}

static bool table_turn(Bench &bench, Descriptor *table) {
  Work work = random_work(bench, 1 + bench.below(100));
  memcpy(table, work.descriptors.data(), work.descriptors.size() * sizeof(Descriptor));
  overtake_copy_table<<<2 + bench.below(6), 512>>>(table, work.descriptors.size(), bench.gate(20000000));
  OK(cudaDeviceSynchronize());
  return is_as_expected(bench, work) && bench.slots_are_zero();
}

// The word stays up: the launch ends by its own bound and copies all the same.
static bool held_turn(Bench &bench) {
  Work work = random_work(bench, 4);
  *(volatile u32 *)(bench.words + HELD) = 1;
  overtake_copy<<<5, 512>>>(inlined<Inline>(work), work.descriptors.size(), bench.gate(2000000));
  OK(cudaDeviceSynchronize());
  *(volatile u32 *)(bench.words + HELD) = 0;
  return is_as_expected(bench, work) && bench.slots_are_zero();
}

// The word stays up, and the launch is lifted while it waits: it ends at once if the higher word is down, and by its
// own bound if that is up too. It copies either way.
static bool lifted_turn(Bench &bench, bool is_higher_up) {
  Work work = random_work(bench, 4);
  volatile u32 *words = bench.words;
  u64 wait_ms = is_higher_up ? 20 : 2000;
  words[HELD] = 1;
  words[HIGHER] = is_higher_up;
  auto began = std::chrono::steady_clock::now();
  overtake_copy<<<5, 512>>>(inlined<Inline>(work), work.descriptors.size(), bench.gate(wait_ms * 1000000));
  OK(cudaGetLastError());
  words[LIFT] = HIGHER - HELD;
  OK(cudaDeviceSynchronize());
  auto took_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
  words[HELD] = words[LIFT] = words[HIGHER] = 0;
  bool in_time = is_higher_up ? took_ms >= wait_ms : took_ms < wait_ms;
  return in_time && is_as_expected(bench, work) && bench.slots_are_zero();
}

static bool guarded_turn(Bench &bench, u32 number, bool cancelled) {
  Work work = random_work(bench, 1 + bench.below(64));
  volatile u32 *words = bench.words;
  words[CANCEL] = cancelled ? number : number - 1;
  Guard guard = {words + STARTED, words + CANCEL, words + OUTCOME, words + DONE, bench.state, number, 0};
  u32 done_before = words[DONE];
  overtake_copy_guarded<<<2 + bench.below(6), 512>>>(inlined<InlineMany>(work), work.descriptors.size(),
                                                     bench.gate(20000000), guard);
  OK(cudaDeviceSynchronize());
  if (cancelled) work.expected.assign(work.expected.size(), UNTOUCHED);
  bool told = words[OUTCOME] == 2 * number + cancelled && words[DONE] == (cancelled ? done_before : number);
  return told && is_as_expected(bench, work) && bench.slots_are_zero();
}

static bool add_turn(Bench &bench) {
  u32 before, after;
  int value = (int)bench.below(7) - 3;
  OK(cudaMemcpy(&before, bench.added, sizeof before, cudaMemcpyDeviceToHost));
  overtake_add<<<1, 1>>>(bench.added, value);
  OK(cudaMemcpy(&after, bench.added, sizeof after, cudaMemcpyDeviceToHost));
  return after == before + value;
}

int main(int argc, char **argv) {
  int turns = argc > 1 ? atoi(argv[1]) : 60;
  Bench bench;
  Descriptor *table;
  OK(cudaHostAlloc((void **)&table, 100 * sizeof(Descriptor), cudaHostAllocMapped));
  check("overtake_copy", [&](int) { return plain_turn(bench, false); }, turns);
  check("overtake_copy, gated", [&](int) { return plain_turn(bench, true); }, turns);
  check("overtake_copy, held for good", [&](int) { return held_turn(bench); }, 3);
  check("overtake_copy, lifted", [&](int) { return lifted_turn(bench, false); }, 3);
  check("overtake_copy, lifted and held for good", [&](int) { return lifted_turn(bench, true); }, 3);
  check("overtake_copy_table, gated", [&](int) { return table_turn(bench, table); }, turns);
  // The numbers pass zero on the way, as those of a long-lived application do.
  check("overtake_copy_guarded", [&](int turn) { return guarded_turn(bench, turn - turns / 2, turn % 4 == 3); }, turns);
  // They also pass half the range, where signed comparisons change their sign.
  auto far_turn = [&](int turn) { return guarded_turn(bench, 0x80000000u + turn - turns / 2, turn % 4 == 3); };
  check("overtake_copy_guarded, after 2^31 launches", far_turn, turns);
  check("overtake_add", [&](int) { return add_turn(bench); }, turns);
  puts(failures ? "FAILED" : "every byte as expected");
  return failures != 0;
}
