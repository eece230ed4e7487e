// Lifetimes to offsets: one arena per space.
#pragma once
#include "program/program.hpp"
#include <array>
#include <span>

namespace trainx::program {

struct Placement {
  std::vector<Bytes> base;                // by buffer: offset in the arena of its space
  std::array<Bytes, space_count> peak{};  // by space: bytes of the arena
  Bytes peak_of(Space s) const { return peak[static_cast<int>(s)]; }
};

/// What a memory mapping consists of.
constexpr Bytes page_bytes = 4096;

struct PlacementOptions {
  Bytes alignment = 256;
  // bytes that another lane touched are kept for that many more compute instructions, so that reuse
  // does not serialize lanes
  int overlap = 1;
  // by buffer: does it lie in whole pages of its own? Empty: none does
  std::vector<bool> in_own_pages;
  // offsets already decided for the first buffers (the resident ones of another program in the same
  // arena)
  std::vector<Bytes> fixed;
};

/// Each buffer at bytes of its own: the program before placement.
Placement unplaced(const StepProgram& p);
/// Of a program with buffers on a disk those, and buffers on the host, lie in whole blocks of the
/// disk of their own (4096 bytes): transfers between them may take the last block whole. Buffers
/// that are never alive at once share bytes; placed bytes are exact. Takes about n log n time for n
/// buffers.
Placement plan_memory(const StepProgram& p, const PlacementOptions& options = {});

/// When a buffer holds data, as closed intervals of positions in once + steady (the end of steady
/// leads to its beginning).
struct Interval {
  int first, last;
};
/// By buffer, ascending and apart.
class Lifetimes {
 public:
  std::size_t size() const { return ends_.size(); }
  std::span<const Interval> operator[](std::size_t buffer) const {
    const std::size_t begin = buffer == 0 ? 0 : ends_[buffer - 1];
    return std::span(intervals_).subspan(begin, ends_[buffer] - begin);
  }
  /// Of the next buffer.
  void add(std::span<const Interval> intervals) {
    intervals_.insert(intervals_.end(), intervals.begin(), intervals.end());
    ends_.push_back(intervals_.size());
  }

 private:
  std::vector<Interval> intervals_;
  std::vector<std::size_t> ends_;
};
Lifetimes lifetimes(const StepProgram& p);

/// Bytes alive at the position where the sum is largest, by role: what `plan` prints.
struct PeakUse {
  int position = 0;
  std::array<Bytes, role_count> by_role{};
  Bytes of(Role role) const { return by_role[static_cast<std::size_t>(role)]; }
  Bytes of_scalars() const;
};
PeakUse peak_use(const StepProgram& p, Space space = Space::device);

}  // namespace trainx::program
