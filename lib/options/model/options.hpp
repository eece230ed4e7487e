// Models as a recipe names them: a file each, and a word in this list. lib/architectures decides
// their dims, in the same order (architectures/dims.hpp).
#pragma once
#include "options/model/bert.hpp"
#include "options/model/custom.hpp"
#include "options/model/decoder.hpp"
#include "options/model/gpt2.hpp"
#include "options/model/seq2seq.hpp"
#include <string_view>
#include <variant>

namespace trainx::options {

using ModelOptions =
    std::variant<Gpt2Options, BertOptions, DecoderOptions, Seq2SeqOptions, CustomOptions>;

Task task(const ModelOptions& options);
/// Its model.type.
std::string_view family_of(const ModelOptions& options);
/// Whether documents of a row can be kept apart.
bool packs(const ModelOptions& options);

}  // namespace trainx::options
