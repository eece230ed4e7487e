#pragma once
#include "graph/expert_sharing.hpp"
#include "graph/fp8_options.hpp"
#include "graph/parameter_rule.hpp"
#include <cstdint>
#include <thread>
#include <vector>

namespace trainx::architectures {

/// What blocks are computed on and what is trained, as far as their sizes follow from it.
struct Machine {
  // implicit: a number of threads is a CPU
  Machine(std::int64_t cpu_threads = std::thread::hardware_concurrency()) : threads(cpu_threads) {}
  static Machine one_gpu(bool deterministic = false, int compute_capability = 0) {
    Machine m(0);
    m.gpu = true;
    m.compute_capability = compute_capability;
    m.deterministic = deterministic;
    return m;
  }
  std::int64_t threads = 1;  // of the CPU's library: they bound what it allocates
  bool gpu = false;
  int compute_capability = 0;  // of the GPU, 90: 9.0; 0: not known
  bool deterministic = false;  // on a GPU: attention's backward then takes more memory
  // losses are multiplied by the scalar loss_scale whatever is computed in: a replica of dp is
  // given it
  bool seeded = false;
  graph::Fp8Options fp8 = {};
  // of a run: what it trains, and how; empty: everything alike
  std::vector<graph::ParameterRule> rules = {};
  graph::ExpertSharing sharing = {};  // of a run
  bool operator==(const Machine&) const = default;
};

}  // namespace trainx::architectures
