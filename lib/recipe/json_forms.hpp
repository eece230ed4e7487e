// How each type of field is described in JSON Schema: the forms that a value may take, and its
// default. A new field type is added here too.
#pragma once
#include "recipe/value.hpp"
#include <nlohmann/json.hpp>
#include <cstdint>

namespace trainx::recipe {

using Json = nlohmann::ordered_json;

/// A reference into $defs.
Json definition(const std::string& name);
/// $defs of what is written as text: text, duration, size, interpolation, path.
Json scalar_definitions();

// The members of an anyOf.
Json forms(bool, const Limits&);
Json forms(std::int64_t, const Limits& limits);
Json forms(double, const Limits& limits);
Json forms(const std::string&, const Limits&);
Json forms(const Choice& value, const Limits&);
Json forms(const Duration&, const Limits&);
Json forms(const ByteSize&, const Limits&);
Json forms(const std::vector<std::string>&, const Limits& limits);
Json forms(const std::vector<std::int64_t>&, const Limits& limits);
Json forms(const options::FileList&, const Limits& limits);
Json forms(const options::HeldOut&, const Limits&);
Json forms(const options::NameList&, const Limits& limits);
Json forms(const options::NumbersByName&, const Limits& limits);
Json forms(const options::TokensByName&, const Limits& limits);
/// Any of them, or an interpolation.
Json scalar_schema(Json scalar_forms);

template <NamedEnum E>
Json forms(E, const Limits&) {
  return Json::array({{{"enum", names_of<E>()}}});
}
template <NamedEnum E>
Json forms(const std::vector<E>&, const Limits& limits) {
  Json out = forms(E{}, limits);
  out.push_back({{"type", "array"}, {"minItems", 1}, {"items", scalar_schema(forms(E{}, limits))}});
  return out;
}
template <class T>
Json forms(const std::optional<T>&, const Limits& limits) {
  Json out = forms(T{}, limits);
  out.push_back({{"type", "null"}});
  return out;
}
template <class T>
Json forms(const options::Auto<T>&, const Limits& limits) {
  Json out = Json::array({{{"const", "auto"}}});
  for (Json& form : forms(T{}, limits)) out.push_back(std::move(form));
  return out;
}

template <class T>
Json forms(const AllOr<T>&, const Limits& limits) {
  Json out = Json::array({{{"const", "all"}}});
  for (Json& form : forms(T{}, limits)) out.push_back(std::move(form));
  return out;
}

// As a YAML reader hands it over.
inline Json json_value(bool value) { return value; }
inline Json json_value(std::int64_t value) { return value; }
inline Json json_value(double value) { return value; }
inline Json json_value(const std::string& value) { return value; }
inline Json json_value(const Choice& value) { return value.word; }
inline Json json_value(const Duration& value) { return to_string(value); }
inline Json json_value(const ByteSize& value) { return to_string(value); }
inline Json json_value(const std::vector<std::string>& value) { return value; }
inline Json json_value(const std::vector<std::int64_t>& value) { return value; }
inline Json json_value(const options::FileList& value) {
  return value.names.size() > 1 ? Json(value.names)
                                : Json(value.empty() ? "" : value.names.front());
}
inline Json json_value(const options::HeldOut& value) { return write_value(value); }
inline Json json_value(const options::NameList& value) {
  return value.is_text ? Json(value.names.front()) : Json(value.names);
}
inline Json json_value(const options::NumbersByName& value) {
  Json out = Json::object();
  for (const auto& [name, number] : value.entries) out[name] = number;
  return out;
}
inline Json json_value(const options::TokensByName& value) {
  if (value.is_list) return value.entries.front().second;
  Json out = Json::object();
  for (const auto& [name, tokens] : value.entries) out[name] = tokens;
  return out;
}
template <NamedEnum E>
Json json_value(E value) {
  return write_value(value);
}
/// A list of one is its only name.
template <NamedEnum E>
Json json_value(const std::vector<E>& values) {
  if (values.size() == 1) return json_value(values.front());
  Json out = Json::array();
  for (const E value : values) out.push_back(json_value(value));
  return out;
}
template <class T>
Json json_value(const std::optional<T>& value) {
  return value ? json_value(*value) : Json(nullptr);
}
template <class T>
Json json_value(const options::Auto<T>& value) {
  return value.is_auto() ? Json("auto") : json_value(*value.value);
}
template <class T>
Json json_value(const AllOr<T>& value) {
  return value.is_all() ? Json("all") : json_value(*value.value);
}

/// A field with its description, default, and range in words.
template <class T>
Json field_schema(const T& value, const Limits& limits, std::string_view doc) {
  Json out = {
      {"description", std::string(doc) + (limits.says.empty() ? "" : " (" + limits.says + ")")}};
  const Json standard = json_value(value);
  if (standard != "") out["default"] = standard;
  out["anyOf"] = scalar_schema(forms(value, limits)).at("anyOf");
  if constexpr (Required<T>) out["minLength"] = 1;
  return out;
}

}  // namespace trainx::recipe
