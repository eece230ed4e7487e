#include "data/target_shift.hpp"
#include "core/error.hpp"

namespace trainx::data {

void shift_targets(const options::TargetShift& shift, SampleView sample) {
  if (sample.target_tokens.size() != sample.targets.size() || sample.targets.empty())
    throw InternalError("shift_targets: not a token for each target");
  const auto pad = static_cast<std::int32_t>(shift.pad);
  const auto token = [&](std::size_t i) {
    return sample.targets[i] == no_target ? pad : sample.targets[i];
  };
  const std::size_t n = sample.targets.size();
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < n; ++i) tokens += token(i) != pad;
  // as transformers counts: padding stands at the end
  sample.target_tokens[0] = !shift.wraps  ? static_cast<std::int32_t>(shift.start)
                            : tokens == 0 ? pad
                                          : token(tokens - 1);
  for (std::size_t i = 1; i < n; ++i) sample.target_tokens[i] = token(i - 1);
}

}  // namespace trainx::data
