#pragma once
#include "facts/lines.hpp"
#include "facts/section_json.hpp"
#include <cstdint>

namespace trainx::facts {

/// How fast the CPU moves data to and from memory.
struct MemoryBandwidthFacts {
  // of the triad a = b + s * c: two reads and a write of each element
  std::optional<double> bytes_per_second;
  // of an optimizer's update: one array is read, two are read and written, and so count twice
  std::optional<double> in_place_bytes_per_second;
  std::int64_t threads = 0;
  Unread unread;
};

/// Each the best of the sweeps of about 0.15 s over three arrays, `array_bytes` each, shared by
/// `threads`.
MemoryBandwidthFacts measure_memory_bandwidth(std::int64_t threads, std::int64_t array_bytes);
/// Arrays that together exceed the last-level caches (by /sys) and leave most of `free_bytes`
/// alone.
std::int64_t triad_array_bytes(const std::string& sys, std::int64_t free_bytes);
Json to_json(const MemoryBandwidthFacts& facts);
Lines describe(const MemoryBandwidthFacts& facts);

}  // namespace trainx::facts
