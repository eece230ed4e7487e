#include "execute/ranks.hpp"
#include <algorithm>
#include <cstring>

namespace trainx::execute {

namespace {

/// As it travels: all ranks run the same binary.
struct Told {
  std::int64_t step = 0;
  AfterStep says;
  double seconds = 0;
  bool has_report = false;
  double loss_sum = 0, target_count = 0, norm2 = 0, lr = 0, loss_scale = 1;
  std::int64_t applied_steps = 0;
};

Told parse(const std::string& text) {
  Told told;
  if (text.size() != sizeof told)
    throw InternalError("a rank says something else after a step than this one");
  std::memcpy(&told, text.data(), sizeof told);
  return told;
}

bool equal_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace

void ProgressDescription::at(const plan::PlacedProgram& placed, const program::Instruction& i) {
  const std::lock_guard lock(mutex_);
  placed_ = &placed;
  instruction_ = i;
}

void ProgressDescription::between_steps(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  step_ = step;
}

std::string ProgressDescription::describe() const {
  const std::lock_guard lock(mutex_);
  const std::string step = "step " + std::to_string(step_ + 1);
  return placed_ ? step + ", " + execute::describe(*placed_, instruction_) : step;
}

StepAgreement Ranks::agree(std::int64_t step, AfterStep says, double seconds,
                           const std::optional<StepScalarsReport>& mine) const {
  if (!control_) return {says, seconds, mine.value_or(StepScalarsReport{})};
  progress_->between_steps(step);
  Told told{step, says, seconds, mine.has_value()};
  if (mine)
    told.loss_sum = mine->loss_sum, told.target_count = mine->target_count,
    told.norm2 = mine->norm2, told.lr = mine->lr, told.loss_scale = mine->loss_scale,
    told.applied_steps = mine->applied_steps;
  std::string text(sizeof told, '\0');
  std::memcpy(text.data(), &told, sizeof told);
  const std::vector<std::string> all = control_->exchange(text);
  const Told first = parse(all.front());
  StepAgreement agreed{{},
                       first.seconds,
                       {first.loss_sum,
                        first.target_count,
                        first.norm2,
                        first.applied_steps,
                        first.lr,
                        first.loss_scale,
                        {}}};
  for (std::size_t r = 0; r < all.size(); ++r) {
    const Told other = parse(all[r]);
    if (other.step != first.step)
      throw InternalError("rank " + std::to_string(r) + " has finished step " +
                          std::to_string(other.step) + " and rank 0 step " +
                          std::to_string(first.step));
    agreed.said.request = std::max(agreed.said.request, other.says.request);
    agreed.said.is_busy = agreed.said.is_busy || other.says.is_busy;
    agreed.said.wants_end = agreed.said.wants_end || other.says.wants_end;
    if (other.has_report &&
        !(equal_bits(other.loss_sum, first.loss_sum) && equal_bits(other.norm2, first.norm2) &&
          other.applied_steps == first.applied_steps))
      throw UserError(ExitCode::not_as_asked,
                      "step " + std::to_string(step) + ": rank " + std::to_string(r) +
                          " has another loss or gradient norm than rank 0, though both hold the "
                          "same sums (loss " +
                          std::to_string(other.loss_sum) + " and " +
                          std::to_string(first.loss_sum) + ", squared norm " +
                          std::to_string(other.norm2) + " and " + std::to_string(first.norm2) +
                          "); its weights are not theirs any more: look for a faulty device or "
                          "memory there, then run again from the newest checkpoint");
  }
  return agreed;
}

bool Ranks::are_on_one_host(const std::vector<int>& ranks) const {
  if (!control_) return true;
  return std::ranges::any_of(control_->hosts(), [&](const std::vector<int>& here) {
    return std::ranges::all_of(ranks, [&](int rank) { return std::ranges::count(here, rank) > 0; });
  });
}

std::vector<int> Ranks::ranks_of_host() const {
  if (!control_) return {0};
  for (const std::vector<int>& here : control_->hosts())
    if (std::ranges::count(here, rank()) > 0) return here;
  throw InternalError("rank " + std::to_string(rank()) + " is on no host");
}

bool Ranks::share_hosts() const {
  return control_ && std::ranges::any_of(control_->hosts(), [](const std::vector<int>& here) {
           return here.size() > 1;
         });
}

std::function<void()> Ranks::failure_check() const {
  if (!control_) return {};
  return [control = control_] {
    if (control->failed()) control->throw_failure();
  };
}

void Ranks::connect(ExecutorParts& parts) const {
  if (!control_) return;
  parts.rank = rank();
  parts.communicators = communicators_;
  parts.throw_failure = failure_check();
  parts.progress = &control_->progress();
  parts.before_collective = [progress = progress_](const plan::PlacedProgram& placed,
                                                   const program::Instruction& i) {
    progress->at(placed, i);
  };
}

std::vector<std::string> Ranks::exchange(const std::string& text) const {
  return control_ ? control_->exchange(text) : std::vector<std::string>{text};
}

std::string Ranks::from_first(const std::string& text) const {
  return exchange(is_first() ? text : std::string()).front();
}

void Ranks::require_equal(const std::string& text, const std::string& what) const {
  if (!control_) return;
  const std::vector<std::string> all = control_->exchange(text);
  for (std::size_t r = 1; r < all.size(); ++r)
    if (all[r] != all.front())
      throw UserError(ExitCode::not_as_asked,
                      "rank " + std::to_string(r) + " begins with other " + what +
                          " than rank 0; they read the same files only where all hosts share "
                          "output_dir and model.init_from");
}

}  // namespace trainx::execute
