#pragma once
#include <string_view>

namespace trainx::tokenizer {

/// The tokenizer class that transformers takes for a model_type of config.json; empty: it knows
/// none.
std::string_view class_of_type(std::string_view model_type);
/// Whether transformers takes the class of the model_type although the folder names another.
bool ignores_named_class(std::string_view model_type);
/// Whether transformers has a tokenizer class of that name.
bool is_class(std::string_view name);

}  // namespace trainx::tokenizer
