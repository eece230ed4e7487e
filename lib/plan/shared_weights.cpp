#include "plan/shared_weights.hpp"
#include "program/frozen.hpp"
#include "program/round_up.hpp"
#include <algorithm>

namespace trainx::plan {

std::vector<bool> shared_weights(const Draft& plan, const program::ModelGraph& graph,
                                 const program::StepProgram& p) {
  // stages of a pipeline have other weights at other places
  if (!plan.shares_batches() || plan.mesh.world <= 1 || plan.mesh.pipeline > 1) return {};
  std::vector<bool> out(p.buffers.size());
  bool any = false;
  for (std::size_t b = 0; b < out.size(); ++b) {
    const program::Buffer& buffer = p.buffers[b];
    const bool in_host_memory = buffer.space == program::Space::host ||
                                (buffer.space == program::Space::device && !plan.on_gpu);
    out[b] = buffer.resident && in_host_memory && !buffer.is_cut() &&
             buffer.bytes() >= least_shared_bytes && is_frozen(graph, buffer);
    any = any || out[b];
  }
  return any ? out : std::vector<bool>{};
}

std::vector<program::Range> shared_pages(const Draft& plan, const PlacedProgram& placed,
                                         program::Space space) {
  const std::vector<bool> shared = shared_weights(plan, placed.graph, placed.program);
  std::vector<program::Range> out;
  for (std::size_t b = 0; b < shared.size(); ++b) {
    const program::Buffer& buffer = placed.program.buffers[b];
    if (!shared[b] || buffer.space != space) continue;
    const program::Bytes begin = placed.placement.base[b],
                         end = begin + program::round_up(buffer.bytes(), program::page_bytes);
    if (!out.empty() && out.back().end == begin)
      out.back().end = end;
    else
      out.push_back({begin, end});
  }
  return out;
}

std::int64_t shared_bytes(const Draft& plan, const PlacedProgram& placed) {
  std::int64_t bytes = 0;
  for (const program::Space space : {program::Space::device, program::Space::host})
    for (const program::Range& pages : shared_pages(plan, placed, space))
      bytes += pages.end - pages.begin;
  return bytes;
}

}  // namespace trainx::plan
