#pragma once
#include "facts/finding.hpp"
#include "facts/lines.hpp"
#include "facts/roots.hpp"
#include "facts/section_json.hpp"
#include <cstdint>

namespace trainx::facts {

struct MemoryFacts {
  std::optional<std::int64_t> installed_bytes;
  std::optional<std::int64_t> cgroup_bytes;  // its limit; empty: none
  // that programs may still take, under the limit too; what the page cache would give back counts
  std::optional<std::int64_t> free_bytes;
  Unread unread;
};

MemoryFacts detect_memory(const Roots& roots);
Findings findings_of(const MemoryFacts& facts);
Json to_json(const MemoryFacts& facts);
Lines describe(const MemoryFacts& facts);

}  // namespace trainx::facts
