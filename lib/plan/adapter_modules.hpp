#pragma once
#include "adapter/module.hpp"
#include "architectures/dims.hpp"
#include <cstdint>
#include <string>
#include <vector>

namespace trainx::plan {

/// A parameter (program::ParameterSpec::name) of which a module's matrix is a part: of an expert,
/// rows from `first_row` on of that expert's.
struct WeightSlice {
  std::string parameter;
  int expert = -1;  // -1: it is the module's whole matrix, or all of its experts'
  std::int64_t first_row = 0;
};

/// What an adapter may stand beside in a model. Vectors go by module.
struct AdapterModules {
  std::vector<adapter::Module> all;
  std::vector<std::string> weights;  // graph::AdapterOptions' key; "": of kind other
  std::vector<std::string> names;    // trainx's own, after which adapters' parameters are called
  std::vector<std::vector<WeightSlice>> slices;
  struct Parameter {
    std::string path;  // as transformers' class has it
    std::string name;
    std::int64_t elements = 0;  // 0: counted elsewhere
  };
  std::vector<Parameter> parameters;    // of the model
  bool has_nameless_tied_head = false;  // a head reads the embedding, and is no module of its own
};

/// Of the model's description, before graph passes.
AdapterModules adapter_modules(const architectures::ModelDims& dims);

}  // namespace trainx::plan
