#include "core/error.hpp"
#include "passes/pass_order.hpp"
#include "passes/passes.hpp"
#include "program/plain.hpp"
#include <algorithm>

namespace trainx::passes {

using namespace program;

StepProgram accumulation(StepProgram p, int micro_steps) {
  enter(p, Pass::accumulation);
  if (micro_steps < 1) throw InternalError("accumulation: at least one micro-step");
  const auto of_micro_step = [](const Instruction& i) { return i.micro != none; };
  const auto begin = std::find_if(p.steady.begin(), p.steady.end(), of_micro_step);
  const auto end = std::find_if_not(begin, p.steady.end(), of_micro_step);
  if (std::any_of(end, p.steady.end(), of_micro_step))
    throw InternalError("accumulation: the instructions of the micro-step do not stand together");
  const std::vector<Instruction> once(begin, end);
  std::vector<Instruction> rest(end, p.steady.end());
  p.steady.erase(end, p.steady.end());
  const std::size_t buffers = p.buffers.size();
  for (int micro = 1; micro < micro_steps; ++micro) {
    // what belongs to a micro-step exists once for each
    std::vector<BufferId> copy(buffers, none);
    for (Instruction i : once) {
      i.micro = micro;
      for (Use& u : i.uses) {
        const Buffer b = p.buffers[u.buffer];
        if (b.micro == none) continue;
        BufferId& mine = copy[u.buffer];
        if (mine == none) {
          mine = add_buffer(p, b);
          p.buffers.back().micro = micro;
        }
        u.buffer = mine;
      }
      p.steady.push_back(std::move(i));
    }
  }
  std::move(rest.begin(), rest.end(), std::back_inserter(p.steady));
  first_writer_overwrites(p);
  return p;
}

}  // namespace trainx::passes
