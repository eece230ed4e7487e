#include "plan/rank_groups.hpp"

namespace trainx::plan {

std::set<program::AxisSet> rank_groups_of(const Programs& programs) {
  std::set<program::AxisSet> groups;
  for (const auto* list : {&programs.train, &programs.evaluate})
    for (const PlacedProgram& placed : *list) {
      const program::StepProgram& p = placed.program;
      const auto add = [&](program::AxisSet set) {
        const program::AxisSet along = p.mesh.significant(set);
        if (!along.is_empty() && along != p.mesh.significant(program::axes::all))
          groups.insert(along);
      };
      for (const program::Buffer& b : p.buffers) add(b.layout.along());
      for (const auto* part : {&p.once, &p.steady})
        for (const program::Instruction& i : *part)
          if (program::is_collective(i.op)) add(i.along);
    }
  return groups;
}

std::set<program::AxisSet> rank_groups_of(const ProgramSet& set) {
  std::set<program::AxisSet> groups;
  for (const RankRole& role : set.roles) groups.merge(rank_groups_of(role));
  return groups;
}

}  // namespace trainx::plan
