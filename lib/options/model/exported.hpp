// The options of models that scripts/trainx-export wrote.
#pragma once
#include "options/model/custom.hpp"
#include <string_view>

namespace trainx::options {

constexpr std::string_view exported_name = "exported";

CustomOptions exported_options();
bool is_exported(const CustomOptions& options);

}  // namespace trainx::options
