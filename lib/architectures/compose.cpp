#include "architectures/compose.hpp"
#include "core/error.hpp"
#include "graph/passes/graph_pass.hpp"
#include "graph/to_blocks.hpp"
#include "architectures/library_bytes.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::architectures {

using graph::Head;
using graph::ModelBuilder;

namespace {

// More rows do not make a GPU busier.
constexpr std::int64_t busy_rows = 8192;

/// Rows of logits that exist at once on a CPU: 8 MiB of fp32.
std::int64_t logit_rows(std::int64_t columns, std::int64_t rows) {
  return std::clamp<std::int64_t>(std::int64_t{8} * 1024 * 1024 / 4 / columns, 1, rows);
}

std::int64_t rows_of(const ModelBuilder& m) { return m.options().batch_size * m.length(); }

LibraryCalls library_calls(const graph::Model& model) {
  LibraryCalls calls{model.batch_size, std::max(model.length, model.target_length), model.compute};
  for (const graph::Block& block : model.blocks)
    for (const graph::Node& op : block.ops) {
      if (const auto* a = std::get_if<operations::Attention>(&op.operation)) {
        if (std::ranges::find(calls.attention, *a) == calls.attention.end())
          calls.attention.push_back(*a);
      }
      if (const auto* l = std::get_if<operations::Linear>(&op.operation);
          l && (!l->epilogue.makes_logits() || model.head.rows != operations::HeadRows::first))
        calls.widest = std::max(
            calls.widest, model.types_of(op).parameters[operations::Linear::weight].dims.front());
      if (const auto* g = std::get_if<operations::GroupedLinear>(&op.operation))
        calls.widest = std::max(calls.widest, g->features(model.types_of(op)));
    }
  return calls;
}

std::string without_gpu_kernel(const graph::Model& model) {
  for (const graph::Block& block : model.blocks)
    for (const graph::Node& op : block.ops)
      if (!operations::has_gpu_kernel(op.operation, model.types_of(op)))
        return std::string(operations::name_of(op.operation));
  return "";
}

}  // namespace

graph::BuilderOptions builder_options(std::int64_t micro_batch_size, std::int64_t length,
                                      DType compute, const GraphOptions& graph_options) {
  if (length < 1 || micro_batch_size < 1)
    throw InternalError("model_graph: length or micro_batch_size out of range");
  if (compute != DType::f32 && size_of(compute) != 2)
    throw InternalError("model_graph: compute is f32, bf16 or f16");
  return {.batch_size = micro_batch_size,
          .length = length,
          .compute = compute,
          .gpu = graph_options.device.gpu,
          .compute_capability = graph_options.device.compute_capability,
          .scaled = compute == DType::f16 || graph_options.seeded};
}

Head all_rows(const ModelBuilder& m, std::int64_t columns) {
  const std::int64_t N = rows_of(m);
  return {.rows = operations::HeadRows::all,
          .expected_rows = N,
          .chunk = m.options().gpu ? std::min(N, busy_rows) : logit_rows(columns, N),
          .targets = m.batch("targets").id,
          .predicted_rows = m.options().batch_size};
}

Head rows_with_targets(const ModelBuilder& m, std::int64_t columns, double probability) {
  const std::int64_t N = rows_of(m);
  const std::int64_t drawn =
      std::clamp<std::int64_t>(std::llround(static_cast<double>(N) * probability), 1, N);
  Head head{.rows = operations::HeadRows::targets,
            .expected_rows = drawn,
            .chunk = logit_rows(columns, N),
            .targets = m.batch("targets").id,
            .predicted_rows = m.options().batch_size};
  if (!m.options().gpu) return head;
  // A GPU, which is not waited for, computes whole chunks. How many are drawn varies by
  // sqrt(N p (1 - p)): more than four of those above takes one chunk more, about once in 30,000
  // batches.
  const double most = static_cast<double>(drawn) + 4 * std::sqrt(static_cast<double>(drawn));
  const auto rows = std::min(N, static_cast<std::int64_t>(std::ceil(most / 64)) * 64),
             chunks = (rows + busy_rows - 1) / busy_rows;
  head.chunk = (rows + chunks - 1) / chunks;
  head.expected_rows = std::min(N, head.chunk * chunks);
  return head;
}

Head first_rows(const ModelBuilder& m, const std::string& targets) {
  const std::int64_t B = m.options().batch_size;
  return {.rows = operations::HeadRows::first,
          .expected_rows = B,
          .chunk = B,
          .targets = m.batch(targets).id,
          .predicted_rows = B};
}

program::ModelGraph compose(graph::Model model, const GraphOptions& graph_options) {
  graph::apply_graph_passes(model, graph_options.passes);
  program::ModelGraph graph = graph::to_blocks(model);
  const LibraryCalls calls = library_calls(model);
  graph.library_bytes = graph_options.device.gpu
                            ? gpu_library_bytes(calls, graph_options.device.deterministic)
                            : library_bytes(calls, graph_options.device.threads);
  graph.without_gpu_kernel = without_gpu_kernel(model);
  return graph;
}

}  // namespace trainx::architectures
