#include "operations/common/timed_work.hpp"

namespace trainx::operations {

namespace {
thread_local WorkTimes* work_listener = nullptr;
}  // namespace

WorkTimes::WorkTimes() : before_(work_listener) { work_listener = this; }
WorkTimes::~WorkTimes() { work_listener = before_; }

TimedWork::TimedWork(Work work)
    : times_(work_listener && !work_listener->busy_ ? work_listener : nullptr), work_(work) {
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
