#include "execute/threads.hpp"
#include <ATen/Parallel.h>

namespace trainx::execute {

void set_compute_threads(std::int64_t n) { at::set_num_threads(static_cast<int>(n)); }

}  // namespace trainx::execute
