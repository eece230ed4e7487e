#include "operations/common/timed_work.hpp"

namespace trainx::operations {

namespace {
thread_local WorkTimes* listener = nullptr;
}  // namespace

WorkTimes::WorkTimes() : before_(listener) { listener = this; }
WorkTimes::~WorkTimes() { listener = before_; }

TimedWork::TimedWork(Work work)
    : times_(listener && !listener->busy_ ? listener : nullptr), work_(work) {
  if (!times_) return;
  times_->busy_ = true;
  begin_ = WorkTimes::Clock::now();
}

TimedWork::~TimedWork() {
  if (!times_) return;
  times_->spans.push_back({work_, begin_, WorkTimes::Clock::now()});
  times_->busy_ = false;
}

}  // namespace trainx::operations
