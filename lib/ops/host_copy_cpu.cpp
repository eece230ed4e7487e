#include "ops/host_copy.hpp"
#include "ops/gpu_scope.hpp"
#include "ops/timed_work.hpp"
#include <cstring>
#ifdef TRAINX_CUDA
#include "ops/cuda/ops.hpp"
#endif

namespace trainx::ops {

void copy_in(const at::Tensor& to, const void* from) {
  TRAINX_ON_GPU(copy_in(*gpu, to, from));
  const TimedWork timed(Work::copy);
  std::memcpy(to.data_ptr(), from, to.nbytes());
}

void copy_out(void* to, const at::Tensor& from) {
  TRAINX_ON_GPU(copy_out(*gpu, to, from));
  const TimedWork timed(Work::copy);
  std::memcpy(to, from.const_data_ptr(), from.nbytes());
}

}  // namespace trainx::ops
