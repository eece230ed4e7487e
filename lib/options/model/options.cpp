#include "options/model/options.hpp"

namespace trainx::options {

Task task(const ModelOptions& options) {
  return std::visit([](const auto& o) { return task(o); }, options);
}

std::string_view family_of(const ModelOptions& options) {
  return std::visit([](const auto& o) { return std::string_view(o.name); }, options);
}

bool packs(const ModelOptions& options) {
  return std::visit(
      [](const auto& o) {
        if constexpr (requires { o.packs; }) return o.packs;
        return false;
      },
      options);
}

}  // namespace trainx::options
