#include "optim/optimizer.hpp"
#include "optim/adamw.hpp"
#include "optim/sgd.hpp"

namespace trainx::optim {
namespace {

std::unique_ptr<Optimizer> make(const spec::AdamWOptions& options) { return std::make_unique<AdamW>(options); }
std::unique_ptr<Optimizer> make(const spec::SgdOptions& options) { return std::make_unique<Sgd>(options); }

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const spec::OptimizerOptions& options) {
  return std::visit([](const auto& chosen) { return make(chosen); }, options);
}

}  // namespace trainx::optim
