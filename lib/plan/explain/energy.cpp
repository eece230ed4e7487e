#include "plan/explain/energy.hpp"

namespace trainx::plan {

double training_watts(std::string_view gpu, DType compute) {
  if (size_of(compute) != 2) return 0;
  return gpu == "h100" ? 690 : gpu == "h200" ? 695 : 0;
}

}  // namespace trainx::plan
