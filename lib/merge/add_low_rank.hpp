#pragma once
#include "plan/adapter_plan.hpp"
#include "program/model_graph.hpp"
#include <span>
#include <vector>

namespace trainx::merge {

/// An adapter's two tensors, as its folder has them: a [experts * rank, in], row e * rank + j; b
/// [out, rank * experts], column j * experts + e.
struct LowRankTensors {
  std::vector<float> a, b;
  std::int64_t rank = 1;
};

/// Adds scale * B A to the parameter's values in fp32, which lie as files have them: [out, in], or
/// [in, out] where these are transposed or an embedding's. Runs on as many threads as the machine
/// has.
void add_low_rank(const plan::AdapterPlan::Added& added, const program::ParameterSpec& parameter,
                  const LowRankTensors& tensors, std::span<float> saved);

}  // namespace trainx::merge
