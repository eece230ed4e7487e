#include "kernels/experts/expert_loads.hpp"

namespace trainx::kernels {

void expert_loads_reference(const ExpertLoads& op) {
  const auto put = [&](int column, std::int64_t count) {
    op.loads[column] = (op.accumulate ? op.loads[column] : 0) + static_cast<double>(count);
  };
  for (int e = 0; e < op.experts; ++e) put(e, op.offsets[e + 1] - op.offsets[e]);
  put(op.experts, op.choices - op.offsets[op.experts]);
}

}  // namespace trainx::kernels
