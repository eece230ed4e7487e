#include "ops/rows.hpp"
#include "ops/cross_entropy.hpp"
#include "ops/element.hpp"
#include "ops/gpu_scope.hpp"
#include "ops/timed_work.hpp"
#include <cstring>
#ifdef TRAINX_CUDA
#include "ops/cuda/ops.hpp"
#endif

namespace trainx::ops {

void clear(const at::Tensor& x) {
  TRAINX_ON_GPU(clear(*gpu, x));
  const TimedWork timed(Work::copy);
  std::memset(x.data_ptr(), 0, x.nbytes());
}

void first_rows(const at::Tensor& rows, std::int64_t length) {
  TRAINX_ON_GPU(first_rows(*gpu, rows, length));
  const TimedWork timed(Work::copy);
  for (std::int64_t b = 0; b < rows.size(0); ++b) data<std::int64_t>(rows)[b] = b * length;
}

std::int64_t select_targets(const at::Tensor& rows, const at::Tensor& row_targets,
                            const at::Tensor& targets) {
  TRAINX_ON_GPU(select_targets(*gpu, rows, row_targets, targets));
  const TimedWork timed(Work::copy);
  const auto* const target = data<std::int32_t>(targets);
  std::int64_t found = 0;
  for (std::int64_t r = 0; r < targets.numel(); ++r) {
    if (target[r] == no_target) continue;
    data<std::int32_t>(row_targets)[found] = target[r];
    data<std::int64_t>(rows)[found++] = r;
  }
  return found;
}

}  // namespace trainx::ops
