#include "train/generate.hpp"
#include "core/error.hpp"
#include "train/build.hpp"
#include "train/cpu_executor.hpp"
#include "model/model.hpp"
#include "tensor/random_key.hpp"
#include "train/executor.hpp"
#include "train/resident_state.hpp"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace trainx::train {
namespace {

// Draws from softmax(logits / temperature) over the top_k largest (0: all); temperature 0 takes the largest. u is uniform in [0, 1).
std::int32_t draw(std::span<const float> logits, const launch::GenerateOptions& o, double u) {
  if (o.temperature <= 0) return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
  std::vector<std::int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  auto by_logit = [&](std::int32_t a, std::int32_t b) { return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)]; };
  if (o.top_k > 0 && static_cast<std::size_t>(o.top_k) < ids.size()) {
    std::ranges::partial_sort(ids, ids.begin() + o.top_k, by_logit);
    ids.resize(static_cast<std::size_t>(o.top_k));
  }
  const double largest = *std::ranges::max_element(logits);
  std::vector<double> weight(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) weight[i] = std::exp((logits[static_cast<std::size_t>(ids[i])] - largest) / o.temperature);
  double left = u * std::accumulate(weight.begin(), weight.end(), 0.0);
  for (std::size_t i = 0; i < ids.size(); ++i)
    if ((left -= weight[i]) < 0) return ids[i];
  return ids.back();
}

double uniform(std::uint64_t seed, std::int64_t index) {
  const auto bits = tensor::philox({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), 0, 0}, {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  return bits[0] * 0x1p-32;
}

}  // namespace

std::vector<std::int32_t> generate(const spec::ModelDims& dims, const std::string& folder, std::vector<std::int32_t> ids, std::int64_t length, const launch::GenerateOptions& options) {
  std::vector<plan::PlacedProgram> programs(1);
  plan::PlacedProgram& placed = programs.front();
  placed.graph = spec::model_graph(dims, 1, length, DType::f32, 1);
  placed.program = program::forward_program(program::plain_program(placed.graph, {}), placed.graph, program::Op::predict);
  placed.placement = program::plan_memory(placed.program);
  placed.order = program::derive_order(placed.program, placed.placement);
  Arena arena(placed.placement.peak_of(program::Space::device));
  ResidentState(placed, arena).load_weights(folder, dims);
  const auto blocks = build_blocks(dims, programs);

  auto fetch = [&](std::int64_t, int, int, data::BatchView out) {   // the last `length` tokens; predict reads its position from targets[0]
    const std::int64_t n = std::min<std::int64_t>(length, static_cast<std::int64_t>(ids.size()));
    std::ranges::fill(out.tokens, 0);
    std::ranges::fill(out.targets, -100);
    std::copy(ids.end() - n, ids.end(), out.tokens.begin());
    out.targets[0] = static_cast<std::int32_t>(n - 1);
    out.positions[0] = 0;
  };
  CpuExecutor executor(programs, arena, {&blocks, nullptr, fetch, [](const StepScalarsReport&) {}, model::Mode::eval});
  const float* logits = reinterpret_cast<const float*>(executor.output("logits"));
  const std::int64_t prompt_tokens = static_cast<std::int64_t>(ids.size());
  for (std::int64_t i = 0; i < options.max_tokens; ++i) {
    executor.submit_step();
    executor.wait_idle();
    ids.push_back(draw({logits, static_cast<std::size_t>(spec::vocab_size(dims))}, options, uniform(options.seed, prompt_tokens + i)));
  }
  return ids;
}

}  // namespace trainx::train
