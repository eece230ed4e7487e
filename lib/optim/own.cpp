#include "optim/own.hpp"
#include "optim/group_update.hpp"
#include "optim/own_rule.hpp"
#include "optim/step_factor.hpp"
#include <array>

namespace trainx::optim {
namespace {

class Own final : public Optimizer {
 public:
  explicit Own(const options::OwnOptimizerOptions& options) : rule_(options) {
    check_element_wise(rule_);
  }

  void update(const GroupMemory& memory, const StepScalars& scalars) const override {
    const auto factor = step_factor(scalars);
    if (!factor) return;
    require_states(memory, rule_.states().size());
    with_weights(memory, scalars.applied_steps, [&](const auto& weights_at) {
      with_gradients(memory, [&](const auto* gradients) {
        for_each_chunk(chunks_of(*memory.group), [&](std::size_t, const Chunk& chunk) {
          update_chunk(memory, scalars, chunk, weights_at(chunk.begin), gradients + chunk.begin,
                       *factor);
        });
      });
    });
  }

 private:
  /// The rule works on copies of weights and gradients that fit into a core's cache: weights may be
  /// in two parts, and what fails leaves them as they were.
  template <class Weights, class Gradient>
  void update_chunk(const GroupMemory& memory, const StepScalars& scalars, const Chunk& chunk,
                    const Weights& weights, const Gradient* gradients, float factor) const {
    const auto n = static_cast<std::size_t>(chunk.elements);
    alignas(64) std::array<float, chunk_elements> weight, gradient;
    for (std::size_t i = 0; i < n; ++i) {
      weight[i] = weights.load(static_cast<std::int64_t>(i));
      gradient[i] = kernels::widened(gradients[i]) * factor;
    }
    std::vector<std::span<float>> states;
    for (void* state : memory.states)
      states.emplace_back(static_cast<float*>(state) + chunk.begin, n);
    rule_.update({std::span(weight).first(n), std::span(gradient).first(n), states, scalars.lr,
                  scalars.applied_steps + 1, chunk.decay ? rule_.weight_decay() : 0});
    for (std::size_t i = 0; i < n; ++i) weights.store(static_cast<std::int64_t>(i), weight[i]);
  }

  OwnRule rule_;
};

}  // namespace

std::unique_ptr<Optimizer> make(const options::OwnOptimizerOptions& options) {
  return std::make_unique<Own>(options);
}

}  // namespace trainx::optim
