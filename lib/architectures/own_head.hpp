#pragma once
#include "architectures/dims.hpp"
#include <string>

namespace trainx::architectures {

/// Is the head's weight the tokens' embedding, in a model that trainx also has with a head of its
/// own (decoders, GPT-2)?
bool has_partable_head(const ModelDims& dims);
/// The same model with a head of its own. `dims` has a partable head.
void part_head(ModelDims& dims);
/// The parameters (ParameterSpec::name) of a head of its own and of the tokens' embedding; empty:
/// the model has no such head.
struct HeadAndTable {
  std::string head, table;
};
HeadAndTable own_head(const ModelDims& dims);

}  // namespace trainx::architectures
