#pragma once
#include "core/hash.hpp"
#include <cstddef>
#include <cstdint>
#include <span>

namespace trainx::fuzz {

using Bytes = std::span<const std::byte>;

/// In which of several ways a target reads its input: in all of them, or, which is many times as
/// quick, in one that follows from the input's hash, the same whenever it is tried again.
class Ways {
 public:
  static Ways all() { return Ways(); }
  static Ways one_for(Bytes input) {
    Ways ways;
    ways.all_ = false;
    ways.hash_ = hash64(input);
    return ways;
  }
  /// Calls `use(i)` for each i below `count`, or for one of them.
  template <class Use>
  void each(std::size_t count, Use&& use) const {
    if (!all_) return use(static_cast<std::size_t>(hash_ % count));
    for (std::size_t i = 0; i < count; ++i) use(i);
  }

 private:
  Ways() = default;
  bool all_ = true;
  std::uint64_t hash_ = 0;
};

/// Takes apart the number of a way, choice by choice.
class Choices {
 public:
  explicit Choices(std::size_t way) : rest_(way) {}
  /// One of a list; each list of a way takes its own factor of the count.
  template <class T, std::size_t n>
  const T& of(const T (&list)[n]) {
    const T& chosen = list[rest_ % n];
    rest_ /= n;
    return chosen;
  }

 private:
  std::size_t rest_;
};

}  // namespace trainx::fuzz
