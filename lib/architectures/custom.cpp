#include "architectures/custom.hpp"
#include <algorithm>

namespace trainx::architectures {

bool CustomShape::reads_tokens() const {
  return std::ranges::any_of(modules, [](const CustomModule& m) {
    return std::ranges::any_of(m.inputs, [](const std::string& input) {
      return input == "tokens" || input == "targets" || input == "labels";
    });
  });
}

std::vector<FieldSpec> CustomDims::fields() const {
  return shapes.empty() ? std::vector<FieldSpec>{} : shapes.front().fields;
}
std::string CustomDims::not_captured() const {
  const auto found =
      std::ranges::find_if(shapes, [](const CustomShape& s) { return !s.not_captured.empty(); });
  return found == shapes.end() ? "" : found->not_captured;
}
bool CustomDims::has_times() const {
  return !shapes.empty() && std::ranges::all_of(shapes, [](const CustomShape& s) {
    return std::ranges::all_of(s.modules, [](const CustomModule& m) { return m.forward_s > 0; });
  });
}
std::vector<std::string> CustomDims::metrics() const {
  return shapes.empty() ? std::vector<std::string>{} : shapes.front().metrics;
}

}  // namespace trainx::architectures
