#include "passes/copy_ahead.hpp"
#include "passes/pass_order.hpp"
#include "passes/passes.hpp"
#include <map>
#include <utility>
#include <vector>

namespace trainx::passes {

using namespace program;

namespace {

class ParameterOffload {
 public:
  ParameterOffload(StepProgram& p, const ParameterOffloadOptions& how) : p_(p), how_(how) {}

  void apply() {
    take_weights_of_updates();
    std::vector<bool> kept_away;
    for (Buffer& b : p_.buffers) {
      kept_away.push_back(is_weights(b) && !stays(b));
      if (kept_away.back()) b.space = how_.on_disk ? Space::disk : Space::host;
    }
    copy_ahead(p_, kept_away, how_.read_ahead);
  }

 private:
  static bool is_weights(const Buffer& b) { return b.resident && b.role == Role::parameter; }

  bool stays(const Buffer& b) const {
    return !how_.stay.empty() && how_.stay.at(static_cast<std::size_t>(b.index));
  }

  /// Where updates are made on the host, over weights that are copied there or back: those are all
  /// that there is then.
  void take_weights_of_updates() {
    std::map<int, BufferId> on_device;  // by group
    std::vector<BufferId> becomes(p_.buffers.size());
    std::vector<Buffer> kept;
    for (std::size_t k = 0; k < p_.buffers.size(); ++k)
      if (is_weights(p_.buffers[k]) && p_.buffers[k].space == Space::device)
        on_device[p_.buffers[k].index] = static_cast<BufferId>(k);
    for (std::size_t k = 0; k < p_.buffers.size(); ++k) {
      const Buffer& b = p_.buffers[k];
      const auto same = on_device.find(b.index);
      if (b.role == Role::parameter && b.space == Space::host && same != on_device.end()) {
        // residents of the device come before those
        becomes[k] = becomes[static_cast<std::size_t>(same->second)];
      } else {
        becomes[k] = static_cast<BufferId>(kept.size());
        kept.push_back(b);
      }
    }
    p_.buffers = std::move(kept);
    for (Instruction& i : p_.steady)
      for (Use& u : i.uses) u.buffer = becomes[static_cast<std::size_t>(u.buffer)];
    std::erase_if(p_.steady, [](const Instruction& i) {
      return i.op == Op::copy && i.uses[0].buffer == i.uses[1].buffer;
    });
  }

  StepProgram& p_;
  const ParameterOffloadOptions& how_;
};

}  // namespace

StepProgram parameter_offload(StepProgram p, const ParameterOffloadOptions& how) {
  enter(p, Pass::parameter_offload);
  ParameterOffload(p, how).apply();
  return p;
}

}  // namespace trainx::passes
