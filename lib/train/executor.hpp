// Runs a placed program over an arena: one switch over Op. It knows nothing of training or passes, and never reads the plan's totals.
#pragma once
#include "data/loader.hpp"
#include "model/block.hpp"
#include "optim/optimizer.hpp"
#include "plan/run_plan.hpp"
#include "program/lanes.hpp"
#include "train/arena.hpp"

namespace trainx::train {

/// What `report` reads on the device, as it stands at the end of a step.
struct StepScalarsReport {
  double loss_sum = 0, target_count = 0;   // summed over the step's micro-batches
  double norm2 = 0;                     // of the gradients before gradient_scale (training)
  std::int64_t applied_steps = 0;       // after the step
  double lr = 0;                        // the one used
};

/// Puts the batch of (step, micro-step) into the view.
using FetchBatch = std::function<void(std::int64_t step, int micro_step, data::BatchView out)>;
/// Called on the lane that reports.
using OnReport = std::function<void(const StepScalarsReport&)>;

/// What instructions compute with; references must outlive the executor.
struct ExecutorParts {
  const model::Blocks* blocks = nullptr;
  const optim::Optimizer* optimizer = nullptr;   // of programs that update
  FetchBatch fetch;
  OnReport report;
  model::Mode mode = model::Mode::train;
  std::uint64_t seed = 0;
  double nominal_targets = 1;           // target tokens of a global batch without padding
  double max_grad_norm = 0;
};

/// What tests hang in: called on the lane's thread, before (to delay lanes at random) and after each instruction.
struct ExecutorHooks {
  std::function<void(program::Lane)> before_each;
  std::function<void(const program::Instruction&, int position)> after_each;
};

class Executor {
 public:
  Executor(const plan::PlacedProgram& placed, Arena& arena, ExecutorParts parts, ExecutorHooks hooks = {});

  void submit_step() { lanes_->submit_round(); }                       // returns at once
  void wait_for_step(std::int64_t n) { lanes_->wait_for_round(n); }    // of those submitted here, counted from 1
  void wait_idle() { lanes_->wait_idle(); }
  /// Where the buffer of that name lies, e.g. predict's "logits". InternalError if there is none.
  const std::byte* output(const std::string& name) const;

 private:
  void execute(const program::Instruction& i);
  void fetch_batch(const program::Instruction& i);
  void run_block(const program::Instruction& i);
  void grad_norm(const program::Instruction& i);
  void update(const program::Instruction& i);
  void report(const program::Instruction& i);
  void copy(const program::Instruction& i);
  std::byte* address(const program::Use& u) const;
  template <class T> T& scalar(const program::Instruction& i, program::Slot slot) const;

  const plan::PlacedProgram& placed_;
  Arena& arena_;
  ExecutorParts parts_;
  std::array<std::map<const program::Instruction*, std::unique_ptr<model::BlockContext>>, program::lane_count> contexts_;   // by lane: each touches its own
  std::unique_ptr<program::LaneRunner> lanes_;   // last: its threads use all the above
};

}  // namespace trainx::train
