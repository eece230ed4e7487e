#include "comm/failure.hpp"

namespace trainx::comm {

void write(ByteWriter& out, const Failure& failure) {
  out.put(static_cast<std::int64_t>(failure.code))
      .put(failure.sentence)
      .put(static_cast<std::int64_t>(failure.cause));
}

Failure read_failure(ByteReader& in) {
  Failure failure;
  failure.code = static_cast<ExitCode>(in.integer());
  failure.sentence = in.text();
  failure.cause = static_cast<ExitCode>(in.integer());
  return failure;
}

}  // namespace trainx::comm
