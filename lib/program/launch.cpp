#include "program/launch.hpp"
#include <algorithm>

namespace trainx::program {

bool runs_async(const Instruction& i) { return i.lane != Lane::compute; }

std::size_t launch_begin(const StepProgram& p) {
  const auto behind_computation =
      std::find_if_not(p.steady.rbegin(), p.steady.rend(), runs_async).base();
  const bool updates = std::any_of(behind_computation, p.steady.end(), [](const Instruction& i) {
    return i.op == Op::update && i.lane == Lane::host;
  });
  return updates ? static_cast<std::size_t>(behind_computation - p.steady.begin()) : 0;
}

}  // namespace trainx::program
