#include "operations/op_spec.hpp"
#include <functional>
#include <numeric>

namespace trainx::operations {

std::int64_t TensorType::elements() const {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace trainx::operations
