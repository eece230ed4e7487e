// What operations on a CPU spend their time on. A GPU's timeline tells the same of launches
// (gpu/timeline.hpp).
#pragma once
#include <chrono>
#include <vector>
#include "core/work.hpp"

namespace trainx::operations {

/// While one lives, the operations that this thread computes through lib/operations are noted in
/// it, by their kind of work.
class WorkTimes {
 public:
  using Clock = std::chrono::steady_clock;
  struct Span {
    Work work{};
    Clock::time_point begin, end;
  };
  WorkTimes();
  ~WorkTimes();
  WorkTimes(const WorkTimes&) = delete;
  WorkTimes& operator=(const WorkTimes&) = delete;
  std::vector<Span> spans;  // one after the other

 private:
  friend class TimedWork;
  // within an operation: those that it is made of are part of it
  bool busy_ = false;
  WorkTimes* before_;
};

/// First in an operation on a CPU.
class TimedWork {
 public:
  explicit TimedWork(Work work);
  ~TimedWork();
  TimedWork(const TimedWork&) = delete;
  TimedWork& operator=(const TimedWork&) = delete;

 private:
  WorkTimes* times_;  // null: nobody listens, or this is a part of another
  Work work_;
  WorkTimes::Clock::time_point begin_;
};

}  // namespace trainx::operations
