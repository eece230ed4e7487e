#include "comm/lone_control.hpp"

namespace trainx::comm {

std::vector<std::string> LoneControl::exchange(std::string_view mine) {
  throw_failure();
  return {std::string(mine)};
}

void LoneControl::throw_failure() const {
  if (failed()) throw UserError(code_, sentence_);
}

void LoneControl::fail(ExitCode code, const std::string& sentence) {
  if (failed()) return;
  code_ = code;
  sentence_ = sentence;
  failed_ = true;
}

}  // namespace trainx::comm
