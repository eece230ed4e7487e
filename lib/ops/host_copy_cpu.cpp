#include "ops/host_copy.hpp"
#include "ops/cpu/ops.hpp"
#include "ops/timed_work.hpp"
#include <cstring>

namespace trainx::ops {

void cpu::copy_in(const Tensor& to, const void* from) {
  const TimedWork timed(Work::copy);
  std::memcpy(to.data, from, static_cast<std::size_t>(to.nbytes()));
}

void cpu::copy_out(void* to, const Tensor& from) {
  const TimedWork timed(Work::copy);
  std::memcpy(to, from.data, static_cast<std::size_t>(from.nbytes()));
}

}  // namespace trainx::ops
