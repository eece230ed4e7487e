// Keys of config.json that transformers reads, by model_type.
#pragma once
#include <string_view>
#include <vector>

namespace trainx::architectures {

/// What the configuration class and the modeling code of a model_type read.
struct ClassKeys {
  std::string_view model_type;  // "": what every configuration has, from which no loss follows
  /// Separated by spaces. A plus sign before a key: its default is neither false, 0, null nor
  /// "none".
  std::string_view keys;
};
const std::vector<ClassKeys>& class_keys();

enum class KeyDefault { not_read, off, on };
/// How transformers takes `key` of a config.json with that model_type: not at all (or so that no
/// loss follows), or with a default that switches something on. `on` for every key of a model_type
/// that transformers does not have.
KeyDefault key_default(std::string_view model_type, std::string_view key);

}  // namespace trainx::architectures
