#include "architectures/custom_json.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace trainx::architectures {

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

json to_json(const CustomOptions& model) {
  json fields = json::array();
  for (const OptionField& f : model.fields) {
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
    fields.push_back(std::move(field));
  }
  return {{"name", model.name}, {"summary", model.summary}, {"fields", std::move(fields)}};
}

CustomOptions custom_options_from_json(const json& j) {
  CustomOptions model{j.at("name").get<std::string>(), j.at("summary").get<std::string>(), {}};
  for (const json& field : j.at("fields")) model.fields.push_back(field_from_json(field));
  return model;
}

namespace {

json to_json(const FieldSpec& f) {
  return {{"name", f.name}, {"dtype", name_of(f.dtype)}, {"dims", f.dims}};
}
FieldSpec field_spec_from_json(const json& j) {
  return {j.at("name").get<std::string>(),
          j.at("dtype").get<std::string>() == name_of(DType::i64) ? DType::i64 : DType::f32,
          j.at("dims").get<std::vector<std::int64_t>>()};
}

/// Names with dims: parameters and values.
template <class T>
json named_dims(const std::vector<T>& all) {
  json list = json::array();
  for (const T& each : all) list.push_back({{"name", each.name}, {"dims", each.dims}});
  return list;
}
template <class T>
std::vector<T> named_dims_from_json(const json& list) {
  std::vector<T> all;
  for (const json& j : list)
    all.push_back({j.at("name").get<std::string>(), j.at("dims").get<std::vector<std::int64_t>>()});
  return all;
}

}  // namespace

json to_json(const CustomShape& shape) {
  json modules = json::array(), fields = json::array();
  for (const FieldSpec& f : shape.fields) fields.push_back(to_json(f));
  for (const CustomModule& m : shape.modules)
    modules.push_back({{"name", m.name},
                       {"parameters", named_dims(m.parameters)},
                       {"inputs", m.inputs},
                       {"outputs", named_dims(m.outputs)},
                       {"graph_bytes", m.graph_bytes},
                       {"changing", m.changing}});
  return {{"micro_batch_size", shape.micro_batch_size},
          {"length", shape.length},
          {"compute", name_of(shape.compute)},
          {"fields", std::move(fields)},
          {"modules", std::move(modules)},
          {"own_loss", shape.own_loss},
          {"metrics", shape.metrics},
          {"library_bytes", shape.library_bytes}};
}

CustomShape custom_shape_from_json(const json& j) {
  CustomShape shape;
  j.at("micro_batch_size").get_to(shape.micro_batch_size);
  j.at("length").get_to(shape.length);
  shape.compute = j.at("compute").get<std::string>() == name_of(DType::bf16) ? DType::bf16
                                                                             : DType::f32;
  for (const json& f : j.at("fields")) shape.fields.push_back(field_spec_from_json(f));
  for (const json& m : j.at("modules"))
    shape.modules.push_back({m.at("name").get<std::string>(),
                             named_dims_from_json<CustomParameter>(m.at("parameters")),
                             m.at("inputs").get<std::vector<std::string>>(),
                             named_dims_from_json<CustomValue>(m.at("outputs")),
                             m.at("graph_bytes").get<program::Bytes>(),
                             m.at("changing").get<std::vector<std::string>>()});
  j.at("own_loss").get_to(shape.own_loss);
  j.at("metrics").get_to(shape.metrics);
  j.at("library_bytes").get_to(shape.library_bytes);
  return shape;
}

json option_values(const CustomOptions& options) {
  json values = json::object();
  for (const OptionField& f : options.fields) values[f.key] = value_of(f.value);
  return values;
}

std::string set_option_values(CustomOptions& options, const json& values) {
  if (!values.is_object()) return "options is no object";
  for (const auto& [key, value] : values.items()) {
    OptionField* field = options.find(key);
    if (!field) return "model " + options.name + " has no option '" + key + "'";
    if (!set_value(field->value, value))
      return "option '" + key + "' of model " + options.name + " is of type " +
             type_names[field->value.index()];
  }
  return {};
}

}  // namespace trainx::architectures
