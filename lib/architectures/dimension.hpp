#pragma once
#include <cstdint>
#include <optional>

namespace trainx::architectures {

/// A size of a model, as a recipe may write it and as it was decided.
struct Dimension {
  const char* key;  // below model.options
  std::optional<std::int64_t>& written;
  std::int64_t& decided;
};

}  // namespace trainx::architectures
