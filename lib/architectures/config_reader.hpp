#pragma once
#include "options/field.hpp"
#include <nlohmann/json.hpp>
#include <cstdint>

namespace trainx::architectures {

using namespace options;

/// Reads keys of one config.json; every complaint is a UserError 65 that names the file and the
/// key.
class ConfigReader {
 public:
  ConfigReader(const std::string& text, const std::string& path);

  [[noreturn]] void fail(const std::string& what) const;
  /// Null counts as absent, as it does for transformers.
  const nlohmann::json* find(const char* key) const;
  bool is_null(const char* key) const;  // there, and null
  std::int64_t dimension(const char* key, std::optional<std::int64_t> otherwise = {}) const;
  double number(const char* key, double otherwise, const Limits& limits) const;
  /// A probability of dropout; absent: 0.1, as transformers has it for GPT-2 and BERT.
  double dropout(const char* key) const { return number(key, 0.1, unit_interval()); }
  /// A setting that must have one of these values (or be absent, which means the first).
  void require(const char* key, const std::vector<nlohmann::json>& supported) const;
  /// model_type must be there and one of these; returns which.
  std::size_t model_type(const std::vector<std::string>& known) const;

 private:
  std::string path_;
  nlohmann::json config_;
};

/// A sentence about dropout of attention, which no architecture of trainx has.
std::string no_attention_dropout(const std::string& path, double probability);

/// A value as a sentence shows it. Lists and objects are named only: they may be nested deeper than
/// writing them out has stack for.
std::string shown(const nlohmann::json& value);

}  // namespace trainx::architectures
