// What this trainx has, asked of the lists that recipes are read with: a mapping becomes live with
// the optimizer that it maps to.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace trainx::imports {

bool has_key(std::string_view key);  // "memory.optimizer_offload"
bool has_option(std::string_view optimizer, std::string_view option);
bool has_optimizer(std::string_view name);
std::vector<std::string> optimizer_names();
std::vector<std::string> model_types();
bool has_model_option(std::string_view type, std::string_view option);
/// "tf32" of the words that a key takes.
bool takes_word(std::string_view key, std::string_view word);
/// The default of a key, as YAML: of one that every recipe has, or that is of `type`; empty where
/// there is none.
std::string default_text(std::string_view key, std::string_view type);

}  // namespace trainx::imports
