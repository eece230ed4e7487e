// How a run of many ranks fails: one code and one sentence, which all of them end with.
#pragma once
#include "core/error.hpp"
#include "comm/bytes.hpp"
#include <string>

namespace trainx::comm {

struct Failure {
  ExitCode code = ExitCode::bug;
  std::string sentence;
  ExitCode cause = code;  // of the rank that failed first, where it told one: the run's own
};

void write(ByteWriter& out, const Failure& failure);
/// Throws MalformedMessage.
Failure read_failure(ByteReader& in);

}  // namespace trainx::comm
