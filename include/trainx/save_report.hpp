#pragma once
#include <cstdint>
#include <string>

namespace trainx {

/// A checkpoint that is whole on disk.
struct SaveReport {
  std::int64_t step = 0;  // finished steps
  std::string folder;
};

}  // namespace trainx
