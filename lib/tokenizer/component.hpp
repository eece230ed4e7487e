#pragma once
#include "tokenizer/unicode/code_point_set.hpp"
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace trainx::tokenizer {

/// A component of a tokenizer.json and where it stands, read strictly: what is not known is refused
/// by name (UserError 65).
class Component {
 public:
  Component(const nlohmann::json& json, std::string file, std::string path);

  /// What `type` says.
  const std::string& type() const { return type_; }
  /// Refuses other keys than `type` and these.
  void allow(std::initializer_list<const char*> keys) const;
  bool has(const char* key) const;  // and it is not null
  bool flag(const char* key, bool otherwise) const;
  std::string text(const char* key) const;
  std::string text(const char* key, const std::string& otherwise) const;
  std::int64_t number(const char* key, std::int64_t otherwise, std::int64_t least,
                      std::int64_t most) const;
  /// The value of a key, as a component of its own where it is an object with a type.
  Component part(const char* key) const;
  std::vector<Component> parts(const char* key) const;
  const nlohmann::json& value(const char* key) const;

  const nlohmann::json& json() const { return *json_; }
  const std::string& file() const { return file_; }
  /// "FILE: model.vocab"
  std::string place(const std::string& key = "") const;
  [[noreturn]] void refuse(const std::string& what, const std::string& key = "") const;
  /// "type 'X' is not supported": `what` is the kind of component.
  [[noreturn]] void refuse_type(const std::string& what,
                                std::initializer_list<const char*> known) const;

 private:
  const nlohmann::json* json_;
  std::string file_, path_, type_;
};

}  // namespace trainx::tokenizer
