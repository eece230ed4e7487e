#include "tests/net/print_program.hpp"
#include "program/copied_gathers.hpp"
#include "program/launch.hpp"
#include "program/print.hpp"
#include "tests/net/written.hpp"

namespace net {
namespace {

using namespace trainx;
using program::StepProgram;

std::string uses_text(const program::Instruction& i) {
  static constexpr std::string_view signs = "rw+~";
  std::string out;
  for (const program::Use& u : i.uses) {
    out.append(" ").append(std::to_string(u.slot)) += signs[static_cast<std::size_t>(u.how)];
  }
  return out;
}

/// As people read it, then what that leaves out: the slot and the mode of each use, of scratch
/// too.
std::string instructions_text(const plan::PlacedProgram& placed) {
  const StepProgram& p = placed.program;
  std::string out = "micro-steps " + std::to_string(placed.micro_steps) + " mesh " +
                    written(p.mesh.world) + "/" + written(p.mesh.shard) + "/" +
                    written(p.mesh.experts) + " repeats " + written(p.repeated_micro) + "*" +
                    written(p.repeats) + " last pass " + written(p.last_pass) + "\n";
  out += program::print(p, &placed.graph) + "uses\n";
  for (const auto* list : {&p.once, &p.steady})
    for (const program::Instruction& i : *list)
      out += written(i.block) + " " + written(i.group) + uses_text(i) + "\n";
  return out;
}

std::string buffers_text(const StepProgram& p) {
  std::string out;
  for (const program::Buffer& b : p.buffers) out += written_members(b) + "\n";
  return out;
}

std::string placement_text(const program::Placement& at) {
  std::string out;
  for (const program::Bytes base : at.base) out += std::to_string(base) + "\n";
  return out + "arenas " + written(at.peak) + "\n";
}

std::string waits_text(const program::Waits& waits) {
  std::string out;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits[i].empty()) continue;
    out += std::to_string(i) + ":";
    for (const program::Wait& w : waits[i])
      out += " " + std::string(name_of(w.lane)) + std::to_string(w.index) + (w.back > 0 ? "'" : "");
    out += "\n";
  }
  return out;
}

/// How a GPU is given the program.
std::string launches_text(const StepProgram& p) {
  std::string async = "async", copied = "copied";
  const std::vector<bool> copies = program::copied_gathers(p);
  for (std::size_t i = 0; i < p.steady.size(); ++i) {
    if (program::runs_async(p.steady[i])) async += " " + std::to_string(i);
    if (copies[i]) copied += " " + std::to_string(i);
  }
  return "begin " + std::to_string(program::launch_begin(p)) + "\n" + async + "\n" + copied + "\n";
}

}  // namespace

std::map<std::string, std::string> program_texts(const plan::PlacedProgram& placed) {
  return {{"programs", instructions_text(placed)},
          {"buffers", buffers_text(placed.program)},
          {"placement", placement_text(placed.placement)},
          {"order", waits_text(placed.order.once) + waits_text(placed.order.steady)},
          {"launches", launches_text(placed.program)}};
}

}  // namespace net
