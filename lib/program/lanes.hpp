// Runs a program's lists with one thread per lane and the derived waits. Knows neither ops nor passes; links no LibTorch.
#pragma once
#include "program/order.hpp"
#include <exception>
#include <functional>
#include <memory>

namespace trainx::program {

/// Called on the lane's own thread; `position` in the list. What it throws ends all lanes and is rethrown by the call that waits.
using Execute = std::function<void(const Instruction&, int position)>;

/// Threads live as long as the runner: the same thread executes a lane for the whole run.
class LaneRunner {
 public:
  /// `program` and `order` are copied. before_each (tests: random delays) runs before every instruction, may be empty.
  LaneRunner(StepProgram program, Order order, Execute execute, std::function<void(Lane)> before_each = {});
  ~LaneRunner();                        // ends the lanes without waiting for rounds not yet begun

  void run_prologue();                  // waits until done
  void run_drain();                     // waits for all rounds, then runs drain
  void submit_round();                  // one more round of steady; returns at once
  std::int64_t finished_rounds() const; // rounds that every lane has finished
  void wait_for_round(std::int64_t n);  // until finished_rounds() >= n; rethrows a lane's exception
  void wait_idle();                     // all submitted rounds

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trainx::program
