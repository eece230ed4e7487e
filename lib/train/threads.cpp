#include "train/threads.hpp"
#include <ATen/Parallel.h>

namespace trainx::train {

void set_compute_threads(std::int64_t n) { at::set_num_threads(static_cast<int>(n)); }

}  // namespace trainx::train
