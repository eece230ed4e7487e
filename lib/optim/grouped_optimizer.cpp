#include "core/error.hpp"
#include "optim/average.hpp"
#include "optim/step_factor.hpp"
#include <map>

namespace trainx::optim {
namespace {

/// An optimizer for each weight decay that groups ask for; learning rates as groups scale them; an
/// average of the weights behind each update.
class GroupedOptimizer final : public Optimizer {
 public:
  GroupedOptimizer(const options::OptimizerOptions& options,
                   const std::vector<program::GroupSpec>& groups, std::optional<double> ema_decay)
      : plain_(make_optimizer(options)), ema_decay_(ema_decay) {
    for (const program::GroupSpec& group : groups)
      if (const auto& decay = group.training.weight_decay)
        others_.try_emplace(*decay, make_optimizer(options::with_weight_decay(options, *decay)));
  }

  void update(const GroupMemory& memory, const StepScalars& step) const override {
    const GroupMemory own = without_average(memory);
    of(own).update(own, scaled(own, step));
    if (ema_decay_ && step_factor(step))
      average_weights(own, step.applied_steps, *ema_decay_,
                      static_cast<float*>(memory.states.back()));
  }
  void measure(const GroupMemory& memory, const StepScalars& step, int round) const override {
    const GroupMemory own = without_average(memory);
    of(own).measure(own, scaled(own, step), round);
  }

 private:
  const Optimizer& of(const GroupMemory& memory) const {
    const auto& decay = memory.group->training.weight_decay;
    return decay ? *others_.at(*decay) : *plain_;
  }
  static StepScalars scaled(const GroupMemory& memory, StepScalars step) {
    step.lr *= memory.group->training.lr_scale;
    return step;
  }
  GroupMemory without_average(GroupMemory memory) const {
    if (!ema_decay_) return memory;
    if (memory.states.empty() || !memory.states.back())
      throw InternalError("an optimizer was not given the average of the weights");
    memory.states.pop_back();
    return memory;
  }

  std::unique_ptr<Optimizer> plain_;
  std::map<double, std::unique_ptr<Optimizer>> others_;
  std::optional<double> ema_decay_;
};

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const options::OptimizerOptions& options,
                                          const std::vector<program::GroupSpec>& groups,
                                          std::optional<double> ema_decay) {
  return std::make_unique<GroupedOptimizer>(options, groups, ema_decay);
}

}  // namespace trainx::optim
