#include "tokenizer/files/mistral_pattern.hpp"
#include "tokenizer/files/read_json.hpp"
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string_view>

namespace trainx::tokenizer {
namespace {

using nlohmann::json;

constexpr const char* pattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// Folders of release 5 and of other models have the right pattern.
bool is_affected(const std::string& folder) {
  static constexpr std::array<std::string_view, 5> types{"mistral", "mistral3", "voxtral",
                                                         "ministral", "pixtral"};
  const std::string path = folder + "/config.json";
  if (!std::filesystem::is_regular_file(path)) return false;
  const nlohmann::ordered_json config = read_json_object(path);
  const auto version = config.value("transformers_version", nlohmann::ordered_json()),
             type = config.value("model_type", nlohmann::ordered_json());
  int release = 0;
  if (version.is_string()) {
    const auto& text = version.get_ref<const std::string&>();
    std::from_chars(text.data(), text.data() + text.size(), release);
  }
  return release < 5 &&
         (!type.is_string() ||
          std::ranges::find(types, type.get_ref<const std::string&>()) != types.end());
}

}  // namespace

void fix_mistral_pattern(const std::string& folder, json& document) {
  constexpr std::size_t large = 100'000;
  const json& vocab = document["model"]["vocab"];
  if (vocab.size() + document["added_tokens"].size() <= large || !is_affected(folder)) return;
  json& now = document["pre_tokenizer"];
  if (now.is_null()) return;
  const json split{{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}};
  if (now.value("type", "") == "Sequence") {
    now["pretokenizers"][0] = split;
    return;
  }
  json last = now;
  if (now.value("type", "") == "Metaspace")
    last = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  now = {{"type", "Sequence"}, {"pretokenizers", json::array({split, last})}};
}

}  // namespace trainx::tokenizer
