// What a model of the user's own adds to batches and losses; nothing, of every other model.
#pragma once
#include "architectures/dims.hpp"

namespace trainx::architectures {

/// null: the model is trainx's.
inline const CustomDims* custom_dims(const ModelDims& dims) {
  return std::get_if<CustomDims>(&dims);
}
/// Fields of samples that it reads beside tokens.
inline std::vector<FieldSpec> own_fields(const ModelDims& dims) {
  const CustomDims* custom = custom_dims(dims);
  return custom ? custom->fields() : std::vector<FieldSpec>{};
}
inline bool reads_tokens(const ModelDims& dims) {
  const CustomDims* custom = custom_dims(dims);
  return !custom || custom->reads_tokens();
}
/// Is the loss another than cross-entropy, and what else is summed with it, by name?
inline bool has_own_loss(const ModelDims& dims) {
  const CustomDims* custom = custom_dims(dims);
  return custom && custom->own_loss();
}
inline std::vector<std::string> own_metrics(const ModelDims& dims) {
  const CustomDims* custom = custom_dims(dims);
  return custom ? custom->metrics() : std::vector<std::string>{};
}

}  // namespace trainx::architectures
