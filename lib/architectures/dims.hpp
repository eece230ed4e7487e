// What is decided of a model. Architectures that there are: a file each, and a line in this list,
// in the order of options::ModelOptions.
#pragma once
#include "architectures/bert.hpp"
#include "architectures/custom.hpp"
#include "architectures/decoder.hpp"
#include "architectures/gpt2.hpp"
#include "architectures/seq2seq.hpp"
#include "options/model/options.hpp"
#include <variant>

namespace trainx::architectures {
using ModelDims = std::variant<Gpt2Dims, BertDims, DecoderDims, Seq2SeqDims, CustomDims>;
}  // namespace trainx::architectures
