#pragma once
#include "core/error.hpp"
#include "options/field.hpp"
#include <nlohmann/json.hpp>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace trainx::architectures {

using namespace options;

/// Reads keys of one config.json; every complaint is a UserError that names the file and the key:
/// 65, or 78 where a recipe's settings made it.
class ConfigReader {
 public:
  ConfigReader(const std::string& text, const std::string& path,
               ExitCode code = ExitCode::bad_data);

  const std::string& path() const { return path_; }
  [[noreturn]] void fail(const std::string& what) const;
  /// Null counts as absent, as it does for transformers.
  const nlohmann::json* find(const char* key) const;
  bool is_null(const char* key) const;  // there, and null
  bool flag(const char* key, bool otherwise) const;
  /// A flag that transformers takes null for, which is false.
  bool nullable_flag(const char* key, bool otherwise) const {
    return !is_null(key) && flag(key, otherwise);
  }
  /// Refuses a key that nobody asked for and from which transformers may compute other numbers:
  /// the family's configuration class reads it, and its value or its default switches something on.
  void refuse_unknown() const;
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
  ExitCode code_;
  nlohmann::json config_;
  mutable std::set<std::string, std::less<>> asked_;
};

/// The keys of a config.json. An architecture lists them once, for reading and for writing.
class ConfigKeys {
 public:
  explicit ConfigKeys(const ConfigReader& file) : file_(&file) {}
  explicit ConfigKeys(nlohmann::json& written) : written_(&written) {}
  const ConfigReader* file() const { return file_; }  // null if keys are written

  void dimension(const char* key, std::int64_t& value, std::optional<std::int64_t> otherwise = {}) {
    file_ ? void(value = file_->dimension(key, otherwise)) : write(key, value);
  }
  void number(const char* key, double& value, double otherwise, const Limits& limits) {
    file_ ? void(value = file_->number(key, otherwise, limits)) : write(key, value);
  }
  void flag(const char* key, bool& value, bool otherwise) {
    file_ ? void(value = file_->flag(key, otherwise)) : write(key, value);
  }
  void dropout(const char* key, double& value) {
    file_ ? void(value = file_->dropout(key)) : write(key, value);
  }
  /// A setting that trainx computes in one way, which these values mean. The first is written.
  void fixed(const char* key, const std::vector<nlohmann::json>& values) {
    file_ ? file_->require(key, values) : write(key, values.front());
  }
  /// Like fixed, but never written.
  void require(const char* key, const std::vector<nlohmann::json>& values) {
    if (file_) file_->require(key, values);
  }
  /// Keys that a file may have and from which no number follows.
  void ignore(std::initializer_list<const char*> keys) {
    for (const char* key : keys)
      if (file_) file_->find(key);
  }
  /// A key that transformers needs and trainx does not read.
  void write(const char* key, const nlohmann::json& value) {
    if (written_) (*written_)[key] = value;
  }
  /// Checks sizes that are read: the one under size_key is a multiple of the heads'.
  void heads_divide(const char* size_key, std::int64_t size, const char* heads_key,
                    std::int64_t heads);

 private:
  const ConfigReader* file_ = nullptr;
  nlohmann::json* written_ = nullptr;
};

/// A probability of dropout, and its key.
using KeyedDropout = std::pair<const char*, double>;
/// What a file asks of dropout beyond the probability that is `trained` with, a sentence each:
/// `other` differs from `main`. Choices of the user get no sentence.
std::vector<std::string> dropout_remarks(const std::string& path, double trained, KeyedDropout main,
                                         KeyedDropout other);

/// A value as a sentence shows it. Lists and objects are named only: they may be nested deeper than
/// writing them out has stack for.
std::string shown(const nlohmann::json& value);
/// Does the value switch nothing on? null, false, 0 and "none".
bool is_off(const nlohmann::json& value);
/// A key that somebody made up, in quotes where it is none that a sentence can hold as it is.
std::string shown_key(const std::string& key);

}  // namespace trainx::architectures
