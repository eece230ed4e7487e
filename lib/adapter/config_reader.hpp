#pragma once
#include <nlohmann/json.hpp>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace trainx::adapter {

/// Reads keys of one adapter_config.json; every complaint is a UserError 65 that names the file and
/// the key. Null counts as absent, as LoraConfig's defaults do.
class AdapterConfigReader {
 public:
  using Json = nlohmann::ordered_json;  // patterns count in the file's order

  AdapterConfigReader(const std::string& text, const std::string& path);

  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void fail_value(const char* key, const std::string& must_be) const;
  const Json* find(const char* key) const;

  bool flag(const char* key) const;  // absent: false
  std::optional<std::string> text(const char* key) const;
  double number(const char* key, double otherwise) const;
  std::int64_t rank(const char* key, std::int64_t otherwise) const;
  std::optional<std::vector<std::string>> texts(const char* key) const;
  /// An object's keys and values, in the file's order.
  std::vector<std::pair<std::string, std::int64_t>> ranks(const char* key) const;
  std::vector<std::pair<std::string, double>> numbers(const char* key) const;

  void pass_over(std::initializer_list<const char*> keys) const;
  /// Refuses a key that is there and neither null, false nor empty.
  void refuse(const char* key, const std::string& what_it_is) const;
  /// Keys that nobody asked for. Throws if one of them switches something on.
  std::vector<std::string> unknown_keys() const;

 private:
  std::string path_;
  Json config_;
  mutable std::set<std::string, std::less<>> asked_;
};

}  // namespace trainx::adapter
