#include "operations/heads_by_rank/heads_by_rank_spec.hpp"

namespace trainx::operations {

std::int64_t HeadsByRank::all_columns() const {
  std::int64_t columns = 0;
  for (const HeadSection& s : sections) columns += s.columns();
  return columns;
}

std::int64_t HeadsByRank::columns_of_rank() const {
  std::int64_t columns = 0;
  for (const HeadSection& s : sections) columns += s.of_rank(ranks) * s.size;
  return columns;
}

std::vector<OutputSpec> HeadsByRank::outputs(const Types& t) const {
  const TensorType& from = t.inputs[x];
  const std::vector<std::int64_t> dims = joins
                                             ? std::vector{from.rows() / ranks, all_columns()}
                                             : std::vector{from.rows() * ranks, columns_of_rank()};
  return {{joins ? "heads_of_rows" : "heads_by_rank", {from.dtype, dims}, {input(x)}}};
}

BackwardSpec HeadsByRank::backward(const Types&) const { return {.inputs = {{.input = x}}}; }

Cost HeadsByRank::cost(Direction direction, const Types& t) const {
  Cost c;
  c.kernels = {{KernelFamily::rows, ranks * static_cast<std::int64_t>(sections.size())}};
  c.element_bytes = t.inputs[x].bytes() + outputs(t)[y].type.bytes();
  if (direction == Direction::forward) c.element_output = y;
  return c;
}

std::optional<Split> HeadsByRank::split(SplitAxis, const Types&) const { return std::nullopt; }

bool HeadsByRank::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
