#pragma once
#include <sched.h>
#include <cstddef>
#include <memory>
#include <vector>

namespace trainx::launch {

/// Cores that a process is bound to, in the kernel's form: bind() is a system call alone, for
/// between fork and exec. No cores: it stays where it may be.
class CoreSet {
 public:
  explicit CoreSet(const std::vector<int>& cores);
  /// Cores that went away in between leave the process unbound, which the worker's log says.
  void bind() const;

 private:
  struct Free {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
  };
  std::size_t bytes_ = 0;
  std::unique_ptr<cpu_set_t, Free> set_;
};

}  // namespace trainx::launch
