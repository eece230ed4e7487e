#include "imports/model_family.hpp"
#include "imports/registry.hpp"
#include "recipe/value.hpp"
#include <algorithm>

namespace trainx::imports {

std::string family_of(std::string_view name) {
  // Longer names stand before those that they contain.
  static constexpr std::string_view families[]{
      "tinyllama",  "code_llama", "codellama", "mllama",    "llama",    "mixtral",    "ministral",
      "mistral",    "qwen",       "gemma",     "phi",       "falcon",   "deepseek",   "distilgpt2",
      "gpt_neox",   "gpt-neox",   "gpt-j",     "gptj",      "gpt_oss",  "gpt-oss",    "gpt2",
      "openelm",    "olmo",       "mpt",       "bloom",     "pythia",   "stablelm",   "starcoder",
      "smollm",     "granite",    "cohere",    "command-r", "mamba",    "jamba",      "rwkv",
      "distilbert", "roberta",    "deberta",   "electra",   "albert",   "modernbert", "bert",
      "t5",         "bart",       "clip",      "glm",       "internlm", "yi-"};
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : static_cast<char>(c);
  });
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto names = [&](std::string_view family) {
    const std::size_t at = lower.find(family);
    return at != std::string::npos && (at == 0 || !is_letter(lower[at - 1]));
  };
  const auto found = std::ranges::find_if(families, names);
  return found == std::end(families) ? "" : std::string(*found);
}

namespace {

/// Is there a model.type of the family? Some are named after what came of another.
bool trains(std::string family) {
  static constexpr std::pair<std::string_view, std::string_view> others[]{
      {"distilgpt2", "gpt2"},  {"tinyllama", "llama"}, {"codellama", "llama"},
      {"code_llama", "llama"}, {"yi-", "llama"},       {"gpt-neox", "gpt_neox"},
      {"pythia", "gpt_neox"},  {"command-r", "cohere"}};
  for (const auto& [name, like] : others)
    if (family == name) family = like;
  return std::ranges::any_of(model_types(),
                             [&](const std::string& type) { return type.starts_with(family); });
}

}  // namespace

void leave_model(Settings& s, std::string_view key, const std::string& name) {
  const std::string family = family_of(name);
  const std::string there = "those of docs/models.md";
  const bool is_trained = trains(family);
  const bool is_path = name.starts_with('/') || name.starts_with('.');
  const bool is_builder = name.starts_with("torchtune.");
  if (!family.empty() && !is_trained)
    s.leave(key, "trainx trains no models of the family " + family + ", only " + there, true);
  else if (is_path || is_builder)
    s.leave(key,
            (family.empty() ? "trainx trains " + there : "a model of the family " + family) +
                ": name a Hugging Face folder with --model",
            is_builder);
  else
    s.leave(key, "trainx downloads nothing: run `hf download " + name +
                     " --local-dir FOLDER`, then import with --model FOLDER");
}

}  // namespace trainx::imports
