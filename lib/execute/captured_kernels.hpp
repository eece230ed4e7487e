#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace trainx::execute {

/// What a step turned out to be, read from the machine.
struct CapturedKernels {
  // it is replayed as a CUDA graph; else it was captured once, to be looked at
  bool captured = false;
  std::size_t shape = 0;  // which of the plan's programs it is
  // launches of one step, by the name that the driver has (mangled)
  std::map<std::string, std::int64_t> kernels;
  std::int64_t copies = 0, copied_bytes = 0;
  std::int64_t bytes_to_host = 0, bytes_from_host = 0;  // of the copied ones
  std::int64_t memsets = 0;
  // calls of an optimizer's update on the host, that the driver makes in their turn
  std::int64_t host_updates = 0;
  // that a head computed which computes rows with a target alone
  std::int64_t target_rows = 0;
};

}  // namespace trainx::execute
