#pragma once
#include "architectures/dims.hpp"
#include "checkpoint/checkpoint.hpp"
#include "plan/adapter_plan.hpp"
#include "program/model_graph.hpp"
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace trainx::merge {

/// An adapter's folder (adapter_config.json, adapter_model.safetensors) as changes of the weights
/// of its model. Throws UserError 65 naming file and tensor for what is damaged or does not belong
/// to the model, 66 where a file is missing, 78 for adapters that trainx does not have.
class MergedAdapter {
 public:
  MergedAdapter(const std::string& folder, const architectures::ModelDims& dims);

  const std::string& path() const { return path_; }  // of the tensors
  /// By parameter, what takes the place of the folder's weights before anything is added: modules
  /// that were trained whole, and the model's own weights that the file has.
  const std::map<std::string, const checkpoint::TensorEntry*>& own() const { return own_; }
  bool changes(const std::string& parameter) const {
    return added_.contains(parameter) || replaced_.contains(parameter);
  }
  /// Adds scale * B A to the parameter's values, which lie as files have them, and puts trained
  /// rows in their place.
  void merge(const program::ParameterSpec& parameter, std::span<float> saved) const;

 private:
  const checkpoint::TensorEntry& tensor(const std::string& name) const;
  void replace(const plan::AdapterPlan::Replaced& rows, std::int64_t columns,
               std::span<float> saved) const;

  std::string path_;
  std::unique_ptr<checkpoint::SafetensorsReader> file_;
  plan::AdapterPlan plan_;
  std::map<std::string, const plan::AdapterPlan::Added*> added_;        // by parameter
  std::map<std::string, const plan::AdapterPlan::Replaced*> replaced_;  // by parameter
  std::map<std::string, const checkpoint::TensorEntry*> own_;
};

}  // namespace trainx::merge
