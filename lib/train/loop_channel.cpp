#include "train/loop_channel.hpp"
#include "trainx/run_error.hpp"
#include <utility>

namespace trainx::train {

bool LoopChannel::wait_for_training() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return loops_turn_; });
  return !ended_;
}

LoopAnswer LoopChannel::call(LoopCall call) {
  std::unique_lock lock(mutex_);
  if (!ended_) {
    call_ = std::move(call);
    loops_turn_ = false;
    changed_.notify_all();
    changed_.wait(lock, [this] { return loops_turn_; });
  }
  if (const auto* why = std::get_if<UserError>(&answer_))
    throw RunError(static_cast<int>(why->code()), why->what());
  return std::move(answer_);
}

LoopCall LoopChannel::next(LoopAnswer answer, const LoopPlace& place) {
  std::unique_lock lock(mutex_);
  answer_ = std::move(answer);
  place_ = place;
  loops_turn_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !loops_turn_; });
  return call_;
}

void LoopChannel::end(const UserError& why) {
  const std::lock_guard lock(mutex_);
  answer_ = why;
  ended_ = loops_turn_ = true;
  changed_.notify_all();
}

}  // namespace trainx::train
