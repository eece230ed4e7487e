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

/// A scalar of the graph, in its dims; undefined where the instruction uses none there.
Tensor scalar_at(const Instruction& i, const PlacedMemory& memory, Slot slot) {
  const Use* u = find_use(i, slot);
  if (!u) return {};
  const auto scalar = static_cast<std::size_t>(memory.buffer(*u).index);
  return memory.tensor(*u).view(memory.placed().graph.scalars[scalar].dims);
}

/// visit(a run, its scale, what is known and counted of it, its group, and its place there). What
/// is not trained is counted nowhere, so that nothing is known of it.
template <class Visit>
void each_run(const Instruction& i, const PlacedMemory& memory,
              const std::vector<program::LocalGroup>& groups, const Visit& visit) {
  const Tensor scales = memory.tensor(i, QuantizeSlot::scales);
  const Tensor ranges = scalar_at(i, memory, QuantizeSlot::ranges),
               counts = scalar_at(i, memory, QuantizeSlot::counts);
  for (const Use& u : i.uses) {
    if (!QuantizeSlot::is_from(u.slot)) continue;
    const int group = QuantizeSlot::group_of(u.slot);
    const GroupSpec& spec = groups[static_cast<std::size_t>(group)].spec;
    for (const ScaledRun& run : scaled_runs(spec)) {
      const Fp8Cast how = operations::fp8_cast(ranges, spec.training.trained ? counts : Tensor(),
                                               operations::Fp8Class::weights, run.scale);
      visit(in_rows(memory.tensor(u).narrow(0, run.offset, run.elements)),
            scales.narrow(0, run.scale * fp8_scale_stride, 1), how, group, run);
    }
  }
}

}  // namespace

void find_fp8_scales(const Instruction& i, const PlacedMemory& memory,
                     const std::vector<program::LocalGroup>& groups) {
  operations::clear(memory.tensor(i, QuantizeSlot::scales));
  each_run(i, memory, groups,
           [](const Tensor& part, const Tensor& scale, const Fp8Cast& how, int, const ScaledRun&) {
             operations::quantize(Fp8Tensor{{}, scale}, part, how);
           });
}

void quantize_weights(const Instruction& i, const PlacedMemory& memory,
                      const std::vector<program::LocalGroup>& groups) {
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
