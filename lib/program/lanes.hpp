// Runs a program's lists with one thread per lane and the derived waits. Knows neither ops nor
// passes; links no LibTorch.
#pragma once
#include "program/order.hpp"
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>

namespace trainx::program {

/// Called on the lane's own thread; `position` in the list. What it throws ends all lanes and is
/// rethrown by the call that waits.
using Execute = std::function<void(const Instruction&, int position)>;

/// One of the programs that a runner alternates between, e.g. one for each length of the batch's
/// rows. They share residents, hence rounds of two of them never overlap; rounds of one do, as its
/// order allows.
struct LaneProgram {
  StepProgram program;
  Order order;
  Execute execute;
};

/// Threads live as long as the runner: the same thread executes a lane for the whole run.
class LaneRunner {
 public:
  /// before_each (tests: random delays) runs before every instruction, may be empty.
  explicit LaneRunner(std::vector<LaneProgram> programs,
                      std::function<void(Lane)> before_each = {});
  LaneRunner(StepProgram program, Order order, Execute execute,
             std::function<void(Lane)> before_each = {});
  ~LaneRunner();  // ends the lanes without waiting for rounds not yet begun

  void run_once();  // the `once` list of the first program; waits until done
  // one more round of its steady; returns at once, after another program's rounds when they are
  // done
  void submit_round(std::size_t program = 0);
  std::int64_t finished_rounds() const;  // rounds that every lane has finished
  void wait_for_round(std::int64_t n);  // until finished_rounds() >= n; rethrows a lane's exception
  void wait_idle();                     // all submitted rounds

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trainx::program
