// Threads that the system does not give: RLIMIT_NPROC, a cgroup's pids.max, memory.
#pragma once
#include <cstdint>
#include <exception>
#include <string>
#include <system_error>

namespace trainx {

/// Is this what std::thread throws where there is no further thread?
inline bool is_thread_limit(const std::exception& e) {
  const auto* error = dynamic_cast<const std::system_error*>(&e);
  return error && error->code() == std::errc::resource_unavailable_try_again;
}

/// Throws that, unless so many more threads can be had at a time. For libraries that end the
/// process where they cannot start theirs.
void require_threads(std::int64_t count);

/// The sentence that people get, with exit code 71.
inline std::string thread_limit_sentence() {
  return "no further thread can be started: raise the limit of processes and threads (ulimit -u, "
         "or pids.max of the cgroup) or of memory (ulimit -v), or lower OMP_NUM_THREADS and "
         "data.workers";
}

}  // namespace trainx
