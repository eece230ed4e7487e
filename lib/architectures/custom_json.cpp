#include "architectures/custom_json.hpp"
#include "core/error.hpp"
#include "options/field_json.hpp"
#include <nlohmann/json.hpp>

namespace trainx::architectures {

using nlohmann::json;

json to_json(const CustomOptions& model) {
  return {{"name", model.name},
          {"summary", model.summary},
          {"fields", options::fields_to_json(model.fields)}};
}

CustomOptions custom_options_from_json(const json& j) {
  return {j.at("name").get<std::string>(), j.at("summary").get<std::string>(),
          options::fields_from_json(j.at("fields"))};
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
                       {"changing", m.changing},
                       {"draws", m.draws},
                       {"cheap", m.cheap},
                       {"forward_s", m.forward_s},
                       {"backward_s", m.backward_s}});
  return {{"micro_batch_size", shape.micro_batch_size},
          {"length", shape.length},
          {"compute", name_of(shape.compute)},
          {"fields", std::move(fields)},
          {"modules", std::move(modules)},
          {"own_loss", shape.own_loss},
          {"metrics", shape.metrics},
          {"library_bytes", shape.library_bytes},
          {"on_gpu", shape.on_gpu},
          {"not_captured", shape.not_captured}};
}

DType compute_from_name(const std::string& name) {
  for (const DType type : {DType::f32, DType::bf16, DType::f16})
    if (name == name_of(type)) return type;
  throw InternalError("no model computes in " + name);
}

CustomShape custom_shape_from_json(const json& j) {
  CustomShape shape;
  j.at("micro_batch_size").get_to(shape.micro_batch_size);
  j.at("length").get_to(shape.length);
  shape.compute = compute_from_name(j.at("compute").get<std::string>());
  for (const json& f : j.at("fields")) shape.fields.push_back(field_spec_from_json(f));
  for (const json& m : j.at("modules"))
    shape.modules.push_back({m.at("name").get<std::string>(),
                             named_dims_from_json<CustomParameter>(m.at("parameters")),
                             m.at("inputs").get<std::vector<std::string>>(),
                             named_dims_from_json<CustomValue>(m.at("outputs")),
                             m.at("graph_bytes").get<program::Bytes>(),
                             m.at("changing").get<std::vector<std::string>>(),
                             m.at("draws").get<bool>(), m.at("cheap").get<bool>(),
                             m.at("forward_s").get<double>(), m.at("backward_s").get<double>()});
  j.at("own_loss").get_to(shape.own_loss);
  j.at("metrics").get_to(shape.metrics);
  j.at("library_bytes").get_to(shape.library_bytes);
  j.at("on_gpu").get_to(shape.on_gpu);
  j.at("not_captured").get_to(shape.not_captured);
  return shape;
}

json option_values(const CustomOptions& options) { return options::values_to_json(options.fields); }

std::string set_option_values(CustomOptions& options, const json& values) {
  return options::set_values(options.fields, "model " + options.name, values);
}

}  // namespace trainx::architectures
