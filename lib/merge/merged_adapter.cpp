#include "merge/merged_adapter.hpp"
#include "adapter/config.hpp"
#include "architectures/own_head.hpp"
#include "architectures/architecture.hpp"
#include "checkpoint/adapter_folder.hpp"
#include "checkpoint/float_elements.hpp"
#include "core/error.hpp"
#include "core/json_text.hpp"
#include "merge/add_low_rank.hpp"
#include "merge/base_in_file.hpp"
#include "merge/replace_rows.hpp"
#include "plan/adapter.hpp"
#include <algorithm>

namespace trainx::merge {

MergedAdapter::MergedAdapter(const std::string& folder, const architectures::ModelDims& dims)
    : path_(folder + "/" + checkpoint::adapter_weights_name),
      file_(std::make_unique<checkpoint::SafetensorsReader>(path_)) {
  const std::string config = folder + "/" + checkpoint::adapter_config_name;
  plan_ = plan::adapter_of(adapter::read_config(read_json_text(config), config), dims,
                           adapter::Unmatched::warned_of);
  for (const auto& [name, parameter] : plan_.tensors)
    if (plan_.options.trained.contains(parameter)) own_.emplace(parameter, &tensor(name));
  for (const plan::AdapterPlan::Added& added : plan_.added) {
    tensor(added.a), tensor(added.b);
    added_.emplace(added.to.parameter, &added);
  }
  for (const plan::AdapterPlan::Replaced& rows : plan_.replaced) {
    tensor(rows.tensor);
    replaced_.emplace(rows.weight, &rows);
  }
  if (architectures::has_partable_head(architectures::read_config(folder)) &&
      !architectures::has_partable_head(dims))
    plan::share_base_of_tied(plan_, dims);
  for (const auto& [parameter, name] : base_in_file(*file_, path_, plan_))
    own_.emplace(parameter, &tensor(name));
}

const checkpoint::TensorEntry& MergedAdapter::tensor(const std::string& name) const {
  const auto at = file_->tensors().find(name);
  if (at == file_->tensors().end())
    throw UserError(ExitCode::bad_data, path_ + ": tensor '" + name + "' is missing");
  return at->second;
}

void MergedAdapter::merge(const program::ParameterSpec& parameter, std::span<float> saved) const {
  if (const auto rows = replaced_.find(parameter.name); rows != replaced_.end())
    replace(*rows->second, parameter.dims.at(1), saved);
  const auto at = added_.find(parameter.name);
  if (at == added_.end()) return;
  const plan::AdapterPlan::Added& added = *at->second;
  const std::int64_t columns = parameter.dims.back(),
                     matrices_of = parameter.dims.size() == 3 ? parameter.dims.front() : 1,
                     rows = std::ssize(saved) / std::max<std::int64_t>(columns * matrices_of, 1),
                     in = added.of_embedding ? rows : columns,
                     out = added.of_embedding ? columns : rows;
  const checkpoint::TensorEntry &of_a = tensor(added.a), &of_b = tensor(added.b);
  const std::int64_t E = added.experts, first = added.to.first_row;
  const bool matrices = of_a.dims.size() == 2 && of_b.dims.size() == 2;
  const std::int64_t rank = matrices ? of_a.dims[0] / E : 0;
  if (!matrices || of_a.dims[1] != in || of_b.dims[0] < first + out || rank < 1 ||
      of_a.dims[0] != rank * E || of_b.dims[1] != rank * E ||
      (added.to.expert < 0 && of_b.dims[0] != out))
    throw UserError(ExitCode::bad_data, path_ + ": tensors '" + added.a + "' and '" + added.b +
                                            "' are not of the sizes of " + parameter.name);
  add_low_rank(added, parameter,
               {checkpoint::to_floats(of_a, path_ + ": " + added.a),
                checkpoint::to_floats(of_b, path_ + ": " + added.b), rank},
               saved);
}

void MergedAdapter::replace(const plan::AdapterPlan::Replaced& rows, std::int64_t columns,
                            std::span<float> saved) const {
  const checkpoint::TensorEntry& entry = tensor(rows.tensor);
  const std::vector<std::int64_t> dims{std::ssize(rows.ids), columns};
  const bool inside = std::ranges::all_of(
      rows.ids, [&](std::int64_t id) { return (id + 1) * columns <= std::ssize(saved); });
  if (entry.dims != dims || !inside)
    throw UserError(ExitCode::bad_data,
                    path_ + ": tensor '" + rows.tensor + "' is not of the sizes of " + rows.weight);
  replace_rows(rows.ids, columns, checkpoint::to_floats(entry, path_ + ": " + rows.tensor), saved);
}

}  // namespace trainx::merge
