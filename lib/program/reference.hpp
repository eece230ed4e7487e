// Training as loops over ranks, micro-steps and blocks, written without programs: what every
// program must mean.
#pragma once
#include "program/cells.hpp"
#include "program/check.hpp"
#include "program/symbols.hpp"
#include <map>
#include <utility>

namespace trainx::program {

/// Symbols after some steps.
struct ReferenceState {
  /// By group, by cell of its cuts.
  struct Group {
    std::vector<Symbol> parameter, master;
    std::vector<std::vector<Symbol>> states;
  };
  std::vector<Group> groups;
  Symbol step = 0, applied = 0, lr_table = 0, reports = 0;
  std::vector<Symbol> kept_scalars;  // by scalar of the graph; 0: summed within a step
  // by block and slot: copies of weights that programs make once (SlotSpec::once_a_run)
  std::map<std::pair<int, int>, std::vector<Symbol>> cast_weights = {};
};

ReferenceState initial_state(const Reference& reference, const GroupCuts& cuts);
/// `mesh`: which of the ranks that share a batch have which parts of blocks, and exchange values.
/// Returns a sentence where the graph itself is not computable.
std::string run_reference(const Reference& reference, const GroupCuts& cuts, const Mesh& mesh,
                          int batches, int steps, ReferenceState& state);
/// The operand that a whole buffer of cells is.
Symbol joined(const std::vector<Symbol>& cells);

}  // namespace trainx::program
