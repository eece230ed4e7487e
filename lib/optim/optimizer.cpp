#include "optim/adafactor.hpp"
#include "optim/adagrad.hpp"
#include "optim/adam.hpp"
#include "optim/adamw.hpp"
#include "optim/adamw_8bit.hpp"
#include "optim/adamw_anyprecision.hpp"
#include "optim/lamb.hpp"
#include "optim/lion.hpp"
#include "optim/own.hpp"
#include "core/error.hpp"
#include "optim/sgd.hpp"

namespace trainx::optim {

void Optimizer::measure(const GroupMemory&, const StepScalars&, int) const {
  throw InternalError("sums over tensors, of which the optimizer needs none");
}

std::unique_ptr<Optimizer> make_optimizer(const options::OptimizerOptions& options) {
  return std::visit([](const auto& chosen) { return make(chosen); }, options);
}

}  // namespace trainx::optim
