// Architectures that there are: a file each, and a line in each of these lists, in the same order.
#pragma once
#include "architectures/bert.hpp"
#include "architectures/custom.hpp"
#include "architectures/decoder.hpp"
#include "architectures/gpt2.hpp"
#include "architectures/seq2seq.hpp"
#include <variant>

namespace trainx::architectures {
// as written in a recipe
using ModelOptions =
    std::variant<Gpt2Options, BertOptions, DecoderOptions, Seq2SeqOptions, CustomOptions>;
using ModelDims =
    std::variant<Gpt2Dims, BertDims, DecoderDims, Seq2SeqDims, CustomDims>;  // decided
}  // namespace trainx::architectures
