#include "launch/beam_options.hpp"
#include "core/error.hpp"
#include <cmath>

namespace trainx::launch {

void check_beams(const BeamOptions& o) {
  constexpr std::int64_t most = 64;  // each has a cache
  if (o.beams < 1 || o.beams > most)
    throw UserError(ExitCode::usage, "generate: --beams must be from 1 to 64");
  if (!std::isfinite(o.length_penalty))
    throw UserError(ExitCode::usage, "generate: --length-penalty must be a number");
}

}  // namespace trainx::launch
