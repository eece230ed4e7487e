#include "tokenizer/component.hpp"
#include "core/error.hpp"
#include "core/suggest.hpp"
#include "yaml/problems.hpp"
#include <algorithm>

namespace trainx::tokenizer {
namespace {

constexpr std::size_t longest_path = 400;  // of names and places: components nest a few levels

}  // namespace

Component::Component(const nlohmann::json& json, std::string file, std::string path)
    : json_(&json), file_(std::move(file)), path_(std::move(path)) {
  if (path_.size() > longest_path) refuse("nests too deeply");
  if (!json.is_object()) refuse("is no object");
  if (const auto found = json.find("type"); found != json.end() && found->is_string())
    type_ = found->get<std::string>();
}

std::string Component::place(const std::string& key) const {
  const std::string path = path_.empty() || key.empty() ? path_ + key : path_ + "." + key;
  return file_ + (path.empty() ? "" : ": " + path);
}

void Component::refuse(const std::string& what, const std::string& key) const {
  throw UserError(ExitCode::bad_data, place(key) + " " + what);
}

void Component::refuse_type(const std::string& what,
                            std::initializer_list<const char*> known) const {
  if (type_.empty()) refuse("names no type of " + what);
  throw UserError(ExitCode::bad_data, place() + ": the " + what + " " + yaml::excerpt(type_) +
                                          " is not supported" +
                                          did_you_mean(type_, {known.begin(), known.end()}));
}

void Component::allow(std::initializer_list<const char*> keys) const {
  for (const auto& [key, value] : json_->items())
    if (key != "type" && !value.is_null() && std::ranges::find(keys, key) == keys.end())
      throw UserError(ExitCode::bad_data, place() + " has the key " + yaml::excerpt(key) +
                                              ", which trainx does not support" +
                                              did_you_mean(key, {keys.begin(), keys.end()}));
}

bool Component::has(const char* key) const {
  const auto found = json_->find(key);
  return found != json_->end() && !found->is_null();
}

const nlohmann::json& Component::value(const char* key) const {
  if (!has(key)) refuse("is missing", key);
  return *json_->find(key);
}

bool Component::flag(const char* key, bool otherwise) const {
  if (!has(key)) return otherwise;
  if (!value(key).is_boolean()) refuse("is neither true nor false", key);
  return value(key).get<bool>();
}

std::string Component::text(const char* key) const {
  if (!value(key).is_string()) refuse("is no text", key);
  return value(key).get<std::string>();
}

std::string Component::text(const char* key, const std::string& otherwise) const {
  return has(key) ? text(key) : otherwise;
}

std::int64_t Component::number(const char* key, std::int64_t otherwise, std::int64_t least,
                               std::int64_t most) const {
  if (!has(key)) return otherwise;
  const nlohmann::json& v = value(key);
  if (!v.is_number_integer() ||
      (v.is_number_unsigned() && v.get<std::uint64_t>() > static_cast<std::uint64_t>(most)) ||
      v.get<std::int64_t>() < least || v.get<std::int64_t>() > most)
    refuse("is no whole number from " + std::to_string(least) + " to " + std::to_string(most), key);
  return v.get<std::int64_t>();
}

Component Component::part(const char* key) const {
  return {value(key), file_, path_.empty() ? key : path_ + "." + key};
}

std::vector<Component> Component::parts(const char* key) const {
  const nlohmann::json& list = value(key);
  if (!list.is_array()) refuse("is no list", key);
  std::vector<Component> out;
  for (const auto& item : list)
    out.emplace_back(
        item, file_,
        (path_.empty() ? "" : path_ + ".") + key + "[" + std::to_string(out.size()) + "]");
  return out;
}

}  // namespace trainx::tokenizer
