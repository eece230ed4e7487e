// Pinned host memory of which the ranks of a host share pages.
#pragma once
#include "execute/arena.hpp"
#include "program/memory.hpp"
#include <cstdint>
#include <vector>

namespace trainx::execute {

/// An arena that the current GPU reads and writes. Its shared pages are pinned by themselves, once
/// they are in their place, and given up before they are replaced.
class PinnedArena {
 public:
  /// `shared`: whole pages, ascending and apart; all others are pinned at once. Throws GpuError: 71
  /// the machine refuses memory.
  PinnedArena(std::int64_t bytes, std::vector<program::Range> shared);
  ~PinnedArena();
  PinnedArena(const PinnedArena&) = delete;
  PinnedArena& operator=(const PinnedArena&) = delete;
  std::byte* data() const { return arena_.data(); }
  const std::vector<program::Range>& shared() const { return shared_; }
  /// `for_reading_alone`: as they are mapped. Throws GpuError.
  void pin_shared(bool for_reading_alone);
  void unpin_shared();
  /// Tries a page: does this GPU read pages that are mapped for reading alone, and take the host's
  /// addresses of pinned pages for its own?
  static bool can_share_pages();

 private:
  void pin(const program::Range& range, unsigned flags);
  void unpin(std::vector<program::Range>& pinned);

  Arena arena_;
  std::vector<program::Range> shared_;
  std::vector<program::Range> private_pinned_, shared_pinned_;
};

}  // namespace trainx::execute
