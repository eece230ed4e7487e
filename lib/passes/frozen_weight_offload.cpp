#include "passes/pass_order.hpp"
#include "passes/passes.hpp"
#include "program/operations.hpp"
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace trainx::passes {

using namespace program;

namespace {

/// By buffer: is it weights that nothing but `once` reads?
std::vector<bool> only_cast(const StepProgram& p) {
  std::vector<bool> out(p.buffers.size());
  const auto mark = [&](const std::vector<Instruction>& list, bool value) {
    for (const Instruction& i : list)
      for (const Use& u : i.uses) {
        const Buffer& b = p.buffers[static_cast<std::size_t>(u.buffer)];
        if (b.role == Role::parameter && b.resident && b.space == Space::device)
          out[static_cast<std::size_t>(u.buffer)] = value;
      }
  };
  mark(p.once, true);
  mark(p.steady, false);
  return out;
}

}  // namespace

StepProgram frozen_weight_offload(StepProgram p) {
  const std::vector<bool> leaves = only_cast(p);
  if (std::ranges::count(leaves, true) == 0) return p;
  enter(p, Pass::frozen_weight_offload);
  std::map<BufferId, BufferId> on_device;  // by the buffer on the host
  std::vector<Instruction> once;
  for (Instruction& i : p.once) {
    for (Use& u : i.uses) {
      if (!leaves[static_cast<std::size_t>(u.buffer)]) continue;
      const auto [copy, is_new] = on_device.try_emplace(u.buffer, none);
      if (is_new) {
        Buffer staging = p.buffers[static_cast<std::size_t>(u.buffer)];
        staging.name += "'";
        staging.resident = false;
        copy->second = add_buffer(p, std::move(staging));
        p.buffers[static_cast<std::size_t>(u.buffer)].space = Space::host;
        once.push_back({Op::copy,
                        none,
                        none,
                        Lane::compute,
                        {Use{u.buffer, How::read, CopySlot::from},
                         Use{copy->second, How::overwrite, CopySlot::to}}});
      }
      u.buffer = copy->second;
    }
    once.push_back(std::move(i));
  }
  p.once = std::move(once);
  return p;
}

}  // namespace trainx::passes
