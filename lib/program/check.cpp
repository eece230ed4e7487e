#include "program/check.hpp"
#include "program/reference.hpp"
#include "program/rules.hpp"
#include "program/symbolic_run.hpp"
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace trainx::program {
namespace {

/// Cells of a resident buffer in the reference; nullptr where it has no such thing.
const std::vector<Symbol>* cells_of(const ReferenceState& state, const Buffer& b) {
  if (!is_of_group(b)) return nullptr;
  const auto& group = state.groups[b.index];
  switch (b.role) {
    case Role::parameter: return &group.parameter;
    case Role::master: return &group.master;
    case Role::state: return &group.states.at(static_cast<std::size_t>(b.item));
    default: return nullptr;
  }
}

/// 0 where the reference keeps no such number.
Symbol scalar_of(const ReferenceState& state, const Buffer& b, const ModelGraph& graph,
                 const Mesh& mesh, int rank) {
  switch (b.role) {
    case Role::step: return state.step;
    case Role::applied_steps: return state.applied;
    case Role::learning_rates: return state.lr_table;
    case Role::cast_weight: {
      const auto made = state.cast_weights.find({b.index, b.item});
      if (made == state.cast_weights.end()) return 0;
      const BlockParts& parts = graph.blocks[static_cast<std::size_t>(b.index)].parts;
      return made->second.at(
          static_cast<std::size_t>(parts.own_alone ? mesh.place(parts.along, rank) : 0));
    }
    default:
      return is_kept_scalar(b.role) ? state.kept_scalars.at(static_cast<std::size_t>(b.index)) : 0;
  }
}

/// What ranks keep of the reference's groups. A rank may keep some groups, or parts of them.
class KeptGroups {
 public:
  explicit KeptGroups(const ReferenceState& state) {
    for (std::size_t g = 0; g < state.groups.size(); ++g) {
      const auto& group = state.groups[g];
      const auto expect = [&](Role role, int item, const std::vector<Symbol>& cells) {
        if (!cells.empty()) kept_[{static_cast<int>(g), role, item}].resize(cells.size());
      };
      expect(Role::parameter, none, group.parameter);
      expect(Role::master, none, group.master);
      for (std::size_t s = 0; s < group.states.size(); ++s)
        expect(Role::state, static_cast<int>(s), group.states[s]);
    }
  }
  void add(const Buffer& b, std::size_t cell) { kept_.at({b.index, b.role, b.item}).at(cell) = 1; }
  /// The first thing of which no rank keeps some elements, as a sentence.
  std::string missing(const ModelGraph& graph) const {
    for (const auto& [of, cells] : kept_) {
      const auto& [group, role, item] = of;
      if (std::ranges::count(cells, 0) > 0)
        return "no rank keeps " + std::string(std::ranges::count(cells, 1) > 0 ? "all of " : "") +
               "the " + std::string(name_of(role)) + " of " +
               graph.groups[static_cast<std::size_t>(group)].name;
    }
    return "";
  }

 private:
  std::map<std::tuple<int, Role, int>, std::vector<char>> kept_;  // by group, role, item; by cell
};

bool is_equal(const SymbolicRun& run, int rank, BufferId id, const StepProgram& p,
              const ReferenceState& state, const GroupCuts& cuts, const ModelGraph& graph,
              KeptGroups& kept) {
  const Buffer& b = p.buffers[static_cast<std::size_t>(id)];
  const auto& cells = run.cells(rank);
  const auto range = cells.of_buffer(id);
  if (!is_of_group(b)) {
    const Symbol want = scalar_of(state, b, graph, p.mesh, rank);
    return want != 0 && range.end - range.begin == 1 && run.cell(rank, range.begin) == want;
  }
  const auto* want = cells_of(state, b);
  if (!want || want->empty()) return false;
  const auto& borders = cuts[b.index];
  for (int c = range.begin; c < range.end; ++c) {
    const auto k = std::distance(borders.begin(), borders.find(cells.element(c, rank)));
    if (run.cell(rank, c) != (*want)[k]) return false;
    kept.add(b, static_cast<std::size_t>(k));
  }
  return true;
}

bool reports(const StepProgram* p) {
  return std::ranges::count(p->steady, Op::report, &Instruction::op) > 0;
}

bool keeps(const StepProgram& p, Role role) {
  return std::ranges::any_of(p.buffers,
                             [role](const Buffer& b) { return b.resident && b.role == role; });
}

}  // namespace

std::string check_program(const std::vector<RankProgram>& ranks, const Reference* reference) {
  std::set<const StepProgram*> seen;
  std::vector<const StepProgram*> programs;
  for (const RankProgram& r : ranks) {
    if (seen.insert(r.program).second)
      if (std::string problem = check_rules(*r.program, *r.at); !problem.empty()) return problem;
    programs.push_back(r.program);
  }
  if (!reference) return "";
  GroupCuts cuts;
  for (const StepProgram* p : seen)
    if (std::string problem = add_group_cuts(*p, *reference->graph, cuts); !problem.empty())
      return problem;
  for (const StepProgram* p : seen) repeat_cuts_in_shards(*p, *reference->graph, cuts);

  constexpr int steps = 3;
  const int world = static_cast<int>(ranks.size());
  ReferenceState state = initial_state(*reference, cuts);
  const Mesh& mesh = programs.front()->mesh;
  const int batches = world / (mesh.pipeline * mesh.tensor * mesh.context);
  if (std::string problem = run_reference(*reference, cuts, mesh, batches, steps, state);
      !problem.empty())
    return problem;
  SymbolicRun run(programs, *reference->graph, cuts, reference->update.rounds());
  if (std::string problem = run.run(steps); !problem.empty()) return problem;
  KeptGroups kept(state);
  for (int r = 0; r < world; ++r) {
    const StepProgram& p = *programs[r];
    const std::string on = world > 1 ? " on rank " + std::to_string(r) : "";
    for (std::size_t b = 0; b < p.buffers.size(); ++b)
      if (p.buffers[b].resident &&
          !is_equal(run, r, static_cast<BufferId>(b), p, state, cuts, *reference->graph, kept))
        return p.buffers[b].name + on + " does not become what sequential training makes of it";
    if (reports(&p) && run.reports(r) != state.reports)
      return "the report" + on + " is not that of sequential training";
  }
  if (std::ranges::none_of(programs, reports)) return "no rank reports";
  for (const Role role : {Role::step, Role::applied_steps})
    if (std::ranges::none_of(programs, [role](const StepProgram* p) { return keeps(*p, role); }))
      return "no rank keeps the " + std::string(name_of(role));
  return kept.missing(*reference->graph);
}

std::string check_program(const StepProgram& p, const Placement& at, const Reference* reference) {
  return check_program(std::vector<RankProgram>(static_cast<std::size_t>(p.mesh.world), {&p, &at}),
                       reference);
}

}  // namespace trainx::program
