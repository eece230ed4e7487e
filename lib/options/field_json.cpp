#include "options/field_json.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace trainx::options {

using nlohmann::json;

namespace {

// as OptionValue's alternatives
constexpr const char* type_names[] = {"bool", "int", "double", "string", "enum"};

json value_of(const OptionValue& value) {
  if (const auto* choice = std::get_if<Choice>(&value)) return choice->word;
  return std::visit(
      [](const auto& v) -> json {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(v)>, Choice>)
          return v.word;
        else
          return v;
      },
      value);
}

/// Keeps the type that `value` has.
bool set_value(OptionValue& value, const json& j) {
  if (auto* b = std::get_if<bool>(&value))
    return j.is_boolean() ? (*b = j.get<bool>(), true) : false;
  if (auto* n = std::get_if<std::int64_t>(&value))
    return j.is_number_integer() ? (*n = j.get<std::int64_t>(), true) : false;
  if (auto* x = std::get_if<double>(&value))
    return j.is_number() ? (*x = j.get<double>(), true) : false;
  if (!j.is_string()) return false;
  if (auto* text = std::get_if<std::string>(&value)) return *text = j.get<std::string>(), true;
  auto& choice = std::get<Choice>(value);
  const auto word = j.get<std::string>();
  if (std::ranges::find(choice.words, word) == choice.words.end()) return false;
  choice.word = word;
  return true;
}

OptionField field_from_json(const json& j) {
  OptionField f;
  j.at("key").get_to(f.key);
  j.at("doc").get_to(f.doc);
  const auto type = j.at("type").get<std::string>();
  if (type == "bool")
    f.value = false;
  else if (type == "int")
    f.value = std::int64_t{0};
  else if (type == "double")
    f.value = 0.0;
  else if (type == "string")
    f.value = std::string();
  else
    f.value = Choice{{}, j.at("words").get<std::vector<std::string>>()};
  if (!set_value(f.value, j.at("default")))
    throw UserError(ExitCode::unavailable,
                    "option '" + f.key + "': its default is of another type than " + type);
  if (const auto limits = j.find("limits"); limits != j.end()) {
    limits->at("says").get_to(f.limits.says);
    if (const auto low = limits->find("low"); low != limits->end()) low->get_to(f.limits.low);
    if (const auto high = limits->find("high"); high != limits->end()) high->get_to(f.limits.high);
    limits->at("low_open").get_to(f.limits.low_open);
    limits->at("high_open").get_to(f.limits.high_open);
  }
  return f;
}

}  // namespace

json fields_to_json(const std::vector<OptionField>& fields) {
  json list = json::array();
  for (const OptionField& f : fields) {
    json field{{"key", f.key},
               {"type", type_names[f.value.index()]},
               {"default", value_of(f.value)},
               {"doc", f.doc}};
    if (const auto* choice = std::get_if<Choice>(&f.value)) field["words"] = choice->words;
    if (!f.limits.says.empty()) {
      json& limits = field["limits"] = {{"says", f.limits.says},
                                        {"low_open", f.limits.low_open},
                                        {"high_open", f.limits.high_open}};
      if (std::isfinite(f.limits.low)) limits["low"] = f.limits.low;
      if (std::isfinite(f.limits.high)) limits["high"] = f.limits.high;
    }
    list.push_back(std::move(field));
  }
  return list;
}

std::vector<OptionField> fields_from_json(const json& list) {
  std::vector<OptionField> fields;
  for (const json& field : list) fields.push_back(field_from_json(field));
  return fields;
}

json values_to_json(const std::vector<OptionField>& fields) {
  json values = json::object();
  for (const OptionField& f : fields) values[f.key] = value_of(f.value);
  return values;
}

std::string set_values(std::vector<OptionField>& fields, const std::string& who,
                       const json& values) {
  if (!values.is_object()) return "options is no object";
  for (const auto& [key, value] : values.items()) {
    const auto field = std::ranges::find(fields, key, &OptionField::key);
    if (field == fields.end()) return who + " has no option '" + key + "'";
    if (!set_value(field->value, value))
      return "option '" + key + "' of " + who + " is of type " + type_names[field->value.index()];
  }
  return {};
}

}  // namespace trainx::options
