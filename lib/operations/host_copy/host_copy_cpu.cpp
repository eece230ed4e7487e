#include "operations/host_copy/host_copy.hpp"
#include "operations/host_copy/host_copy_backends.hpp"
#include "operations/common/timed_work.hpp"
#include <cstring>

namespace trainx::operations {

void cpu::copy_in(const Tensor& to, const void* from) {
  const TimedWork timed(Work::copy);
  std::memcpy(to.data, from, static_cast<std::size_t>(to.nbytes()));
}

void cpu::copy_out(void* to, const Tensor& from) {
  const TimedWork timed(Work::copy);
  std::memcpy(to, from.data, static_cast<std::size_t>(from.nbytes()));
}

}  // namespace trainx::operations
