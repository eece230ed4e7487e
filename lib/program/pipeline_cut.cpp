#include "program/pipeline_cut.hpp"
#include <algorithm>
#include <set>

namespace trainx::program {

std::vector<std::vector<int>> stages_of_groups(const ModelGraph& graph, const PipelineCut& cut) {
  std::vector<std::set<int>> stages(graph.groups.size());
  for (std::size_t b = 0; b < graph.blocks.size(); ++b)
    for (const SlotSpec& s : graph.blocks[b].slots)
      if (s.role == Role::parameter || s.role == Role::gradient)
        stages[static_cast<std::size_t>(s.index)].insert(cut.stage_of_block(static_cast<int>(b)));
  std::vector<std::vector<int>> out;
  for (const std::set<int>& of_group : stages) {
    out.emplace_back(of_group.begin(), of_group.end());
    if (of_group.empty()) out.back() = {0};
  }
  return out;
}

}  // namespace trainx::program
