#include "train/evaluator.hpp"
#include "core/error.hpp"
#include <algorithm>

namespace trainx::train {
Evaluator::Evaluator(const plan::PlacedProgram& placed, Arena& arena, const model::Blocks& blocks, const data::Source& source)
    : source_(source),
      micro_batch_size_(placed.graph.batch[0].dims[0]),
      executor_(placed, arena,
                {&blocks, nullptr, [this](std::int64_t, int, data::BatchView out) { fetch(out); },
                 [this](const StepScalarsReport& r) {
                   loss_sum_ += r.loss_sum;
                   target_count_ += r.target_count;
                 },
                 model::Mode::eval}) {}

// Rows past the last sample are padding without targets, so that the last batch counts with what it has.
void Evaluator::fetch(data::BatchView out) {
  for (std::size_t b = 0; b < out.positions.size(); ++b, ++next_sample_) {
    const data::SampleView sample = out.row(b);
    out.positions[b] = next_sample_;
    if (next_sample_ < end_sample_) source_.read(next_sample_, sample);
  }
}

EvalResult Evaluator::run(std::int64_t samples) {
  end_sample_ = samples < 0 ? source_.samples() : std::min(samples, source_.samples());
  const std::int64_t n = (end_sample_ + micro_batch_size_ - 1) / micro_batch_size_;
  next_sample_ = 0;
  loss_sum_ = target_count_ = 0;
  for (std::int64_t b = 0; b < n; ++b) executor_.submit_step();
  executor_.wait_idle();
  if (!(target_count_ > 0)) throw UserError(ExitCode::bad_data, "the held-out data has no target token; give data.eval something to predict");
  return {loss_sum_ / target_count_, static_cast<std::int64_t>(target_count_)};
}

}  // namespace trainx::train
