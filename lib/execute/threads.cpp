#include "execute/threads.hpp"
#include "core/thread_limit.hpp"
#include <ATen/Parallel.h>

namespace trainx::execute {

void set_compute_threads(std::int64_t n) {
  // LibTorch's pool and OpenMP's: the one waits for ever for a thread that cannot be started, the
  // other ends the process.
  require_threads(2 * (n - 1) + 1);
  at::set_num_threads(static_cast<int>(n));
}

}  // namespace trainx::execute
