// Runs placed programs: one switch over Op for each kind of machine. It knows nothing of training
// or passes, and never reads the plan's totals.
#pragma once
#include "execute/communicators.hpp"
#include "kernels/step/loss_scale.hpp"
#include "data/loader.hpp"
#include "model/composed_block.hpp"
#include "optim/optimizer.hpp"
#include "plan/run_plan.hpp"
#include "program/shards.hpp"
#include "execute/captured_kernels.hpp"
#include "execute/step_times.hpp"
#include <cstdint>

namespace trainx::execute {

/// What `report` reads on the device, as it stands at the end of a step.
struct StepScalarsReport {
  double loss_sum = 0, target_count = 0;  // summed over the step's micro-batches
  double norm2 = 0;                       // of the gradients before gradient_scale (training)
  std::int64_t applied_steps = 0;         // after the step
  double lr = 0;                          // the one used
  double loss_scale = 1;                  // the one used, which norm2 carries squared
  // evaluation: further scalars that the last block summed, e.g. "confusion", by name
  std::map<std::string, std::vector<double>> metrics;
};

/// What the instructions of blocks compute on, made when each is first met.
using BlockContexts = std::map<const program::Instruction*, std::unique_ptr<model::BlockContext>>;

/// Which of the programs step `step` takes, by the length of its rows.
using ShapeOf = std::function<std::size_t(std::int64_t step)>;
/// Puts the batch of (step, micro-step) and rank into the view.
using FetchBatch =
    std::function<void(std::int64_t step, int micro_step, int rank, data::BatchView out)>;
/// Called on the lane that reports.
using OnReport = std::function<void(const StepScalarsReport&)>;

/// What instructions compute with; references must outlive the executor.
struct ExecutorParts {
  const std::vector<model::Blocks>* blocks = nullptr;  // of each program
  const optim::Optimizer* optimizer = nullptr;         // of programs that update
  FetchBatch fetch;
  OnReport report;
  model::Mode mode = model::Mode::train;
  std::uint64_t seed = 0;
  double nominal_targets = 1;  // expected of a global batch without padding
  double max_grad_norm = 0;
  kernels::LossScaleSettings loss_scale;
  ShapeOf shape_of;                            // where there are several programs
  std::int64_t first_step = 0;                 // which step the first submitted one is
  std::optional<std::uint64_t> rounding_seed;  // where weights are rounded stochastically
  Communicators communicators;                 // of programs for several ranks
  int rank = 0;
  // of several ranks: throws where the run has failed on another
  std::function<void()> throw_failure;
  // of several ranks: that this one moves, and that it waits for the others
  comm::Progress* progress = nullptr;
  // hears of each, on the lane that makes it; may be empty
  std::function<void(const plan::PlacedProgram&, const program::Instruction&)> before_collective;
};

/// What tests hang in: called on the lane's thread, before (to delay lanes at random) and after
/// each instruction.
struct ExecutorHooks {
  std::function<void(program::Lane)> before_each;
  std::function<void(const program::Instruction&, int position)> after_each;
};

class Executor {
 public:
  virtual ~Executor() = default;
  /// Makes what programs read for the whole run of the weights that were loaded:
  /// StepProgram::once of the first program. One executor of a device does it for all, before their
  /// first step.
  virtual void prepare_weights() = 0;
  /// Begins the next step. Returns at once where it can: a CPU finishes the steps before when the
  /// rows' length changes, a GPU is at most some steps behind.
  virtual void submit_step() = 0;
  /// Of those submitted here, counted from 1. Every report up to it was handed out when this
  /// returns.
  virtual void wait_for_step(std::int64_t n) = 0;
  virtual void wait_idle() = 0;
  /// The next `steps` steps are timed, each by itself, and handed out when they are done, before
  /// submit_step returns.
  virtual void time_next(std::int64_t steps, OnTimes on_times) = 0;
  /// Of each captured step of a GPU, in the order of their captures; nothing on a CPU.
  virtual const std::vector<CapturedKernels>& captured_kernels() const {
    static const std::vector<CapturedKernels> none;
    return none;
  }
  /// Of the last program's buffers (that of the longest rows): the bytes of the largest tensor that
  /// an instruction of the steps so far was given of each. Nothing where no step was of that
  /// program. At rest.
  virtual std::vector<std::int64_t> operand_bytes() const { return {}; }
  /// Kinds of steps submitted so far, each with a graph of its own where there are graphs. The
  /// first of a kind is not captured.
  virtual std::int64_t kinds_of_steps() const { return 1; }
};

/// What the block of an instruction computes on: views of memory of `place` at `base`, where the
/// program's buffers lie as its placement says.
std::unique_ptr<model::BlockContext> block_context(const plan::PlacedProgram& placed,
                                                   const program::Instruction& i, std::byte* base,
                                                   Place place, const ExecutorParts& parts);
/// The groups as a rank's updates see them.
std::vector<program::LocalGroup> own_groups(const plan::PlacedProgram& placed, int rank);
/// Adds what the contexts' tensors, and the operands of instructions that are no block's, take of
/// each buffer; nothing where there are no contexts.
void count_operands(const plan::PlacedProgram& placed, const BlockContexts& contexts,
                    std::vector<std::int64_t>& bytes);
/// "backward h3.mlp", and in which micro-step where there are several.
std::string describe(const plan::PlacedProgram& placed, const program::Instruction& i);
/// The part of a micro-batch that a graph's batch tensor of this name is, `elements` at `at`.
void set_field(data::BatchView& batch, const program::TensorSpec& field, std::byte* at);
/// Does it read or write what lies on the disk?
bool is_with_disk(const plan::PlacedProgram& placed, const program::Instruction& i);
/// Nothing but casts of weights and copies for them once a run, buffers on a disk used by copies of
/// its lane alone: what the executors run. InternalError otherwise.
void require_executable(const plan::PlacedProgram& placed);

}  // namespace trainx::execute
