// Which bytes of an arena are taken when: what placing a buffer asks for each buffer of a program.
#pragma once
#include "program/memory.hpp"
#include <cstdint>

namespace trainx::program {

/// Buffers at the same bytes at other times share an entry: repeated layers and micro-steps have few different ranges.
class TakenRanges {
 public:
  /// `positions`: of the whole program.
  explicit TakenRanges(std::size_t positions) : words_((positions + 63) / 64) {}

  void take(Range bytes, const std::vector<Interval>& when);
  /// From `bottom` on the first place where `size` bytes are free at all these times: there, or at a multiple of `alignment` behind what is taken.
  Bytes lowest_free(Bytes bottom, Bytes size, Bytes alignment, const std::vector<Interval>& when) const;

 private:
  struct Taken { Range bytes; std::size_t row; };
  bool is_taken(std::size_t row, const std::vector<Interval>& when) const;

  std::size_t words_;
  std::vector<Taken> ranges_;           // by begin, then end
  std::vector<std::uint64_t> when_;     // a row of a bit for each position
};

}  // namespace trainx::program
