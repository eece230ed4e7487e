#pragma once
#include "core/memory_errors.hpp"
#include <string>
#include <vector>

namespace trainx::metrics {

/// Tells what is wrong with a GPU's memory when a run begins, and what ECC finds while it goes on.
class MemoryErrorWatch {
 public:
  /// `gpu`: as sentences call it, "the GPU (NVIDIA H200)".
  explicit MemoryErrorWatch(std::string gpu) : gpu_(std::move(gpu)) {}
  /// A sentence for each thing that was not told yet. The first call is the run's beginning.
  std::vector<std::string> news(const MemoryErrors& now);
  const MemoryErrors& begin() const { return begin_; }
  const MemoryErrors& last() const { return last_; }

 private:
  std::string gpu_;
  bool begun_ = false;
  MemoryErrors begin_, last_;
};

}  // namespace trainx::metrics
