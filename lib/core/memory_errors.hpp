#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainx {

/// What ECC counts in a GPU's memory. What cannot be read is nothing; of a GPU without ECC all is.
struct MemoryErrors {
  std::optional<std::int64_t> corrected, uncorrected;  // since the driver was loaded
  std::optional<bool> row_remap_failed;                // no spare rows are left for broken ones
  // the next reset replaces a broken row, or takes a broken page out of use
  std::optional<bool> row_remap_pending, page_retirement_pending;

  bool operator==(const MemoryErrors&) const = default;
  /// Whether anything could be read.
  bool known() const { return *this != MemoryErrors{}; }
};

struct MemoryAdvice {
  std::string problem, remedy;
};
/// What is wrong with the memory of `gpu` ("GPU 0 (NVIDIA H200)"), and what to do. Empty: nothing.
std::vector<MemoryAdvice> advice_on(const MemoryErrors& errors, const std::string& gpu);

}  // namespace trainx
