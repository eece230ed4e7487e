// Where a loop of the user's own and training meet: two threads of which one runs at a time.
#pragma once
#include "train/loop_call.hpp"
#include "trainx/evaluation_report.hpp"
#include "trainx/step_report.hpp"
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace trainx {
struct NamedTensor;
}

namespace trainx::train {

/// By the kind of call: a step's report or nothing, an evaluation's, the folder of a save, weights;
/// an error where the call is refused and training can go on.
using LoopAnswer = std::variant<std::monostate, StepReport, EvaluationReport, std::string,
                                std::shared_ptr<std::vector<NamedTensor>>, UserError>;

/// Where the run stands, as the loop sees it.
struct LoopPlace {
  int rank = 0, world_size = 1;
  std::int64_t finished_steps = 0;
  std::optional<std::int64_t> total_steps;
};

class LoopChannel {
 public:
  // The loop's side.

  /// Returns once training is at rest before its first step; false: it ended before.
  bool wait_for_training();
  /// Hands control to training until it has answered. Throws RunError where the call is refused, or
  /// training has ended by an error or close().
  LoopAnswer call(LoopCall call);
  /// While the loop has control.
  const LoopPlace& place() const { return place_; }

  // Training's side.

  /// Hands the answer to the last call, and control, to the loop. Returns its next call.
  LoopCall next(LoopAnswer answer, const LoopPlace& place);
  /// Every further call is refused so.
  void end(const UserError& why);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool loops_turn_ = false, ended_ = false;
  LoopCall call_;
  LoopAnswer answer_;
  LoopPlace place_;
};

}  // namespace trainx::train
