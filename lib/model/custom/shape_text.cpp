#include "model/custom/shape_text.hpp"

#include <cstdint>

namespace trainx::model::custom {

std::string shape_of(at::IntArrayRef sizes) {
  std::string text = "[";
  for (const std::int64_t size : sizes)
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

}  // namespace trainx::model::custom
