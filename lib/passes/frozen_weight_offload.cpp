#include "core/error.hpp"
#include "passes/pass_order.hpp"
#include "passes/passes.hpp"
#include "program/operations.hpp"
#include <map>
#include <utility>
#include <vector>

namespace trainx::passes {

using namespace program;

StepProgram frozen_weight_offload(StepProgram p, const ModelGraph& graph) {
  enter(p, Pass::frozen_weight_offload);
  const auto is_only_cast = [&](BufferId b) {
    const Buffer& buffer = p.buffers[static_cast<std::size_t>(b)];
    return buffer.role == Role::parameter &&
           graph.groups[static_cast<std::size_t>(buffer.index)].only_cast;
  };
  for (const Instruction& i : p.steady)
    for (const Use& u : i.uses)
      if (is_only_cast(u.buffer))
        throw InternalError(std::string(name_of(i.op)) + " uses " +
                            p.buffers[static_cast<std::size_t>(u.buffer)].name +
                            ", which nothing but a run's first casts should");
  std::map<BufferId, BufferId> on_device;  // by the buffer on the host
  std::vector<Instruction> prologue;
  for (Instruction& i : p.prologue) {
    for (Use& u : i.uses) {
      if (!is_only_cast(u.buffer)) continue;
      const auto [copy, is_new] = on_device.try_emplace(u.buffer, none);
      if (is_new) {
        Buffer staging = p.buffers[static_cast<std::size_t>(u.buffer)];
        staging.name += "'";
        staging.resident = false;
        copy->second = add_buffer(p, std::move(staging));
        p.buffers[static_cast<std::size_t>(u.buffer)].space = Space::host;
        prologue.push_back({Op::copy,
                            none,
                            none,
                            Lane::compute,
                            {whole(p, u.buffer, How::read, CopySlot::from),
                             whole(p, copy->second, How::overwrite, CopySlot::to)}});
      }
      u.buffer = copy->second;
    }
    prologue.push_back(std::move(i));
  }
  p.prologue = std::move(prologue);
  return p;
}

}  // namespace trainx::passes
