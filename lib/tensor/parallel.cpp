#include "tensor/parallel.hpp"
#include <ATen/Parallel.h>

namespace trainx::tensor {

void run_parts(std::int64_t begin, std::int64_t end, std::int64_t grain, const void* work,
               void (*call)(const void* work, std::int64_t begin, std::int64_t end)) {
  at::parallel_for(begin, end, grain,
                   [&](std::int64_t from, std::int64_t to) { call(work, from, to); });
}

std::size_t most_parts() { return static_cast<std::size_t>(at::get_num_threads()); }
std::size_t this_part() { return static_cast<std::size_t>(at::get_thread_num()); }

}  // namespace trainx::tensor
