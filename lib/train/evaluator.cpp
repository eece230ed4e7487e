#include "train/evaluator.hpp"
#include "core/error.hpp"
#include "data/masking.hpp"
#include "data/target_shift.hpp"
#include "train/eval_metrics.hpp"
#include "train/module_buffers.hpp"
#include "architectures/own_parts.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::train {
namespace {

// Of held-out samples: the same for every run, so that their losses compare.
constexpr std::uint64_t mask_seed = 0, spread_key = 0;

}  // namespace

Evaluator::Evaluator(const plan::RunPlan& plan, execute::Device& device,
                     const std::vector<model::Blocks>& blocks, const data::Source& source,
                     execute::Ranks ranks)
    : plan_(plan),
      source_(source),
      masking_(architectures::masking(plan.dims)),
      shift_(architectures::target_shift(plan.dims)),
      target_lengths_(plan.target_lengths()) {
  execute::ExecutorParts parts;
  parts.blocks = &blocks;
  parts.fetch = [this](std::int64_t, int, int, data::BatchView out) { fetch(out); };
  parts.report = [this](const execute::StepScalarsReport& r) { add(r); };
  parts.mode = model::Mode::eval;
  parts.shape_of = [this](std::int64_t) { return take_shape(); };
  if (plan.shares_batches()) {
    rank_ = plan.mesh.batch_of(ranks.rank());
    ranks_ = plan.mesh.batches();
    among_ = ranks;
    ranks.connect(parts);
  }
  executor_ = device.make_executor(plan.role(ranks.rank()).evaluate, std::move(parts));
}

std::int64_t Evaluator::first_of(std::int64_t micro_batch) const {
  return (micro_batch * ranks_ + rank_) * plan_.batch.micro_batch_size;
}

// Samples are taken in order; rows are as long as the micro-batch's longest needs.
std::size_t Evaluator::take_shape() {
  const std::int64_t first = first_of(submitted_++);
  std::int64_t longest = 1, longest_target = 0;
  for (std::int64_t i = first; i < std::min(first + plan_.batch.micro_batch_size, spread_.count());
       ++i) {
    const std::int64_t length = source_.length(spread_[i]);
    longest = std::max(longest, length > 0 ? length : plan_.row_lengths.back());
    longest_target = std::max(longest_target, source_.target_length(spread_[i]));
  }
  auto shape = static_cast<std::size_t>(std::ranges::lower_bound(plan_.row_lengths, longest) -
                                        plan_.row_lengths.begin());
  while (shape + 1 < target_lengths_.size() && target_lengths_[shape] < longest_target) ++shape;
  return shape;
}

// Rows past the last sample are padding without targets and of no position, so that the last batch
// counts with what it has.
void Evaluator::fetch(data::BatchView out) {
  const std::int64_t first = first_of(fetched_++);
  for (std::size_t b = 0; b < out.positions.size(); ++b) {
    const data::SampleView sample = out.row(b);
    const std::int64_t i = first + static_cast<std::int64_t>(b);
    out.positions[b] = i < spread_.count() ? i : -1;
    if (i >= spread_.count()) {
      if (shift_) data::shift_targets(*shift_, sample);
      continue;
    }
    const std::int64_t index = spread_[i];
    const bool given = source_.read(index, sample);
    if (masking_ && !given) data::draw_masks(*masking_, mask_seed, index, sample);
    if (shift_) data::shift_targets(*shift_, sample);
  }
}

void Evaluator::add(const execute::StepScalarsReport& r) {
  loss_sum_ += r.loss_sum;
  target_count_ += r.target_count;
  for (const auto& [name, values] : r.metrics) {
    auto& sum = sums_[name];
    sum.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
  }
}

EvalResult Evaluator::run(std::int64_t samples) {
  const std::int64_t all = source_.samples(), count = samples < 0 ? all : std::min(samples, all);
  spread_ = data::Spread(all, count, spread_key);
  const std::int64_t together = plan_.batch.micro_batch_size * ranks_,
                     batches = (count + together - 1) / together;
  share_module_buffers(among_);
  submitted_ = fetched_ = 0;
  loss_sum_ = target_count_ = 0;
  sums_.clear();
  for (std::int64_t b = 0; b < batches; ++b) executor_->submit_step();
  executor_->wait_idle();
  if (!(target_count_ > 0))
    throw UserError(ExitCode::bad_data,
                    "the held-out data has no target; give data.eval something to predict");
  EvalResult result{loss_sum_ / target_count_, static_cast<std::int64_t>(target_count_), count, all,
                    metrics_of(sums_, target_count_)};
  if (const auto sums = sums_.find(std::string(operations::Module::own_metrics));
      sums != sums_.end())
    result.metrics = own_metrics(architectures::own_metrics(plan_.dims), sums->second);
  if (architectures::has_own_loss(plan_.dims)) return result;
  if (!architectures::has_labels(architectures::task(plan_.dims)))
    result.metrics["perplexity"] = std::exp(result.loss);
  return result;
}

}  // namespace trainx::train
