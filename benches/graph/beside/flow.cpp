// oneTBB's flow graph for benches/graph/beside: chains of nodes, each with one dependent, and functions that count.
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/version.h>

#include <cstdint>
#include <deque>
#include <vector>

namespace flow = tbb::flow;

namespace {

struct alignas(64) Count {
  std::uint64_t tasks = 0; // the tasks of a chain run one after the other
};

// Threads, the calling one included.
struct Threads {
  tbb::global_control most;
  tbb::task_arena arena;

  explicit Threads(int count) : most(tbb::global_control::max_allowed_parallelism, count), arena(count) {}
};

struct Flow {
  using Node = flow::continue_node<flow::continue_msg>;

  flow::graph graph;
  std::vector<Count> counts;
  std::deque<Node> nodes;
  std::vector<Node *> first;

  Flow(int chains, int length) : counts(chains) {
    for (Count &count : counts) {
      for (int i = 0; i < length; i++) {
        nodes.emplace_back(graph, [&count](const flow::continue_msg &) { count.tasks++; });
        if (i > 0) {
          flow::make_edge(*(nodes.end() - 2), nodes.back());
        } else {
          first.push_back(&nodes.back());
        }
      }
    }
  }

  std::uint64_t run() {
    for (Node *node : first) {
      node->try_put(flow::continue_msg());
    }
    graph.wait_for_all();
    std::uint64_t tasks = 0;
    for (Count &count : counts) {
      tasks += count.tasks;
      count.tasks = 0;
    }
    return tasks;
  }
};

} // namespace

extern "C" {

const char *beside_version() { return TBB_VERSION_STRING; }

Threads *beside_open(int threads) { return new Threads(threads); }

void beside_close(Threads *threads) { delete threads; }

Flow *beside_build(Threads *threads, int chains, int length) {
  return threads->arena.execute([&] { return new Flow(chains, length); });
}

// Returns how many tasks have run.
std::uint64_t beside_run(Threads *threads, Flow *flow) {
  return threads->arena.execute([&] { return flow->run(); });
}

void beside_drop(Threads *threads, Flow *flow) {
  threads->arena.execute([&] { delete flow; });
}
}
