#include "execute/fp8_weights.hpp"
#include "operations/quantize/quantize.hpp"
#include "operations/quantize/quantize_spec.hpp"
#include "operations/rows/rows.hpp"
#include "program/operations.hpp"
#include "program/shards.hpp"

namespace trainx::execute {

using namespace program;
using operations::Fp8Cast;
using operations::Fp8Tensor;

namespace {

/// As GPUs cast it: rows of 128 elements, of which shards hold whole ones.
Tensor in_rows(const Tensor& part) {
  const std::int64_t n = part.numel();
  return n % group_alignment == 0 ? part.view({n / group_alignment, group_alignment})
                                  : part.view({1, n});
}

/// What is known and counted of a tensor: rows of [classes, tensors, ...], by its scale.
Tensor row_of_weight(const Tensor& all, const ModelGraph& graph, int scalar, int tensor) {
  const auto& dims = graph.scalars[static_cast<std::size_t>(scalar)].dims;
  const std::int64_t tensors = dims.at(1) * dims.at(2),
                     of_class = static_cast<std::int64_t>(operations::Fp8Class::weights);
  return all.view({-1, dims.at(3)}).narrow(0, of_class * tensors + tensor, 1).view({-1});
}

/// visit(a run, its scale, what is known and counted of it, its group, and its place there)
template <class Visit>
void each_run(const Instruction& i, const PlacedMemory& memory, const std::vector<OwnGroup>& groups,
              const Visit& visit) {
  const Tensor scales = memory.tensor(i, QuantizeSlot::scales);
  const Use *known = find_use(i, QuantizeSlot::ranges), *counts = find_use(i, QuantizeSlot::counts);
  const ModelGraph& graph = memory.placed().graph;
  for (const Use& u : i.uses) {
    if (!QuantizeSlot::is_from(u.slot)) continue;
    const int group = QuantizeSlot::group_of(u.slot);
    for (const ScaledRun& run : scaled_runs(groups[static_cast<std::size_t>(group)].spec)) {
      Fp8Cast how;
      if (known)
        how.known =
            row_of_weight(memory.tensor(*known), graph, memory.buffer(*known).index, run.scale)
                .narrow(0, 0, 1);
      if (counts) {
        const Tensor row =
            row_of_weight(memory.tensor(*counts), graph, memory.buffer(*counts).index, run.scale);
        how.counts = row.narrow(0, 0, operations::fp8_count_kinds);
        if (known)
          how.exponents = row.narrow(0, operations::fp8_count_kinds, operations::fp8_exponents);
      }
      visit(in_rows(memory.tensor(u).narrow(0, run.offset, run.elements)),
            scales.narrow(0, run.scale * fp8_scale_stride, 1), how, group, run);
    }
  }
}

}  // namespace

void find_fp8_scales(const Instruction& i, const PlacedMemory& memory,
                     const std::vector<OwnGroup>& groups) {
  operations::clear(memory.tensor(i, QuantizeSlot::scales));
  each_run(i, memory, groups,
           [](const Tensor& part, const Tensor& scale, const Fp8Cast& how, int, const ScaledRun&) {
             operations::quantize(Fp8Tensor{{}, scale}, part, how);
           });
}

void quantize_weights(const Instruction& i, const PlacedMemory& memory,
                      const std::vector<OwnGroup>& groups) {
  if (const Use* counts = find_use(i, QuantizeSlot::counts);
      counts && counts->how == How::overwrite)
    operations::clear(memory.tensor(*counts));
  each_run(
      i, memory, groups,
      [&](const Tensor& part, const Tensor& scale, Fp8Cast how, int group, const ScaledRun& run) {
        how.scale_is_made = true;
        const Tensor to = memory.tensor(i, QuantizeSlot::to(group));
        operations::quantize(Fp8Tensor{in_rows(to.narrow(0, run.offset, run.elements)), scale},
                             part, how);
      });
}

}  // namespace trainx::execute
