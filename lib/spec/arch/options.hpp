// Architectures that there are: a file each, and a line in this list.
#pragma once
#include "spec/arch/gpt2.hpp"
#include <variant>

namespace trainx::spec {
using ModelOptions = std::variant<Gpt2Options>;
}  // namespace trainx::spec
