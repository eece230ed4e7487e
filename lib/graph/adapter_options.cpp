#include "graph/adapter_options.hpp"

namespace trainx::graph {

std::string module_of(const std::string& weight) {
  constexpr std::string_view suffix = ".weight";
  return weight.ends_with(suffix) ? weight.substr(0, weight.size() - suffix.size()) : weight;
}
std::string low_rank_a(const std::string& module) { return module + ".lora_A.weight"; }
std::string low_rank_b(const std::string& module) { return module + ".lora_B.weight"; }
std::string token_rows_of(const std::string& module) { return module + ".trainable_tokens_delta"; }

}  // namespace trainx::graph
