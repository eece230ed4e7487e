#include "passes/pass_order.hpp"
#include "core/error.hpp"
#include <array>

namespace trainx::passes {

void enter(program::StepProgram& p, Pass pass) {
  static constexpr std::array<const char*, 14> names{"accumulation",
                                                     "activation_recomputation",
                                                     "casts_of_weights",
                                                     "pipeline",
                                                     "activation_offload",
                                                     "redistribute",
                                                     "distributed_data_parallel",
                                                     "data_parallel",
                                                     "zero",
                                                     "update_in_backward",
                                                     "optimizer_offload",
                                                     "parameter_offload",
                                                     "lower_collectives",
                                                     "frozen_weight_offload"};
  const int number = static_cast<int>(pass);
  if (p.last_pass >= number)
    throw InternalError(std::string("pass ") + names[number] + " cannot follow pass " +
                        names[p.last_pass]);
  p.last_pass = number;
}

}  // namespace trainx::passes
