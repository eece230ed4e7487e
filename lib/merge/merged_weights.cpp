#include "merge/merged_weights.hpp"
#include "merge/add_low_rank.hpp"
#include "merge/replace_rows.hpp"
#include <algorithm>
#include <cstring>
#include <map>

namespace trainx::merge {

using checkpoint::TensorSource;

namespace {

std::vector<float> values_of(const TensorSource& tensor) {
  std::int64_t elements = 1;
  for (const std::int64_t d : tensor.dims) elements *= d;
  std::vector<float> out(static_cast<std::size_t>(elements));
  if (tensor.prepare) tensor.prepare();
  tensor.fill(std::as_writable_bytes(std::span(out)));
  return out;
}

}  // namespace

std::vector<TensorSource> merged_weights(const plan::AdapterPlan& adapter,
                                         const program::ModelGraph& graph,
                                         const std::vector<TensorSource>& weights) {
  std::map<std::string, const program::ParameterSpec*> parameters;
  for (const program::GroupSpec& group : graph.groups)
    for (const program::ParameterSpec& p : group.parameters) parameters.emplace(p.name, &p);
  std::map<std::string, TensorSource> by_name;
  for (const TensorSource& tensor : weights) by_name.emplace(tensor.name, tensor);
  std::map<std::string, std::string> of_file;  // the parameter that a tensor of the folder is
  for (const auto& [name, parameter] : adapter.tensors) of_file.emplace(name, parameter);
  std::map<std::string, plan::AdapterPlan::Added> added;
  for (const plan::AdapterPlan::Added& one : adapter.added) added.emplace(one.to.parameter, one);
  std::map<std::string, plan::AdapterPlan::Replaced> replaced;
  for (const plan::AdapterPlan::Replaced& rows : adapter.replaced)
    replaced.emplace(rows.weight, rows);
  std::vector<TensorSource> out;
  for (const TensorSource& tensor : weights) {
    const program::ParameterSpec& parameter = *parameters.at(tensor.name);
    if (parameter.of_adapter) continue;
    TensorSource& merged = out.emplace_back(tensor);
    if (const auto rows = replaced.find(tensor.name); rows != replaced.end())
      merged.fill = [of = rows->second, base = tensor,
                     trained = by_name.at(rows->second.rows)](std::span<std::byte> bytes) {
        base.fill(bytes);
        std::vector<float> values(bytes.size() / sizeof(float));
        std::memcpy(values.data(), bytes.data(), bytes.size());
        replace_rows(of.ids, base.dims.back(), values_of(trained), values);
        std::memcpy(bytes.data(), values.data(), bytes.size());
      };
    const auto at = added.find(tensor.name);
    if (at == added.end()) continue;
    merged.fill = [one = at->second, parameter, base = tensor,
                   a = by_name.at(of_file.at(at->second.a)),
                   b = by_name.at(of_file.at(at->second.b))](std::span<std::byte> bytes) {
      base.fill(bytes);
      std::vector<float> values(bytes.size() / sizeof(float));
      std::memcpy(values.data(), bytes.data(), bytes.size());
      const std::int64_t rank = a.dims.front() / one.experts;
      add_low_rank(one, parameter, {values_of(a), values_of(b), rank}, values);
      std::memcpy(bytes.data(), values.data(), bytes.size());
    };
  }
  return out;
}

}  // namespace trainx::merge
