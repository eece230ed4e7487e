// Architectures that there are: a file each, and a line in each of these lists, in the same order.
#pragma once
#include "spec/arch/bert.hpp"
#include "spec/arch/custom.hpp"
#include "spec/arch/gpt2.hpp"
#include <variant>

namespace trainx::spec {
// as written in a recipe
using ModelOptions = std::variant<Gpt2Options, BertOptions, CustomOptions>;
using ModelDims = std::variant<Gpt2Dims, BertDims, CustomDims>;  // decided
}  // namespace trainx::spec
