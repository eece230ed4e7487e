#include "train/loop_call.hpp"
#include <array>
#include <cstdio>

namespace trainx::train {

std::string describe(const LoopCall& call) {
  switch (call.kind) {
    case LoopCall::Kind::step: return "step()";
    case LoopCall::Kind::evaluate: return "evaluate()";
    case LoopCall::Kind::save: return "save()";
    case LoopCall::Kind::set_lr: break;
    case LoopCall::Kind::parameters: return "parameters()";
    case LoopCall::Kind::close: return "close()";
    case LoopCall::Kind::fail: return "nothing any more";
  }
  if (!call.lr) return "set_lr(nullopt)";
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "set_lr(%.17g)", *call.lr);
  return text.data();
}

}  // namespace trainx::train
