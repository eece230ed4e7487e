#pragma once
#include "core/error.hpp"
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace trainx::data {

/// Sources whose samples are numbered through, one source after another.
class SampleRanges {
 public:
  struct Place {
    std::size_t source = 0;
    std::int64_t index = 0;
  };  // index: in that source

  void append(std::int64_t samples) { ends_.push_back(total() + samples); }
  std::int64_t total() const { return ends_.empty() ? 0 : ends_.back(); }
  Place find(std::int64_t index) const {
    if (index < 0 || index >= total())
      throw InternalError("data: sample " + std::to_string(index) + " of " +
                          std::to_string(total()));
    const auto s = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), index) -
                                            ends_.begin());
    return {s, index - (s > 0 ? ends_[s - 1] : 0)};
  }

 private:
  std::vector<std::int64_t> ends_;  // samples up to and including source s
};

}  // namespace trainx::data
