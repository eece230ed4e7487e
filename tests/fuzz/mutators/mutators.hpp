// Changes to an input that keep its form: what byte by byte would seldom get beyond a parser.
#pragma once
#include "fuzz/mutators/random.hpp"
#include <string>
#include <string_view>

namespace trainx::fuzz {

/// A changed input; empty where `input` has not the form that this mutator knows. `other` is
/// another input of the target, of which parts may be taken; it may be the same.
using Mutate = std::string(std::string_view input, std::string_view other, Random& random);

Mutate mutate_safetensors;
Mutate mutate_recipe;
Mutate mutate_config;
Mutate mutate_import;
Mutate mutate_tokenizer;
Mutate mutate_jsonl;

}  // namespace trainx::fuzz
