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
  std::map<std::string, std::vector<double>> metrics;   // evaluation: further scalars that the last block summed, e.g. "confusion", by name
};

/// Which of the programs step `step` takes, by the length of its rows.
using ShapeOf = std::function<std::size_t(std::int64_t step)>;
/// Puts the batch of (step, micro-step) into the view.
using FetchBatch = std::function<void(std::int64_t step, int micro_step, data::BatchView out)>;
/// Called on the lane that reports.
using OnReport = std::function<void(const StepScalarsReport&)>;

/// What instructions compute with; references must outlive the executor.
struct ExecutorParts {
  const std::vector<model::Blocks>* blocks = nullptr;   // of each program
  const optim::Optimizer* optimizer = nullptr;   // of programs that update
  FetchBatch fetch;
  OnReport report;
  model::Mode mode = model::Mode::train;
  std::uint64_t seed = 0;
  double nominal_targets = 1;           // expected of a global batch without padding
  double max_grad_norm = 0;
  ShapeOf shape_of;                     // where there are several programs
  std::int64_t first_step = 0;          // which step the first submitted one is
};

/// What tests hang in: called on the lane's thread, before (to delay lanes at random) and after each instruction.
struct ExecutorHooks {
  std::function<void(program::Lane)> before_each;
  std::function<void(const program::Instruction&, int position)> after_each;
};

class Executor {
 public:
  /// `programs`: one for each length of the batch's rows, over one arena with residents at the same addresses.
  Executor(const std::vector<plan::PlacedProgram>& programs, Arena& arena, ExecutorParts parts, ExecutorHooks hooks = {});

  void submit_step();                                                  // returns at once; where the rows' length changes, when the steps before are done
  void wait_for_step(std::int64_t n) { lanes_->wait_for_round(n); }    // of those submitted here, counted from 1
  void wait_idle() { lanes_->wait_idle(); }
  /// Where the buffer of that name lies in the first program, e.g. predict's "logits". InternalError if there is none.
  const std::byte* output(const std::string& name) const;

 private:
  /// One of the programs with what it computes on.
  struct Shape {
    const plan::PlacedProgram* placed = nullptr;
    const model::Blocks* blocks = nullptr;
    std::array<std::map<const program::Instruction*, std::unique_ptr<model::BlockContext>>, program::lane_count> contexts;   // by lane: each touches its own
  };
  void execute(Shape& s, const program::Instruction& i);
  void fetch_batch(const Shape& s, const program::Instruction& i);
  void run_block(Shape& s, const program::Instruction& i);
  void grad_norm(const Shape& s, const program::Instruction& i);
  void update(const Shape& s, const program::Instruction& i);
  void report(const Shape& s, const program::Instruction& i);
  void copy(const Shape& s, const program::Instruction& i);
  std::byte* address(const Shape& s, const program::Use& u) const;
  template <class T> T& scalar(const Shape& s, const program::Instruction& i, program::Slot slot) const;

  Arena& arena_;
  ExecutorParts parts_;
  std::vector<Shape> shapes_;
  std::int64_t submitted_ = 0;
  std::unique_ptr<program::LaneRunner> lanes_;   // last: its threads use all the above
};

}  // namespace trainx::train
