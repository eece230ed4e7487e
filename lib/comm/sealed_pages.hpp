// Pages that processes of one host share and that nobody can change. They have no name: they are
// gone with the last process that maps them, however the processes end.
#pragma once
#include "core/descriptor.hpp"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainx::comm {

/// Whole pages of a memory area, in bytes from its beginning.
struct PageRange {
  std::size_t begin = 0, bytes = 0;
};

/// One process begins, writes its pages and seals them; others take them in the place of their own.
/// A memory file backs the pages. Its seals forbid writing, shrinking and growing, so that no
/// process can change the others' pages or take them away (SIGBUS).
class SealedPages {
 public:
  /// `base`: page-aligned memory of the caller, who keeps it while this lives and unmaps it.
  /// `ranges`: ascending, apart, not empty, of whole pages.
  SealedPages(std::byte* base, std::vector<PageRange> ranges)
      : base_(base), ranges_(std::move(ranges)) {}

  /// Backs the ranges by a new file, whose pages are zero and can be written until seal(). False:
  /// the system refuses, `why` says what, and the ranges are private zeros.
  bool begin(std::string& why);
  /// After begin(): no process writes to the pages any more. Returns what take() needs, valid while
  /// this lives; nothing if the system refuses, and then the pages stay as they are, this process's
  /// alone.
  std::optional<std::string> seal(std::string& why);
  /// Maps the pages that another process has sealed, for reading. `offer`: what its seal() returned
  /// for the same ranges. False: they cannot be reached (another PID namespace, say), `why` says
  /// how, and the ranges are private zeros.
  bool take(const std::string& offer, std::string& why);

 private:
  enum class Access : std::uint8_t { read, write };
  std::size_t data_bytes() const { return ranges_.back().begin + ranges_.back().bytes; }
  bool map(const Descriptor& file, Access access);
  void make_private();

  std::byte* base_;
  std::vector<PageRange> ranges_;
  std::string mark_;  // random: tells the file from others
  Descriptor file_;   // laid out as the memory, with the mark behind it
};

}  // namespace trainx::comm
