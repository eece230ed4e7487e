// Architectures that there are: a file each, and a line in each of these lists, in the same order.
#pragma once
#include "architectures/bert.hpp"
#include "architectures/custom.hpp"
#include "architectures/decoder.hpp"
#include "architectures/gpt2.hpp"
#include <variant>

namespace trainx::architectures {
// as written in a recipe
using ModelOptions = std::variant<Gpt2Options, BertOptions, DecoderOptions, CustomOptions>;
using ModelDims = std::variant<Gpt2Dims, BertDims, DecoderDims, CustomDims>;  // decided
}  // namespace trainx::architectures
