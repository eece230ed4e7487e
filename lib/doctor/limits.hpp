#pragma once
#include "facts/finding.hpp"
#include "facts/lines.hpp"
#include "facts/roots.hpp"
#include "facts/section_json.hpp"
#include <cstdint>

namespace trainx::doctor {

using namespace facts;

struct LimitFacts {
  /// Of RLIMIT_*: the soft limit, which a process may raise up to the hard one. Empty: unlimited.
  struct Limit {
    std::optional<std::int64_t> soft, hard;
  };
  std::optional<Limit> locked_memory_bytes, open_files;
  std::optional<std::int64_t> shared_memory_bytes, shared_memory_free_bytes;  // of /dev/shm
  // of the cgroup; empty: no limit
  std::optional<std::int64_t> processes, processes_left;
  bool infiniband = false;  // its drivers lock the memory that NCCL sends from
  Unread unread;
};

LimitFacts detect_limits(const Roots& roots);
Findings findings_of(const LimitFacts& facts);
Json to_json(const LimitFacts& facts);
Lines describe(const LimitFacts& facts);

}  // namespace trainx::doctor
