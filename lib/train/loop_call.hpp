#pragma once
#include "core/error.hpp"
#include <cstdint>
#include <optional>
#include <string>

namespace trainx::train {

/// What a loop of the user's own asks of training.
struct LoopCall {
  enum class Kind : std::uint8_t { step, evaluate, save, set_lr, parameters, close, fail };
  Kind kind = Kind::step;
  std::optional<double> lr = {};  // set_lr
  std::string sentence = {};      // fail: why the loop ended
  ExitCode code = ExitCode::bug;  // fail
};

/// "set_lr(0.001)": equal for equal calls.
std::string describe(const LoopCall& call);

}  // namespace trainx::train
