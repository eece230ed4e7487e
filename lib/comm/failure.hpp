// How a run of many ranks fails: one code and one sentence, which all of them end with.
#pragma once
#include "core/error.hpp"
#include <string>

namespace trainx::comm {

struct Failure {
  ExitCode code = ExitCode::bug;
  std::string sentence;
};

}  // namespace trainx::comm
