#include "program/operations.hpp"
#include "program/symbolic_run.hpp"

namespace trainx::program {

/// Of cells that are here: a sum, so that ranks with parts add up to the whole.
void SymbolicRun::fp8_scale(const Instruction& i, int rank) {
  const Use* ranges = find_use(i, QuantizeSlot::ranges);
  const Symbol known = ranges ? operand(*ranges, rank) : 0;
  Symbol sum = 0;
  for (const Use& u : i.uses) {
    if (!QuantizeSlot::is_from(u.slot)) continue;
    const auto run = cells(rank).of(u);
    for (int c = run.begin; c < run.end; ++c)
      sum += fp8_scale_symbol(at(rank, c), known, QuantizeSlot::group_of(u.slot),
                              cells(rank).element(c, rank));
  }
  store(use_of(i, QuantizeSlot::scales), rank, sum);
}

/// How often elements are counted follows from how many ranks have them: no sum of theirs.
std::string SymbolicRun::quantize(const Instruction& i, int rank) {
  const Use* ranges = find_use(i, QuantizeSlot::ranges);
  const Symbol known = ranges ? operand(*ranges, rank) : 0,
               scales = operand(use_of(i, QuantizeSlot::scales), rank);
  for (const Use& u : i.uses) {
    if (u.slot == QuantizeSlot::counts && u.how == How::overwrite) store(u, rank, 0);
    if (!QuantizeSlot::is_from(u.slot)) continue;
    const Use* to = find_use(i, QuantizeSlot::to(QuantizeSlot::group_of(u.slot)));
    if (!to) return "quantize of " + buffer(u, rank).name + " to nothing";
    if (std::string problem = move(i, u, rank, *to, rank); !problem.empty()) return problem;
    const auto run = cells(rank).of(*to);
    for (int c = run.begin; c < run.end; ++c) at(rank, c) = fp8_symbol(at(rank, c), scales, known);
  }
  return "";
}

}  // namespace trainx::program
