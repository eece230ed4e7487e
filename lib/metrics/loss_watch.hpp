#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace trainx::metrics {

/// An exponential mean of finite losses, over about the last 50 steps. Saved with the run.
struct RunningLoss {
  double mean = 0;
  std::int64_t steps = 0;  // in it
};

/// Warns of losses and gradients that are not finite, and of losses far above their running mean.
class LossWatch {
 public:
  struct Step {
    std::int64_t step = 0;
    double loss = 0, grad_norm = 0;
    double loss_scale = 1;      // used by the step
    bool scale_adapts = false;  // fp16 with a dynamic scale, whose search skips steps
  };
  /// A loss is remarked that is more than so many times its running mean, which needs so many steps
  /// first.
  static constexpr double far_above = 10;
  static constexpr std::int64_t steps_before = 5;

  /// Sentences for this step, each cause once: the first value that is not finite, and the first
  /// step of each time that the loss is far above `running`, which is brought up to date.
  /// `samples`: words for the step's samples, asked for only if a sentence names them.
  std::vector<std::string> news(const Step& step, RunningLoss& running,
                                const std::function<std::string()>& samples);
  /// Steps without a finite loss and gradient so far, those of the search for a loss scale left
  /// out.
  std::int64_t non_finite_steps() const { return non_finite_; }

 private:
  std::int64_t non_finite_ = 0;
  bool above_ = false, told_scale_ = false;
};

}  // namespace trainx::metrics
