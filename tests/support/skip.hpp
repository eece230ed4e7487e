// Test cases that cannot run on this machine. Catch2 v2 has no skipped tests, so that such a case
// would count as passed.
#pragma once
#include <string>

namespace trainx {

/// A process one of whose cases is skipped for this reason ends with 77 unless another one failed.
/// tests/gpu_run/pool.py knows these words.
inline constexpr const char* no_gpu = "no GPU on this machine";

/// Notes that the running test case is skipped, and why. A process whose cases are all skipped ends
/// with 77, which ctest shows as skipped; any process names its skipped cases in its last line.
void note_skipped(const std::string& why);

}  // namespace trainx

/// Ends a test case, or a helper without a result, that cannot run here.
#define TRAINX_SKIP(why)       \
  do {                         \
    trainx::note_skipped(why); \
    return;                    \
  } while (false)
