#pragma once
#include "graph/passes/graph_pass_options.hpp"
#include "architectures/device.hpp"
#include <cstdint>

namespace trainx::architectures {

/// What a model's graph depends on beside its dims, the batch and the type it is computed in.
struct GraphOptions {
  Device device = {};
  // losses are multiplied by the scalar loss_scale whatever is computed in: a replica of dp is
  // given it
  bool seeded = false;
  graph::GraphPassOptions passes = {};
  bool operator==(const GraphOptions&) const = default;

  static GraphOptions on_cpu(std::int64_t threads) { return {.device = {.threads = threads}}; }
  static GraphOptions on_gpu(bool deterministic = false, int compute_capability = 0) {
    return {.device = {.threads = 0,
                       .gpu = true,
                       .compute_capability = compute_capability,
                       .deterministic = deterministic}};
  }
};

}  // namespace trainx::architectures
