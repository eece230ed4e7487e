#include "adapter/config_reader.hpp"
#include "core/error.hpp"
#include "core/json_text.hpp"
#include <cmath>
#include <limits>

namespace trainx::adapter {
namespace {

using Json = AdapterConfigReader::Json;

std::string shown_value(const Json& value) {
  constexpr std::size_t longest = 60;
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  const std::string text = value.dump(-1, ' ', true);
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

bool switches_on(const Json& value) {
  return value == true || (value.is_structured() && !value.empty());
}

std::optional<std::int64_t> as_rank(const Json& value) {
  if (!value.is_number_integer() || value.is_boolean()) return std::nullopt;
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int32_t>::max()})
    return std::nullopt;
  const auto rank = value.get<std::int64_t>();
  if (rank < 1) return std::nullopt;
  return rank;
}

std::optional<double> as_number(const Json& value) {
  if (!value.is_number() || !std::isfinite(value.get<double>())) return std::nullopt;
  return value.get<double>();
}

}  // namespace

AdapterConfigReader::AdapterConfigReader(const std::string& text, const std::string& path)
    : path_(path) {
  check_json_text(text, path);
  try {
    config_ = Json::parse(text);
  } catch (const Json::parse_error& e) {
    fail("not JSON (byte " + std::to_string(e.byte) +
         "); it must be the adapter_config.json of a PEFT adapter");
  } catch (const Json::out_of_range&) {  // 1e999
    fail("a number is too large");
  }
  if (!config_.is_object()) fail("it must be a JSON object");
}

void AdapterConfigReader::fail(const std::string& what) const {
  throw UserError(ExitCode::bad_data, path_ + ": " + what);
}

void AdapterConfigReader::fail_value(const char* key, const std::string& must_be) const {
  const auto it = config_.find(key);
  fail(std::string(key) + " is " + (it == config_.end() ? "missing" : shown_value(*it)) +
       "; it must be " + must_be);
}

const Json* AdapterConfigReader::find(const char* key) const {
  asked_.insert(key);
  const auto it = config_.find(key);
  return it == config_.end() || it->is_null() ? nullptr : &*it;
}

bool AdapterConfigReader::flag(const char* key) const {
  const Json* value = find(key);
  if (value && !value->is_boolean()) fail_value(key, "true or false");
  return value && value->get<bool>();
}

std::optional<std::string> AdapterConfigReader::text(const char* key) const {
  const Json* value = find(key);
  if (!value) return std::nullopt;
  if (!value->is_string()) fail_value(key, "text");
  return value->get<std::string>();
}

double AdapterConfigReader::number(const char* key, double otherwise) const {
  const Json* value = find(key);
  if (!value) return otherwise;
  const auto number = as_number(*value);
  if (!number) fail_value(key, "a number");
  return *number;
}

std::int64_t AdapterConfigReader::rank(const char* key, std::int64_t otherwise) const {
  const Json* value = find(key);
  if (!value) return otherwise;
  const auto rank = as_rank(*value);
  if (!rank) fail_value(key, "a whole number of at least 1");
  return *rank;
}

std::optional<std::vector<std::string>> AdapterConfigReader::texts(const char* key) const {
  const Json* value = find(key);
  if (!value) return std::nullopt;
  if (!value->is_array()) fail_value(key, "a list of names");
  std::vector<std::string> found;
  for (const Json& element : *value) {
    if (!element.is_string()) fail_value(key, "a list of names");
    found.push_back(element.get<std::string>());
  }
  return found;
}

std::vector<std::pair<std::string, std::int64_t>> AdapterConfigReader::ranks(
    const char* key) const {
  std::vector<std::pair<std::string, std::int64_t>> found;
  const Json* value = find(key);
  if (value && !value->is_object()) fail_value(key, "an object of patterns and ranks");
  if (value)
    for (const auto& [pattern, element] : value->items()) {
      const auto rank = as_rank(element);
      if (!rank) fail_value(key, "an object whose values are whole numbers of at least 1");
      found.emplace_back(pattern, *rank);
    }
  return found;
}

std::vector<std::pair<std::string, double>> AdapterConfigReader::numbers(const char* key) const {
  std::vector<std::pair<std::string, double>> found;
  const Json* value = find(key);
  if (value && !value->is_object()) fail_value(key, "an object of patterns and numbers");
  if (value)
    for (const auto& [pattern, element] : value->items()) {
      const auto number = as_number(element);
      if (!number) fail_value(key, "an object whose values are numbers");
      found.emplace_back(pattern, *number);
    }
  return found;
}

void AdapterConfigReader::pass_over(std::initializer_list<const char*> keys) const {
  for (const char* key : keys) asked_.insert(key);
}

void AdapterConfigReader::refuse(const char* key, const std::string& what_it_is) const {
  const Json* value = find(key);
  if (!value || *value == false || (value->is_structured() && value->empty())) return;
  fail(std::string(key) + " is " + shown_value(*value) + ": trainx has no " + what_it_is);
}

std::vector<std::string> AdapterConfigReader::unknown_keys() const {
  std::vector<std::string> unknown;
  for (const auto& [key, value] : config_.items()) {
    if (asked_.contains(key)) continue;
    if (switches_on(value))
      fail(Json(key).dump(-1, ' ', true) + " is " + shown_value(value) +
           ", a setting that trainx does not know");
    unknown.push_back(key);
  }
  return unknown;
}

}  // namespace trainx::adapter
