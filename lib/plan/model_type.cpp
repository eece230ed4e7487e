#include "plan/model_type.hpp"
#include "architectures/architecture.hpp"
#include <nlohmann/json.hpp>

namespace trainx::plan {

std::string model_type_of(const architectures::ModelDims& dims) {
  return nlohmann::json::parse(architectures::config_text(dims, DType::f32))
      .value("model_type", std::string());
}

}  // namespace trainx::plan
