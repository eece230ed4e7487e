#include "operations/embedding/embedding_spec.hpp"

namespace trainx::operations {

std::vector<OutputSpec> Embedding::outputs(const Types& t) const {
  std::vector<OutputSpec> o{
      {"embedded",
       {t.compute, {t.inputs[tokens].elements(), t.parameters[token].columns()}},
       {input(tokens)}}};
  for (const int i : {static_cast<int>(token_types), static_cast<int>(starts)})
    if (t.has_input(i)) o[out].from.push_back(input(i));
  if (dropout > 0) o[out].from.push_back(input(positions));
  for (int p = 0; p < static_cast<int>(t.parameters.size()); ++p)
    if (t.has_parameter(p)) o[out].from.push_back(parameter(p));
  return o;
}

BackwardSpec Embedding::backward(const Types& t) const {
  BackwardSpec b{.reads = {input(tokens)}};
  for (const int i : {static_cast<int>(token_types), static_cast<int>(starts)})
    if (t.has_input(i)) b.reads.push_back(input(i));
  if (dropout > 0) b.reads.push_back(input(positions));
  for (int p = 0; p < static_cast<int>(t.parameters.size()); ++p)
    if (t.has_parameter(p)) b.parameters.push_back(p);
  return b;
}

Cost Embedding::cost(Direction direction, const Types& t) const {
  Cost c;
  c.scratch.resize(1);
  if (table_parts > 1) {
    c.scratch.resize(scratch_count);
    c.scratch[ids] = {"part_ids", t.inputs[tokens]};
  }
  if (direction == Direction::forward) {
    c.kernels = {{KernelFamily::embedding, table_parts > 1 ? 2 : 1}};
    const TensorType result{t.compute,
                            {t.inputs[tokens].elements(), t.parameters[token].columns()}};
    c.element_flops = static_cast<double>(result.elements());
    c.element_bytes = 2 * result.bytes();
    return c;
  }
  // ids are sorted by radix, eight launches; so are positions inside documents
  c.kernels = {{KernelFamily::embedding, (t.has_input(starts) ? 16 : 8) + (table_parts > 1)}};
  if (dropout <= 0 && scale == 1) return c;
  if (dropout > 0) c.kernels.push_back({KernelFamily::dropout});
  if (scale != 1) c.kernels.push_back({KernelFamily::embedding});
  c.scratch[masked] = {"d_embedding",
                       {t.compute, {t.inputs[tokens].elements(), t.parameters[token].columns()}}};
  return c;
}

std::optional<Split> Embedding::split(SplitAxis axis, const Types& t) const {
  if (axis != SplitAxis::row) return std::nullopt;
  Split s;
  s.parameters.resize(t.parameters.size());
  s.parameters[token] = 0;
  s.sums_outputs = true;
  return s;
}

bool Embedding::has_gpu_kernel(const Types& t) const {
  // the sum with segments is of plain tables
  return !t.has_input(token_types) || (t.has_parameter(position) && scale == 1);
}

}  // namespace trainx::operations
