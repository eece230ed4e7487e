#include "corpus/about_file.hpp"
#include "core/files.hpp"
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

namespace trainx::corpus {

AboutFile read_about(const std::string& path) {
  AboutFile about;
  const std::string file = path + ".json";
  if (!std::filesystem::is_regular_file(file)) return about;
  const auto json = nlohmann::json::parse(read_file(file), nullptr, false);
  if (!json.is_object()) return about;
  const auto number = [&](const char* key) -> std::optional<std::int32_t> {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_number_unsigned() ||
        found->get<std::uint64_t>() > std::numeric_limits<std::int32_t>::max())
      return std::nullopt;
    return found->get<std::int32_t>();
  };
  about.end_of_text = number("end_of_text");
  about.vocab_size = number("vocab_size").value_or(0);
  if (const auto tokenizer = json.find("tokenizer");
      tokenizer != json.end() && tokenizer->is_string())
    about.tokenizer = *tokenizer;
  return about;
}

void write_about(const std::string& path, const nlohmann::ordered_json& about) {
  write_file_atomic(
      path + ".json",
      about.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace trainx::corpus
