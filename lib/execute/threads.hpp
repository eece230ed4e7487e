#pragma once
#include <cstdint>

namespace trainx::execute {

/// Threads that a matrix product or an element-wise loop is spread over, for this process. Results
/// are bit-equal for equal counts.
void set_compute_threads(std::int64_t n);

}  // namespace trainx::execute
