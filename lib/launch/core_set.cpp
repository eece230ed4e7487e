#include "launch/core_set.hpp"
#include <algorithm>
#include <new>

namespace trainx::launch {

CoreSet::CoreSet(const std::vector<int>& cores) {
  if (cores.empty()) return;
  const int count = std::ranges::max(cores) + 1;
  set_.reset(CPU_ALLOC(static_cast<std::size_t>(count)));
  if (!set_) throw std::bad_alloc();
  bytes_ = CPU_ALLOC_SIZE(static_cast<std::size_t>(count));
  CPU_ZERO_S(bytes_, set_.get());
  for (const int core : cores) CPU_SET_S(static_cast<std::size_t>(core), bytes_, set_.get());
}

void CoreSet::bind() const {
  if (set_) ::sched_setaffinity(0, bytes_, set_.get());
}

}  // namespace trainx::launch
